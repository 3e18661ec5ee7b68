"""Pictures of a machine's roofs, and of what was measured under them.

In the style of `plot`, and like it without a formula but for the roof itself, which is the lower
of two lines. What a point's place means, the caller says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from proflab.lesson.hardware import Hardware, in_bytes
from proflab.lesson.plot import COLOURS, FAINT, INK, QUIET, Picture, canvas

_Pair = tuple[float, float]
_MARKS = "osD^vPX"
_DARK = (*COLOURS[:6], INK)  # yellow is too light for a small mark


def rate(value: float, unit: str) -> str:
    """Return a rate in the largest unit that keeps it at 1 or above: 27 GB/s, 1.2 TFLOP/s."""
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def roofline_of_points(
    points: Sequence[dict],
    hardware: Hardware,
    *,
    also: Iterable[Hardware] = (),
    label: Iterable[str] = (),
    size: str | None = None,
    title: str = "",
) -> Picture:
    """Draw points under a roof, both axes logarithmic: FLOP/s against FLOPs a byte.

    points: dicts with name (its first word is the kind, which has a colour and a mark), intensity
    and flops_per_second. also: further roofs, drawn thin and called by their names. label: names of
    points to be written beside them. size: the key of a share of 0 to 1, which sets a point's area.
    """
    also, label = list(also), set(label)
    x, y = _limits(points, (hardware, *also))
    with canvas(8.6, 4.6, _said(points, hardware, also, title)) as (picture, axes):
        axes.set(xscale="log", yscale="log", xlim=x, ylim=y, xlabel="FLOPs a byte", ylabel="FLOP/s")
        for other in also:
            _draw_roof(axes, other, thin=True)
        _draw_roof(axes, hardware)
        _draw_points(axes, points, label, size)
        axes.yaxis.set_major_formatter(lambda number, _: rate(number, ""))
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.15g}")
        axes.set_title(title)
        axes.grid(color=FAINT)
        if points:
            legend = axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
            for handle in legend.legend_handles:
                handle.set_sizes([45])
    return picture


def _limits(points: Sequence[dict], roofs: Sequence[Hardware]) -> tuple[_Pair, _Pair]:
    """Return where the axes begin and end, so that all points and each roof's corner are seen."""
    x = [p["intensity"] for p in points] + [_ridge(roof) for roof in roofs]
    y = [p["flops_per_second"] for p in points] + [roof.peak_flops for roof in roofs]
    left, right = (
        10 ** math.floor(math.log10(min(x) / 2)),
        10 ** math.ceil(math.log10(max(x) * 2)),
    )
    low = min([*y, *(max(left, _ridge(roof) / 100) * roof.bandwidth for roof in roofs)])
    return (left, right), (low / 2, max(y) * 3)


def _said(points: Sequence[dict], hardware: Hardware, also: list[Hardware], title: str) -> str:
    """Describe the picture in sentences."""
    roofs = "; ".join(
        f"{h.name}: {rate(h.peak_flops, 'FLOP/s')} and {rate(h.bandwidth, 'B/s')}, "
        f"meeting at {_ridge(h):.3g} FLOPs a byte"
        for h in (hardware, *also)
    )
    at = "; ".join(
        f"{p['name']} {rate(p['flops_per_second'], 'FLOP/s')} at {p['intensity']:.3g}"
        for p in points[:12]
    )
    more = f"; and {len(points) - 12} more" if len(points) > 12 else ""
    return f"{title or 'Roofline'}. Roofs: {roofs}." + (f" Points: {at}{more}." if points else "")


def _ridge(hardware: Hardware) -> float:
    return hardware.peak_flops / hardware.bandwidth


def _draw_roof(axes: Any, roof: Hardware, thin: bool = False) -> None:
    (left, right), (low, _) = axes.get_xlim(), axes.get_ylim()
    ridge, peak = _ridge(roof), roof.peak_flops
    look = {"color": QUIET, "lw": 1, "ls": (0, (4, 3))} if thin else {"color": INK, "lw": 2}
    ends = [left, min(max(ridge, left), right), right]
    axes.plot(ends, [min(peak, at * roof.bandwidth) for at in ends], zorder=1, **look)
    beside = {"textcoords": "offset points", "color": look["color"], "fontsize": 8 if thin else 10}
    slope = rate(roof.bandwidth, "B/s")
    ceiling = rate(peak, "FLOP/s") + (f", {slope}: {roof.name}" if thin else "")
    axes.annotate(ceiling, (right, peak), (-4, 4), ha="right", **beside)
    if thin:
        return
    # A line of slope 1 in these coordinates: the text turns with it.
    along = {"rotation": 45, "rotation_mode": "anchor", "transform_rotates_text": True}
    start = max(left, low / roof.bandwidth) * 1.2
    axes.annotate(slope, (start, start * roof.bandwidth), (0, 5), **along, **beside)
    axes.plot([ridge, ridge], [low, peak], color=QUIET, lw=0.8, ls=":", zorder=0)
    beside |= {"color": QUIET, "fontsize": 9}
    axes.annotate(f"ridge {ridge:.3g}", (ridge, low), (4, 5), **beside)


