"""Pictures of what was measured more than once: in order, as a histogram, with intervals.

In the style of `plot`, and like it without a formula: what is marked and where an interval ends,
the caller says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

from proflab.lesson.plot import COLOURS, FAINT, INK, QUIET, STYLE, Picture, canvas, short

Point = tuple[float, float, float, float]
_DASHED = {"color": QUIET, "lw": 1, "ls": (0, (4, 3)), "zorder": 0}


def ms(time: float) -> str:
    """Return a time as it fits beside a point: 0.171 · 4.5 · 35 · 1,495."""
    return f"{time:,.3g}" if abs(time) < 1000 else f"{time:,.0f}"


@contextmanager
def _panels(count: int, width: float, height: float, alt: str) -> Iterator[tuple[Picture, Any]]:
    """Return an empty picture of `count` axes side by side, each of so many inches."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width * count, height), layout="constrained")
        yield Picture(figure, alt), figure.subplots(1, count, squeeze=False)[0]


def runs(series: dict[str, Sequence[float]], *, unit: str = "ms", title: str = "") -> Picture:
    """Draw times in the order they were taken, a panel for each series, at its own scale.

    The dashed line is the panel's median.
    """
    said = "; ".join(
        f"{name}: {len(times)} runs from {ms(min(times))} to {ms(max(times))}, "
        f"median {ms(median(times))}"
        for name, times in series.items()
    )
    alt = f"{title or 'Runs'} ({unit}, in order). {said}"
    with _panels(len(series), 9.6 / max(3, len(series)), 2.6, alt) as (picture, all_axes):
        for axes, (name, times) in zip(all_axes, series.items(), strict=True):
            axes.plot(range(1, len(times) + 1), times, "o", ms=3.5, color=COLOURS[0])
            axes.axhline(median(times), **_DASHED)
            _scale(axes.yaxis, False, ms)
            axes.set_ylim(0, 1.15 * max(times))
            axes.set_title(name)
            axes.set_xlabel("run")
        all_axes[0].set_ylabel(unit)
        picture.figure.suptitle(title, x=0.01, ha="left")
    return picture


def histogram(
    times: Sequence[float], marks: dict[str, float], *, unit: str = "ms", title: str = ""
) -> Picture:
    """Draw how often each time came, with `marks` as lines that the legend names.

    Both axes are logarithmic: far out and rare is what a tail is.
    """
    import numpy as np

    said = ", ".join(f"{name} {ms(time)}" for name, time in marks.items())
    alt = (
        f"{title or 'Histogram'}: {len(times)} times from {ms(min(times))} to "
        f"{ms(max(times))} {unit}. {said}"
    )
    with canvas(7.5, 3.6, alt) as (picture, axes):
        edges = np.geomspace(min(times) / 1.02, max(times) * 1.02, 70)
        axes.hist(times, bins=edges, color="#9cc5e0")
        looks = zip((COLOURS[0], COLOURS[5], COLOURS[3], INK), ("-", "--", "-.", ":"), strict=True)
        for (name, time), (colour, dashes) in zip(marks.items(), looks, strict=False):
            label = f"{name}  {ms(time)} {unit}"
            axes.axvline(time, color=colour, lw=1.6, ls=dashes, label=label)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False)
        axes.set(xlabel=unit, ylabel="calls")
        _scale(axes.xaxis, True, ms)
        _scale(axes.yaxis, True, short)
        axes.set_title(title)
    return picture


