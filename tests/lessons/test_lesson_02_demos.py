"""What lesson 02 shows beside the reader's counts: records, deviations, and the mark of a guess."""

from __future__ import annotations

import pytest
from lesson_demos import demos_of

from proflab.lesson import plot


@pytest.fixture(scope="module")
def demos():
    return demos_of("02_flops")


def test_each_recorded_model_can_be_built(demos):
    for row in demos.recorded():
        model, shape = demos.ZOO[row["model"]]
        assert all(p.is_meta for p in model.parameters())
        assert shape[1:] == tuple(row["input_shape"][1:]) and shape[0] == 1
        assert list(row["reported"]) == demos.TOOLS


def test_printed_for_is_of_one_sample(demos):
    assert demos.printed_for("LeNet-5")["torch"] == 833_040


def test_deviations_compare_flops_with_flops(demos):
    table = demos.deviations()
    assert len(table) == 10 and not any("not tied" in name for name in table)
    lenet = dict(zip(demos.TOOLS, table["LeNet-5, 1"], strict=True))
    assert lenet["torch"] == lenet["fvcore"] == lenet["thop"] == 0  # fvcore printed 416,520
    assert lenet["calflops"] == pytest.approx(852_156 / 833_040 - 1)
    gpt2 = dict(zip(demos.TOOLS, table["GPT-2 small, 8"], strict=True))
    assert gpt2["torchinfo"] == pytest.approx(2 * 1_398_669_312 / 257_825_439_744 - 1)


def test_only_the_last_layer_of_the_frozen_model_is_trained(demos):
    trained = [n for n, p in demos.frozen_resnet18().named_parameters() if p.requires_grad]
    assert trained == ["fc.weight", "fc.bias"]


@pytest.mark.parametrize("guess", [None, 0, -3, "many", True, float("nan")])
def test_what_is_no_guess_draws_nothing(demos, guess):
    picture = plot.curves({"a": [(1, 1), (2, 4)]}, x="x", y="y")
    assert demos.mark_guess(picture, guess) is picture
    assert picture.figure.axes[0].get_legend() is None


@pytest.mark.parametrize("axis, place", [("x", ([1.5, 1.5], [0, 1])), ("y", ([0, 1], [1.5, 1.5]))])
def test_a_guess_is_a_line_across(demos, axis, place):
    picture = plot.curves({"a": [(1, 1), (2, 4)]}, x="x", y="y")
    marked = demos.mark_guess(picture, 1.5, axis=axis)
    assert marked.alt == f"{picture.alt}; your guess: 1.5"
    line = picture.figure.axes[0].lines[-1]
    assert (list(line.get_xdata()), list(line.get_ydata())) == place
    assert marked.png(dpi=40).startswith(b"\x89PNG")
