"""Pictures of repeated measurements: drawn, described, and cut where they say so."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proflab.lesson import plot_samples as plot

TIMES = [0.2, 0.21, 0.2, 0.25, 0.2, 7.5]
PICTURES = {
    "runs": lambda: plot.runs({"one": TIMES, "two": [3.0, 4.0]}, title="In order"),
    "histogram": lambda: plot.histogram(TIMES, {"median": 0.2, "p99": 7.1}, title="Often"),
    "histogram of one time": lambda: plot.histogram([0.2, 0.2], {"median": 0.2}),
    "intervals": lambda: plot.intervals(
        {"a": [(1, 5.0, 4.0, 9.0), (1024, 6.0, 5.0, 7.0)]}, x="n", y="ms", log="xy"
    ),
    "intervals, not logarithmic": lambda: plot.intervals(
        {"a": [(1, 5.0, 4.0, 9.0)], "b": [(2, 6.0, 6.0, 6.0)]}, x="call", y="ms"
    ),
    "trade-off": lambda: plot.trade_off(
        [("1", (5.0, 4.0, 6.0), (200.0, 166.7, 250.0)), ("8", (12.0, 12.0, 12.0), (666.7,) * 3)],
        x="ms", y="a second", title="By batch",
    ),
    "estimates": lambda: plot.estimates(
        {"right": [4.0, 4.1], "far": [-1495.0, 90.0]}, truth=4.0, limits=(-5, 45), title="Ways"
    ),
    "estimates of nobody knows": lambda: plot.estimates({"one": [1.0]}, limits=(0, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_drawn_and_described(name):
    picture = PICTURES[name]()
    assert picture.png(dpi=50).startswith(b"\x89PNG") and len(picture.alt) > 20


def test_descriptions_hold_the_numbers():
    assert PICTURES["runs"]().alt == (
        "In order (ms, in order). one: 6 runs from 0.2 to 7.5, median 0.205; "
        "two: 2 runs from 3 to 4, median 3.5"
    )
    assert PICTURES["histogram"]().alt == "Often: 6 times from 0.2 to 7.5 ms. median 0.2, p99 7.1"
    assert PICTURES["trade-off"]().alt == "By batch: a second against ms. 1: 5, 200; 8: 12, 667"
    assert "true value 4. right 4 to 4.1; far -1,495 to 90" in PICTURES["estimates"]().alt


def test_what_lies_outside_is_written_at_the_edge():
    axes = PICTURES["estimates"]().figure.axes[0]
    assert {text.get_text().strip() for text in axes.texts} == {"true: 4", "◀ -1,495", "90 ▶"}


@pytest.mark.parametrize("high, marked", [(90.0, [1, 2, 5, 10, 20, 50]), (9e4, [1, 10, 100, 1e3])])
def test_a_short_logarithmic_axis_is_marked_between_the_powers(high, marked):
    points = [(1, 1.0, 1.0, 1.0), (2, high, high, high)]
    figure = plot.intervals({"a": points}, x="n", y="ms", log="y").figure
    figure.draw_without_rendering()
    assert set(marked) <= set(figure.axes[0].get_yticks())


@pytest.mark.parametrize("time, text", [(0.17134, "0.171"), (35.0, "35"), (-1495.5, "-1,496")])
def test_short_times(time, text):
    assert plot.ms(time) == text


def test_matplotlib_is_imported_only_to_draw():
    code = "import proflab.lesson.plot_samples, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