def intervals(
    series: dict[str, Sequence[Point]],
    *,
    x: str,
    y: str,
    title: str = "",
    log: str = "",
    show: Callable[[float], str] = ms,
) -> Picture:
    """Draw lines through points (x, middle, low, high), each with its interval as a bar."""
    said = "; ".join(
        f"{name} from {show(points[0][1])} at {short(points[0][0])} to "
        f"{show(points[-1][1])} at {short(points[-1][0])}"
        for name, points in series.items()
    )
    with canvas(7.5, 3.8, f"{title or 'Lines'}: {y} against {x}. {said}") as (picture, axes):
        for index, (name, points) in enumerate(series.items()):
            at, middle, low, high = zip(*points, strict=True)
            below = [m - lo for m, lo in zip(middle, low, strict=True)]
            above = [hi - m for m, hi in zip(middle, high, strict=True)]
            look = {"color": COLOURS[index % len(COLOURS)], "fmt": "osD^v"[index % 5] + "-"}
            axes.errorbar(at, middle, (below, above), ms=4, lw=1.2, capsize=2.5, label=name, **look)
        _scale(axes.xaxis, "x" in log, lambda number: f"{number:,.15g}")
        _scale(axes.yaxis, "y" in log, show)
        if "x" not in log:
            axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set(xlabel=x, ylabel=y)
        axes.set_title(title)
        axes.legend(frameon=False)
        axes.grid()
    return picture


def _scale(axis: Any, log: bool, show: Callable[[float], str]) -> None:
    """Number an axis by `show`; a short logarithmic one at 1, 2, 5, 10 …, a long one at 1, 10 …"""
    from matplotlib.ticker import LogLocator, NullFormatter

    if log:
        getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 150 * low else (1,)))
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(lambda number, _: show(number))


def trade_off(
    rows: Sequence[tuple[str, Point, Point]], *, x: str, y: str, title: str = ""
) -> Picture:
    """Draw named points with an interval both ways: (name, x and its bounds, y and its bounds).

    Each of the two is (middle, low, high).
    """
    said = "; ".join(f"{name}: {ms(across[0])}, {short(up[0])}" for name, across, up in rows)
    with canvas(7.5, 3.8, f"{title or 'Points'}: {y} against {x}. {said}") as (picture, axes):
        for _name, across, up in rows:
            widths = [[across[0] - across[1]], [across[2] - across[0]]]
            heights = [[up[0] - up[1]], [up[2] - up[0]]]
            axes.errorbar(across[0], up[0], heights, widths, "o", color=COLOURS[0], capsize=2.5)
        for name, across, up in rows:
            axes.annotate(name, (across[0], up[0]), (5, -13), textcoords="offset points")
        axes.plot([r[1][0] for r in rows], [r[2][0] for r in rows], color=FAINT, zorder=0)
        _scale(axes.xaxis, True, ms)
        _scale(axes.yaxis, False, short)
        axes.set_ylim(0, 1.15 * max(up[2] for _, _, up in rows))
        axes.set(xlabel=x, ylabel=y)
        axes.set_title(title)
        axes.grid()
    return picture


def estimates(
    ways: dict[str, Sequence[float]],
    *,
    limits: tuple[float, float],
    truth: float | None = None,
    unit: str = "ms",
    title: str = "",
) -> Picture:
    """Draw what each way of measuring said, a row of dots each, and the truth, if known.

    What lies outside `limits` is written at that edge.
    """
    said = "; ".join(f"{name} {ms(min(v))} to {ms(max(v))}" for name, v in ways.items())
    known = "" if truth is None else f", true value {ms(truth)}"
    low, high = limits
    alt = f"{title or 'Estimates'} ({unit}){known}. {said}"
    with canvas(7.5, 1.1 + 0.34 * len(ways), alt) as (picture, axes):
        if truth is not None:
            axes.axvline(truth, color=COLOURS[5], lw=1.6, zorder=0)
            near = {"textcoords": "offset points", "color": COLOURS[5]}
            axes.annotate(f"true: {ms(truth)}", (truth, -0.75), (3, 2), **near)
        for row, values in enumerate(ways.values()):
            inside = [value for value in values if low <= value <= high]
            axes.plot(inside, [row] * len(inside), "o", ms=6, color=COLOURS[0], alpha=0.45, mew=0)
            if min(values) < low:
                axes.text(low, row, f" ◀ {ms(min(values))}", va="center")
            if max(values) > high:
                axes.text(high, row, f"{ms(max(values))} ▶ ", va="center", ha="right")
        axes.set_yticks(range(len(ways)), list(ways))
        axes.tick_params(axis="y", length=0)
        axes.set(xlim=limits, ylim=(len(ways) - 0.5, -0.75), xlabel=unit)
        axes.set_title(title, pad=14)
        axes.grid(axis="x")
    return picture
