"""Roofs, sweeps and ranges as pictures: what they say in words, and that they can be drawn."""

import pytest

from proflab.lesson.hardware import Hardware
from proflab.lesson.plot_roofline import ranges, rate, roofline_of_points, sweep

ONE, TWO = Hardware(100e9, 20e9, "1 thread"), Hardware(190e9, 30e9, "2 threads")


def point(name, intensity, speed, **more):
    return {"name": name, "intensity": intensity, "flops_per_second": speed} | more


@pytest.mark.parametrize(
    "value, text",
    [(27.4e9, "27.4 GB/s"), (2e12, "2 TB/s"), (999, "999 B/s"), (1e3, "1 kB/s"), (1e15, "1 PB/s")],
)
def test_rates_are_said_in_units_of_1000(value, text):
    assert rate(value, "B/s") == text


def test_a_roofline_says_its_roofs_and_its_points():
    points = [point("linear a.b", 50.0, 8e10, share=0.5), point("add", 1 / 12, 1e9, share=0.1)]
    picture = roofline_of_points(points, ONE, also=[TWO], size="share", label=["add"], title="T")
    assert picture.alt == (
        "T. Roofs: 1 thread: 100 GFLOP/s and 20 GB/s, meeting at 5 FLOPs a byte; "
        "2 threads: 190 GFLOP/s and 30 GB/s, meeting at 6.33 FLOPs a byte. "
        "Points: linear a.b 80 GFLOP/s at 50; add 1 GFLOP/s at 0.0833."
    )
    assert picture.png(50).startswith(b"\x89PNG")


def test_many_points_of_many_kinds_are_named_up_to_twelve():
    points = [point(f"kind{i} m", 10.0 ** (i % 4 - 1), 1e8 * 2**i) for i in range(20)]
    picture = roofline_of_points(points, ONE)
    assert "; and 8 more." in picture.alt and picture.png(50)


def test_a_roof_can_stand_alone():
    picture = roofline_of_points([], ONE)
    assert picture.alt.endswith("FLOPs a byte.") and picture.png(50)


def test_points_and_corners_lie_inside_the_axes():
    points = [point("a", 1e-4, 1e5), point("b", 2e4, 5e11)]
    axes = roofline_of_points(points, ONE, also=[TWO]).figure.axes[0]
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert left < 1e-4 and right > 2e4 and low < 1e5 and high > 5e11


def test_a_sweep_says_each_rate_in_units_of_bytes():
    points = [(2**k, 1e9, 2e9, 3e9) for k in (12, 20, 28)]
    picture = sweep({"one": points, "two": points[:1]}, x="set", y="rate", marks={"L1": 2**15})
    assert picture.alt == (
        "Rates: rate against set. one: 4 KB 2 GB/s, 1 MB 2 GB/s, 256 MB 2 GB/s; two: 4 KB 2 GB/s"
    )
    assert picture.png(50)
    assert sweep({"one": points}, x="set", y="rate").png(50)


def test_ranges_say_middle_and_ends():
    picture = ranges({"a": (1e9, 2e9, 3e9), "b": (4e6, 4e6, 4e6)}, unit="FLOP/s", title="R")
    assert picture.alt == (
        "R: a 2 GFLOP/s (1 GFLOP/s to 3 GFLOP/s); b 4 MFLOP/s (4 MFLOP/s to 4 MFLOP/s)"
    )
    assert picture.png(50)
