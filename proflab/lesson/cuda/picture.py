"""Roofs of a card and what stands under them, drawn. What may not enter: a formula of a count."""

from __future__ import annotations

from collections.abc import Sequence

from proflab.lesson.plot import COLOURS, INK, QUIET, Picture, canvas

TERA, GIGA = 1e12, 1e9
MARKS = "osD^vPX*"
NAMES = {"dram": "memory", "l2": "L2 cache"}


def roofline(
    roofs: dict,
    points: dict[str, Sequence[tuple[float, float]]],
    *,
    title: str = "",
    dtypes: Sequence[str] = (),
    label: bool = True,
) -> Picture:
    """The roofline on two logarithmic axes: slopes and ceilings, and measurements as points.

    roofs: {"flops": {dtype: FLOP/s}, "bandwidth": {level: bytes/s}}; `dtypes` picks ceilings.
    points: series of (intensity in FLOP/byte, FLOP/s), each with a colour, a mark and, if `label`,
    its name beside its last point; otherwise in a legend.
    """
    peaks = {d: roofs["flops"][d] for d in (dtypes or roofs["flops"])}
    everything = [xy for series in points.values() for xy in series]
    left = min([x for x, _ in everything] + [0.1]) / 2
    right = max([x for x, _ in everything] + [4 * max(peaks.values()) / _dram(roofs)]) * 2
    with canvas(8.2, 4.6, _said(title, peaks, roofs, points)) as (picture, axes):
        for level, bandwidth in roofs["bandwidth"].items():
            top = max(peaks.values())
            style = "-" if level == "dram" else ":"
            axes.plot([left, top / bandwidth], [left * bandwidth, top], style, color=INK, lw=1.6)
            text = f"{NAMES.get(level, level)} {bandwidth / GIGA:,.0f} GB/s"
            _along_slope(axes, text, left * 1.3, left * 1.3 * bandwidth)
        for dtype, peak in peaks.items():
            axes.plot([peak / _dram(roofs), right], [peak, peak], "-", color=INK, lw=1.6)
            text = f"{dtype} {peak / TERA:,.3g} TFLOP/s"
            axes.annotate(text, (right, peak), (0, 3), textcoords="offset points", ha="right")
        for index, (name, series) in enumerate(points.items()):
            colour, mark = COLOURS[index % len(COLOURS)], MARKS[index % len(MARKS)]
            line = "-" if len(series) > 1 else ""
            axes.plot(
                *zip(*series, strict=True), line + mark, color=colour, ms=7, lw=0.8, label=name
            )
            if label:
                spot = {"textcoords": "offset points", "va": "center", "fontsize": 9}
                axes.annotate(name, series[-1], (8, -3), **spot)
        if not label:
            axes.legend(frameon=False, loc="lower right", fontsize=9)
        low = min([y for _, y in everything] + [left * _dram(roofs)]) / 2
        axes.set(
            xscale="log", yscale="log", xlim=(left, right), ylim=(low, 3 * max(peaks.values()))
        )
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
        axes.yaxis.set_major_formatter(lambda number, _: f"{number / TERA:,.6g}")
        axes.set(xlabel="intensity, FLOP a byte", ylabel="TFLOP/s")
        axes.set_title(title)
        axes.grid(color="#ececec")
    return picture


def _dram(roofs: dict) -> float:
    return roofs["bandwidth"]["dram"]


def _along_slope(axes, text: str, x: float, y: float) -> None:
    """Text above a roof's slope, turned with it."""
    axes.text(
        x, y * 1.15, text, rotation=45, rotation_mode="anchor", transform_rotates_text=True,
        color=QUIET, fontsize=9,
    )  # fmt: skip


def _said(title: str, peaks: dict, roofs: dict, points: dict) -> str:
    tops = ", ".join(f"{name} {peak / TERA:.3g} TFLOP/s" for name, peak in peaks.items())
    slopes = ", ".join(
        f"{NAMES.get(level, level)} {value / GIGA:,.0f} GB/s"
        for level, value in roofs["bandwidth"].items()
    )
    spots = "; ".join(
        f"{name} at {series[-1][0]:.3g} FLOP a byte and {series[-1][1] / TERA:.3g} TFLOP/s"
        for name, series in points.items()
    )
    return f"{title or 'Roofline'}. Roofs: {tops}; {slopes}. Points: {spots}"