def _draw_points(axes: Any, points: Sequence[dict], label: set[str], size: str | None) -> None:
    kinds = list(dict.fromkeys(p["name"].split()[0] for p in points))
    for index, kind in enumerate(kinds):
        own = [p for p in points if p["name"].split()[0] == kind]
        late = index >= len(_DARK)
        axes.scatter(
            [p["intensity"] for p in own],
            [p["flops_per_second"] for p in own],
            s=[25 + 500 * p[size] if size else 45 for p in own],
            color=QUIET if late else _DARK[index],
            marker="." if late else _MARKS[index],
            edgecolors="white", linewidths=0.6, alpha=0.9, zorder=3, label=kind,
        )  # fmt: skip
    for p in points:
        if p["name"] in label:
            spot = p["intensity"], p["flops_per_second"]
            axes.annotate(p["name"], spot, (7, -9), textcoords="offset points", fontsize=8)


def sweep(
    series: dict[str, Sequence[tuple[float, float, float, float]]],
    *,
    x: str,
    y: str,
    marks: dict[str, float] | None = None,
    title: str = "",
) -> Picture:
    """Draw rates by number of bytes: lines through (bytes, low, middle, high), spread shaded.

    marks: names of sizes in bytes, drawn as lines across.
    """
    said = "; ".join(
        f"{name}: " + ", ".join(f"{in_bytes(at)} {rate(mid, 'B/s')}" for at, _, mid, _ in points)
        for name, points in series.items()
    )
    with canvas(8.6, 3.9, f"{title or 'Rates'}: {y} against {x}. {said}") as (picture, axes):
        for name, size in (marks or {}).items():
            axes.axvline(size, color=QUIET, lw=1, ls=(0, (4, 3)), zorder=0)
            axes.annotate(
                name, (size, 1), (3, -3), xycoords=("data", "axes fraction"),
                textcoords="offset points", va="top", color=QUIET, fontsize=9,
            )  # fmt: skip
        for index, (name, points) in enumerate(series.items()):
            at, low, middle, high = zip(*points, strict=True)
            colour = COLOURS[index % len(COLOURS)]
            axes.fill_between(at, low, high, color=colour, alpha=0.25, lw=0)
            axes.plot(at, middle, _MARKS[index] + "-", ms=5, color=colour, label=name)
        axes.set_xscale("log", base=2)
        ticks = sorted({point[0] for points in series.values() for point in points})
        axes.set_xticks(ticks[:: math.ceil(len(ticks) / 9)])
        axes.xaxis.set_major_formatter(lambda number, _: in_bytes(number))
        axes.xaxis.set_minor_locator(_no_ticks())
        axes.yaxis.set_major_formatter(lambda number, _: rate(number, "B/s") if number else "0")
        axes.set_ylim(0, 1.15 * max(p[3] for points in series.values() for p in points))
        axes.set(xlabel=x, ylabel=y)
        axes.set_title(title)
        axes.grid(color=FAINT)
        if len(series) > 1:
            axes.legend(frameon=False)
    return picture


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def ranges(
    rows: dict[str, tuple[float, float, float]],
    *,
    unit: str,
    title: str = "",
) -> Picture:
    """Draw a line a row from its lowest to its highest value, with a mark at the middle one.

    rows: name → (low, middle, high), the first on top.
    """
    said = "; ".join(
        f"{name} {rate(middle, unit)} ({rate(low, unit)} to {rate(high, unit)})"
        for name, (low, middle, high) in rows.items()
    )
    with canvas(7.5, 1.1 + 0.36 * len(rows), f"{title or 'Ranges'}: {said}") as (picture, axes):
        for row, (low, middle, high) in enumerate(rows.values()):
            axes.plot([low, high], [row, row], color=COLOURS[0], lw=5, alpha=0.35, zorder=2)
            axes.plot(middle, row, "|", color=COLOURS[0], ms=13, mew=2.5, zorder=3)
            axes.annotate(
                rate(high, unit), (high, row), (8, 0), textcoords="offset points", va="center"
            )
        axes.set_yticks(range(len(rows)), list(rows))
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(lambda number, _: rate(number, unit) if number else "0")
        axes.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, 1.2 * max(r[2] for r in rows.values())))
        axes.locator_params(axis="x", nbins=6)  # more of such labels would touch one another
        axes.set_title(title)
        axes.grid(axis="x", color=FAINT)
    return picture
