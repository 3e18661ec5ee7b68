"""The pictures that only lesson 10 draws: what they show, and what they say."""

from __future__ import annotations

import pytest
from lesson_demos import demos_of


@pytest.fixture(scope="module")
def demos():
    return demos_of("10_cuda_roofline")


ROOFS = {"flops": {"float32": 8e12, "float16": 40e12}, "bandwidth": {"dram": 3e11, "l2": 1e12}}


def test_a_roofline_says_its_roofs_and_points(demos):
    points = {"softmax": [(0.5, 1e11)], "products": [(10, 1e12), (100, 7e12)]}
    drawn = demos.roofline(ROOFS, points, title="Mine")
    assert drawn.alt.startswith(
        "Mine. Roofs: float32 8 TFLOP/s, float16 40 TFLOP/s; memory 300 GB/s"
    )
    assert "softmax at 0.5 FLOP a byte and 0.1 TFLOP/s; products at 100" in drawn.alt
    assert drawn.png(dpi=50).startswith(b"\x89PNG")


def test_a_roofline_of_one_type_and_no_cache(demos):
    roofs = {"flops": ROOFS["flops"], "bandwidth": {"dram": 3e11}}
    drawn = demos.roofline(roofs, {"x": [(1, 1e11)]}, dtypes=["float32"])
    assert "float16" not in drawn.alt and "cache" not in drawn.alt


def test_points_above_every_roof_stay_inside(demos):
    drawn = demos.roofline(ROOFS, {"impossible": [(1.0, 9e15)]})
    assert drawn.figure.axes[0].get_ylim()[1] > 9e15


def test_lines_say_where_they_begin_and_end(demos):
    drawn = demos.lines(
        {"a": [(1, 2.0), (8, 3.5)], "b": [(1, 9.0)]}, x="n", y="ms", log="xy", marks={"here": 4}
    )
    assert drawn.alt == "Lines: ms against n. a rises from 2 at 1 to 3.5 at 8; b is 9 at 1"
    assert drawn.png(dpi=50).startswith(b"\x89PNG")


def test_a_guess_that_was_not_made_is_not_drawn(demos):
    series = {"a": [(1, 2.0), (8, 3.5)]}
    drawn = demos.lines(series, x="n", y="ms", marks={"here": 4, "your guess": None})
    assert [text.get_text() for text in drawn.figure.axes[0].texts] == ["here"]
    drawn = demos.lines(series, x="n", y="ms", marks={"here": 4, "your guess": 4})
    [first, second] = drawn.figure.axes[0].texts
    assert second.get_text() == "your guess" and second.xyann[1] < first.xyann[1]


def test_numpy_is_timed_for_the_bytes_of_a_small_kernel(demos):
    small, large = demos.doubled_us([2**10, 2**25])
    assert 0 < small < large
