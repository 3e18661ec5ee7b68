"""Pictures of walls: copies by their size, operations under a roof, and time by wall.

Made of `plot` and `plot_roofline`, with what only lesson 06 shows. Without a formula, as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from proflab.lesson import plot, plot_roofline
from proflab.lesson.hardware import Cache, Hardware
from proflab.lesson.measuring import Rates
from proflab.lesson.plot import Picture
from proflab.lesson.plot_roofline import ranges
from proflab.lesson.tell_walls import Addition

__all__ = [
    "additions", "at_best", "levels", "operations", "ranges", "speedups", "tiles", "time_by_wall",
]  # fmt: skip
_WALLS = ("compute", "ridge", "memory", "overhead")


def at_best(series: dict[str, Sequence[tuple[float, float]]], title: str) -> Picture:
    """Draw lines through (FLOPs a byte, FLOP/s at best), both axes logarithmic."""
    return plot.curves(
        series, x="FLOPs a byte", y="at best", log="xy", title=title,
        show=lambda value: plot_roofline.rate(value, "FLOP/s"),
    )  # fmt: skip


def tiles(series: dict[str, Sequence[tuple[float, float]]], title: str) -> Picture:
    """Draw lines through (rows of a tile, FLOPs a byte), both axes logarithmic."""
    x = "rows and columns of a tile that fits into the cache"
    return _names_apart(plot.curves(series, x=x, y="FLOPs a byte", log="xy", title=title))


def _names_apart(picture: Picture, line: float = 13) -> Picture:
    """Return the picture with names at lines' ends at least `line` points below one another."""
    axes = picture.figure.axes[0]
    height = axes.get_window_extent().height * 72 / picture.figure.dpi
    ends = axes.transAxes.inverted().transform(axes.transData.transform([t.xy for t in axes.texts]))
    above = math.inf
    for text, (_, end) in sorted(zip(axes.texts, ends, strict=True), key=lambda pair: -pair[1][1]):
        place = min(end * height, above - line)
        text.xyann = text.xyann[0], place - end * height
        above = place
    return picture


def speedups(series: dict[str, Sequence[tuple[float, float]]], x: str) -> Picture:
    """Draw lines through (speedup of a part, speedup of the whole), both axes logarithmic."""
    return plot.curves(
        series, x=x, y="the whole", log="xy", show="{:.3g}".format,
        title="A part of the time becomes faster",
    )  # fmt: skip


def levels(rates: Mapping[int, Rates], caches: Sequence[Cache], call: float) -> Picture:
    """Draw what copies of so many bytes reach, with the caches' sizes as lines across.

    A second line, where it stays below what was reached: how fast each would be if it took no
    longer than the smallest, `call` seconds.
    """
    fastest = max(highest for *_, highest in rates.values())
    series = {"np.copyto, one thread": [(size, *rate) for size, rate in rates.items()]}
    bound = [(size, *[size / call] * 3) for size in rates if size / call < fastest]
    if bound:
        series["if the call were all"] = bound
    return plot_roofline.sweep(
        series, x="working set, both arrays", y="read and written", title="How far away",
        marks={f"L{cache.level}": cache.size for cache in caches},
    )  # fmt: skip


def operations(points: Sequence[dict], roofs: Sequence[Hardware], title: str) -> Picture:
    """Draw points with a `share` of the time, 0 to 1, under the first of the roofs.

    A point's area is its share; the one with the most time is called by its name, unless others
    are called the same. Further roofs are thin.
    """
    names = [p["name"] for p in points]
    busiest = max(points, key=lambda p: p["share"])["name"]
    return plot_roofline.roofline_of_points(
        points, roofs[0], also=roofs[1:], size="share",
        label=[busiest] if names.count(busiest) == 1 else [],
        title=f"{title}; area: share of the time",
    )  # fmt: skip


def additions(rows: Iterable[Addition]) -> Picture:
    """Draw what additions took, and would take by the roof: (numbers, seconds, seconds, wall)."""
    rows = list(rows)
    lines = {
        "took": [(count / 1000, seconds * 1e6) for count, seconds, *_ in rows],
        "the roof's time": [(count / 1000, least * 1e6) for count, _, least, _ in rows],
    }
    return _names_apart(
        plot.curves(lines, x="numbers, in thousands", y="µs", log="xy", title="x + y, one thread")
    )


def time_by_wall(rows_of: Mapping[str, Iterable[Mapping[str, Any]]]) -> Picture:
    """Draw a bar a model: how its rows' self_ms divide by their `wall`."""
    walls = {}
    for model, rows in rows_of.items():
        walls[model] = dict.fromkeys(_WALLS, 0.0)
        for row in rows:
            walls[model][row["wall"]] += row["self_ms"]
    return plot.shares(walls, unit="ms of a forward pass", title="Which wall the time is spent at")
