"""The pictures that only lesson 01 draws: what they show, and what they say."""

from __future__ import annotations

import pytest
from lesson_demos import demos_of

from proflab.lesson import plot


@pytest.fixture(scope="module")
def demos():
    return demos_of("01_parameters")


MODELS = {"small": {"one": 1_400_000, "two": 2_700_000}, "large": {"one": 9_000_000, "two": 0}}


def test_models_are_drawn_as_squares_and_described(demos):
    picture = demos.waffle(MODELS, square=10**6, unit="a million", title="Two")
    assert picture.alt == (
        "Two, one square a million. small: one 1.4 M, two 2.7 M; large: one 9 M, two 0"
    )
    [small, large] = picture.figure.axes[0].collections
    assert (len(small.get_paths()), len(large.get_paths())) == (4, 9)
    assert picture.png().startswith(b"\x89PNG")


def test_squares_add_up_to_the_rounded_total(demos):
    assert demos._squares(MODELS["small"], 10**6) == [0, 1, 1, 1]
    assert len(demos._squares({"a": 1_400_000, "b": 1_400_000}, 10**6)) == 3


def test_sizes_stand_against_limits(demos):
    sizes = {"m": {"f32": 4.0, "f16": 2.0}, "n": {"f32": 8.0, "f16": 4.0}}
    picture = demos.ladder(sizes, {"phone": 8.0}, unit="MB", title="Fit")
    assert picture.alt == "Fit (MB). m f32 4, f16 2; n f32 8, f16 4. Limits: phone: 8"
    assert "phone" in [text.get_text() for text in picture.figure.axes[0].texts]
    assert picture.png().startswith(b"\x89PNG")


@pytest.mark.whole
@pytest.mark.parametrize("guess", [10, 850, 604e6, 3e12])
def test_the_legend_of_a_guess_covers_no_number(guess):
    counts = {"a": 850, "b": 2_362_368, "c": 603_979_776}
    picture = plot.bars(counts, log=True, guess={"b": guess})
    figure = picture.figure
    figure.draw_without_rendering()
    [axes] = figure.axes
    legend = axes.get_legend().get_window_extent()
    assert not any(legend.overlaps(text.get_window_extent()) for text in axes.texts)
    assert not legend.overlaps(axes.get_window_extent())
