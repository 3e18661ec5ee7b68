"""Drawings as SVG text, made without a drawing library, readable on a phone and in print.

Each function returns one <svg> element with a title and a description. Lengths are in units of
which 420 make the width; text is 12 of these high, so that it stays legible at 340 pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from proflab.lesson.hardware import Hardware
from proflab.lesson.words import many

WIDTH, TEXT = 420, 12
# Okabe and Ito's colours, without the yellow, which is too light on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#222222")
INK, QUIET, FAINT, REST = "#222222", "#5f5f5f", "#dddddd", "#9a9a9a"


def rate(value: float, unit: str) -> str:
    """Return a rate in the largest unit that keeps it at 1 or above: 27 GB/s, 1.2 TFLOP/s."""
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:  # what three digits make 1,000 of is 1 of the next
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def digits(number: float, count: int = 3) -> str:
    """Return a number in so many digits, or as a whole one: 0.171, 35, 1,495."""
    return f"{number:,.{count}g}" if abs(number) < 10**count - 0.5 else f"{number:,.0f}"


def colours(rows: Sequence[dict]) -> dict[str, str]:
    """Return a colour for each operation, that of most time first; after the seventh it is grey."""
    time: dict[str, float] = {}
    for row in rows:
        if row["op"] != "region":
            time[row["op"]] = time.get(row["op"], 0.0) + row["self_ms"]
    kinds = sorted(time, key=lambda op: -time[op])
    return {kind: COLOURS[i] if i < len(COLOURS) else REST for i, kind in enumerate(kinds)}


def _svg(height: float, title: str, description: str, parts: Iterable[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" font-size="{TEXT}" fill="{INK}" '
        f'font-family="system-ui, sans-serif"><title>{escape(title)}</title>'
        f"<desc>{escape(description)}</desc>{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, text: str, anchor: str = "start", fill: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str, width: float = 1) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{stroke}" stroke-width="{width}"/>'


def _rect(x: float, y: float, width: float, height: float, fill: str, title: str = "") -> str:
    inner = f"<title>{escape(title)}</title>" if title else ""
    size = f'width="{max(width, 0.3):.2f}" height="{height:.1f}"'
    return f'<rect x="{x:.2f}" y="{y:.1f}" {size} fill="{fill}">{inner}</rect>'


def _mark(shape: int, x: float, y: float, radius: float, fill: str, title: str) -> str:
    """Draw a circle, square, diamond or triangle, so that kinds differ without colour."""
    look = f'fill="{fill}" fill-opacity="0.9" stroke="white" stroke-width="0.8"'
    inner = f"<title>{escape(title)}</title>"
    if shape % 4 == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {look}>{inner}</circle>'
    corners = {
        1: [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2: [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)],
        3: [(0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
    }[shape % 4]
    at = " ".join(f"{x + radius * dx:.1f},{y + radius * dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{at}" {look}>{inner}</polygon>'


def _legend(kinds: dict[str, tuple[int, str]], top: float) -> tuple[list[str], float]:
    """Draw names, each with its shape and colour, in lines; return where the last one ends."""
    parts, x, y = [], 0.0, top
    for kind, (shape, colour) in kinds.items():
        width = 26 + 7.2 * len(kind)  # about a letter's width, as no font is asked
        if x and x + width > WIDTH:
            x, y = 0.0, y + 17
        parts += [_mark(shape, x + 6, y - 4, 5, colour, kind), _text(x + 15, y, kind)]
        x += width
    return parts, y + 8


# ── the roofline ─────────────────────────────────────────────────────────────────────────────


def draw_roofline(
    points: Sequence[dict], roof: Hardware, ridge: float, kinds: dict[str, str]
) -> str:
    """Draw points under a roof, both axes logarithmic; a point's area is its share of the time.

    kinds: the colour of each operation, as `colours` has them.
    """
    x = _Scale([p["intensity"] for p in points] + [ridge / 10, ridge * 4], 44, WIDTH - 6)
    speeds = [p["flops_per_second"] for p in points]
    y = _Scale([*speeds, roof.peak_flops * 1.6, roof.peak_flops / 50], 250, 12)
    parts = [*_grid_x(x, 12, 250), *_grid_y(y, 44, WIDTH - 6)]  # 44: for the numbers of y
    parts += [
        _text(WIDTH - 6, 282, "FLOPs a byte", "end", QUIET),
        _text(4, 282, "FLOP/s", fill=QUIET),
    ]
    low = max(x.low, y.low / roof.bandwidth)
    corner = x(ridge), y(roof.peak_flops)
    line = [(x(low), y(low * roof.bandwidth)), corner, (x(x.high), corner[1])]
    at = " ".join(f"{a:.1f},{b:.1f}" for a, b in line)
    parts.append(f'<polyline points="{at}" fill="none" stroke="{INK}" stroke-width="2.2"/>')
    parts.append(_text(WIDTH - 8, corner[1] - 6, rate(roof.peak_flops, "FLOP/s"), "end"))
    angle = math.degrees(math.atan2(corner[1] - line[0][1], corner[0] - line[0][0]))
    along = f"rotate({angle:.1f} {line[0][0] + 8:.1f} {line[0][1] - 12:.1f})"
    place = f'x="{line[0][0] + 8:.1f}" y="{line[0][1] - 12:.1f}"'
    parts.append(f'<text {place} transform="{along}">{rate(roof.bandwidth, "B/s")}</text>')
    marks = {kind: (shape, colour) for shape, (kind, colour) in enumerate(kinds.items())}
    for p in sorted(points, key=lambda p: -p["share"]):
        said = (
            f"{p['name']}: {rate(p['flops_per_second'], 'FLOP/s')} at {p['intensity']:.3g} FLOPs a "
            f"byte, {p['efficiency']:.0%} of its roof, {p['share']:.1%} of the time"
        )
        radius = 3.2 + 22 * math.sqrt(p["share"] / math.pi)  # 3.2: the least that can be seen
        shape, colour = marks[p["op"]]
        spot = x(p["intensity"]), y(p["flops_per_second"])
        parts.append(_mark(shape, *spot, radius, colour, said))
    drawn = {p["op"] for p in points}
    legend, end = _legend({kind: mark for kind, mark in marks.items() if kind in drawn}, 306)
    busiest = max(points, key=lambda p: p["share"], default=None)
    description = (
        f"A roof of {rate(roof.bandwidth, 'B/s')} and {rate(roof.peak_flops, 'FLOP/s')}, which "
        f"meet at {ridge:.3g} FLOPs a byte, and {many(len(points), 'point')} below or near it."
    )
    if busiest:
        description += (
            f" Most time is {busiest['name']}, at {busiest['efficiency']:.0%} of its roof."
        )
    return _svg(end, "Roofline", description, [*parts, *legend])


class _Scale:
    """A logarithmic axis of whole powers of ten, from pixel `start` to pixel `end`."""

    def __init__(self, values: Iterable[float], start: float, end: float):
        values = [value for value in values if 0 < value < math.inf]
        self.first = math.floor(math.log10(min(values)))
        self.last = math.ceil(math.log10(max(values)))
        self.low, self.high = 10.0**self.first, 10.0**self.last
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        share = (math.log10(value) - self.first) / (self.last - self.first)
        return self.start + share * (self.end - self.start)

    @property
    def decades(self) -> list[float]:
        step = 1 + (self.last - self.first) // 8
        return [10.0**k for k in range(self.first, self.last + 1, step)]


def _grid_x(scale: _Scale, top: float, bottom: float) -> Iterable[str]:
    for value in scale.decades:
        yield _line(scale(value), top, scale(value), bottom, FAINT)
        anchor = "end" if value == scale.high else "middle"
        yield _text(scale(value), bottom + 15, f"{value:,.15g}", anchor, QUIET)


def _grid_y(scale: _Scale, left: float, right: float) -> Iterable[str]:
    for value in scale.decades:
        yield _line(left, scale(value), right, scale(value), FAINT)
        yield _text(left - 4, scale(value) + 4, rate(value, "").strip(), "end", QUIET)


# ── the timeline ─────────────────────────────────────────────────────────────────────────────


def draw_timeline(rows: Sequence[dict], kinds: dict[str, str]) -> str:
    """Draw what ran when: parts of the model in one lane, operations below, the passes above.

    kinds: the colour of each operation, that of most time first, as `colours` has them.
    """
    rows = sorted((r for r in rows if r["op"] != "region"), key=lambda r: r["start_ms"])
    start = rows[0]["start_ms"]
    total = max(r["start_ms"] + r["ms"] for r in rows) - start or 1.0
    x = lambda ms: (ms - start) / total * (WIDTH - 2) + 1  # noqa: E731
    parts: list[str] = []
    lanes = {"phase": 14, "part": 36}
    phases = list(_stretches(rows, lambda row: row["phase"]))
    if len(phases) == 1:
        lanes = {"part": 14}
    for name, y in lanes.items():
        key = _part if name == "part" else lambda row: row["phase"]
        for index, (label, first, last) in enumerate(_stretches(rows, key)):
            width = x(last) - x(first)
            fill = ("#e8e8e8", "#d2d2d2")[index % 2]
            parts.append(_rect(x(first), y, width, 18, fill, f"{label}: {last - first:.2f} ms"))
            if width > 6.7 * len(label) + 4:  # where it fits, as no font is asked
                parts.append(_text((x(first) + x(last)) / 2, y + 13, label, "middle"))
    y = max(lanes.values()) + 22
    for row in rows:
        said = f"{row['op']} {row['module']} ({row['phase']}): {row['self_ms']:.3f} ms"
        left, width = x(row["start_ms"]), x(start + row["ms"]) - 1  # a length: without x's margin
        parts.append(_rect(left, y, width, 34, kinds[row["op"]], said))
    ends: dict[float, str] = {0: "start", 1: "end"}
    for share in (0, 0.25, 0.5, 0.75, 1):
        at = 1 + share * (WIDTH - 2)
        parts.append(_line(at, y + 34, at, y + 39, QUIET))
        anchor = ends.get(share, "middle")
        ms = digits(share * total) + (" ms" if share == 1 else "")
        parts.append(_text(at, y + 52, ms, anchor, QUIET))
    told = {kind: (1, colour) for kind, colour in kinds.items() if colour != REST}
    legend, end = _legend(told | ({"others": (1, REST)} if len(told) < len(kinds) else {}), y + 74)
    longest = next(iter(kinds))
    most = sum(row["self_ms"] for row in rows if row["op"] == longest)
    description = (
        f"{many(len(rows), 'operation')} in {digits(total)} ms; "
        f"most of it, {digits(most)} ms, is {longest}."
    )
    return _svg(end, "Timeline of one pass", description, [*parts, *legend])


def _part(row: dict) -> str:
    """Return the part of the model that a row belongs to: blocks.3 of blocks.3.attn.qkv."""
    names = row["module"].split(".")
    return ".".join(names[: 2 if names[1:] and names[1].isdigit() else 1])


def _stretches(rows: Sequence[dict], key) -> Iterable[tuple[str, float, float]]:
    """Return (label, from, to) of successive rows with one label; those without are left out."""
    label, first, last = None, 0.0, 0.0
    for row in rows:
        end = row["start_ms"] + row["ms"]
        if key(row) == label:
            last = end
            continue
        if label:
            yield label, first, last
        label, first, last = key(row), row["start_ms"], end
    if label:
        yield label, first, last


# ── bars ─────────────────────────────────────────────────────────────────────────────────────


def draw_bars(values: dict[str, float], unit: str, title: str) -> str:
    """Draw a bar a value, with its name above it and its number behind it."""
    most = max(values.values(), default=0) or 1.0
    parts, y = [], 14.0
    for name, value in values.items():
        width, told = 310 * max(value, 0) / most, f"{value:,.1f} {unit}"
        parts += [_text(0, y, name), _rect(0, y + 5, width, 15, COLOURS[0], told)]
        parts.append(_text(width + 6, y + 17, told))
        y += 40
    said = ", ".join(f"{name} {value:,.1f} {unit}" for name, value in values.items())
    return _svg(y - 12, title, said, parts)
