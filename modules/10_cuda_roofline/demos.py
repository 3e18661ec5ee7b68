"""Draw roofs and lines, and count kernels, FLOPs and bytes, for lesson 10."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from functools import partial
from string import Template

import numpy as np
from workloads import TABLE

from proflab import Tensor, dispatch, meta, models, nn, no_grad
from proflab.lesson.alt_text import lines_in_words
from proflab.lesson.cuda import Record, multiprocessor
from proflab.lesson.cuda.sheets import data_sheet
from proflab.lesson.measuring import best_time, on_threads
from proflab.lesson.plot import COLOURS, INK, QUIET, Picture, canvas, on_axis

TERA, GIGA = 1e12, 1e9
_MARKS, _BESIDE = "osD^vPX*", ("--", ":")
_PLAIN = {"frameon": True, "framealpha": 1, "edgecolor": "none"}  # no grid through a legend
_CLEAR = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}  # nor through a label
_NAMES = {"dram": "memory", "l2": "L2 cache"}


def roofline(
    roofs: dict,
    points: dict[str, Sequence[tuple[float, float]]],
    *,
    title: str = "",
    dtypes: Sequence[str] = (),
) -> Picture:
    """Draw the roofline on logarithmic axes: slopes and ceilings, and measurements as points.

    roofs: {"flops": {dtype: FLOP/s}, "bandwidth": {level: bytes/s}}; `dtypes` picks ceilings.
    points: name → series of (intensity in FLOP/byte, FLOP/s), one point or many.
    """
    peaks = {d: roofs["flops"][d] for d in (dtypes or roofs["flops"])}
    everything = [xy for series in points.values() for xy in series]
    left = min([x for x, _ in everything] + [0.1]) / 2
    right = max([x for x, _ in everything] + [4 * max(peaks.values()) / _dram(roofs)]) * 2
    with canvas(8.2, 4.6, _said(title, peaks, roofs, points)) as (picture, axes):
        _draw_roofs(axes, roofs, peaks, left, right)
        _draw_points(axes, points)
        low = min([y for _, y in everything] + [left * _dram(roofs)]) / 2
        top = 3 * max([*peaks.values(), *(y for _, y in everything)])
        axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(low, top))
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
        axes.yaxis.set_major_formatter(lambda number, _: f"{number / TERA:,.6g}")
        axes.set(xlabel="intensity, FLOPs a byte", ylabel="TFLOP/s")
        axes.legend(loc="lower right", fontsize=9, **_PLAIN)
        axes.set_title(title)
        axes.grid(color="#ececec")
    return picture


def lines(
    series: dict[str, Sequence[tuple[float, float]]],
    *,
    x: str,
    y: str,
    title: str = "",
    log: str = "",
    marks: dict[str, float | None] | None = None,
    beside: dict[str, dict[str, Sequence[tuple[float, float]]]] | None = None,
) -> Picture:
    """Draw lines through (x, y) points, marked if they are few; `log` may be "x", "y" or "xy".

    marks: name → a place on the x axis, drawn as a line across; None, a guess not made, is not.
    beside: what series are compared with → name of a series → its points, in the same colour.
    """
    said = lines_in_words(series, _said_number, on_axis, log)
    for what, others in (beside or {}).items():
        apart = "; ".join(f"{name} {_farthest(series[name], others[name])}" for name in others)
        said += f". Farthest from {what}: {apart}"
    with canvas(7.5, 3.8, f"{title or 'Lines'}: {y} against {x}. {said}") as (picture, axes):
        for index, (name, points) in enumerate(series.items()):
            colour = COLOURS[index % len(COLOURS)]
            every = max(1, len(points) // 20)  # of many points, some are marked
            style = {"color": colour, "marker": _MARKS[index % len(_MARKS)], "markevery": every}
            axes.plot(*zip(*points, strict=True), ms=5, lw=1.3, label=name, **style)
            for style, others in zip(_BESIDE, (beside or {}).values(), strict=False):
                if name in others:
                    axes.plot(*zip(*others[name], strict=True), style, color=colour, lw=1.6)
        for style, what in zip(_BESIDE, beside or {}, strict=False):
            axes.plot([], [], style, color=QUIET, lw=1.6, label=what)
        for index, (name, place) in enumerate((marks or {}).items()):
            if place is None:
                continue
            axes.axvline(place, color=QUIET, lw=1, ls=(0, (4, 3)), zorder=0)
            spot = {
                "xycoords": ("data", "axes fraction"),
                "textcoords": "offset points",
                "bbox": _CLEAR,
            }
            axes.annotate(
                name, (place, 1), (4, -4 - 12 * index), va="top", color=QUIET, fontsize=9, **spot
            )
        axes.set(xlabel=x, ylabel=y, **{f"{axis}scale": "log" for axis in log})
        if "y" not in log:
            axes.set_ylim(bottom=0)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda number, _: f"{number:,.12g}")
            axis.set_minor_formatter(lambda number, _: "")
        if len(series) > 1 or beside:
            apart = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if len(marks or {}) > 1 else {}
            axes.legend(fontsize=9, **_PLAIN, **apart)
        axes.set_title(title if len(title) <= 85 else title.replace(" · ", "\n", 1))
        axes.grid()
    return picture


def _farthest(points: Sequence, others: Sequence) -> str:
    """Return in words where a line is farthest from another, which has more points or as many."""
    there = dict(others)
    x, y = max(points, key=lambda point: abs(point[1] - there[point[0]]))
    return f"{_said_number(y)} for {_said_number(there[x])} at {_said_number(x)}"


def _said_number(number: float) -> str:
    """Return a number in words' company: three digits, and no power of ten from 1,000 on."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


# ── curves of several cards ──────────────────────────────────────────────────────────────────


def measured(cards: Record, kind: str) -> dict[str, list[list[float]]]:
    """Return card → the points of a kind that others measured, as roofline_document.COLUMNS."""
    return {cards.source(row)["card"]: row["points"] for row in cards.rows(kind)}


def doubled_us(sizes: Sequence[int]) -> list[float]:
    """Return the µs of y = 2 x in numpy, on one thread, for so many bytes of x and y together."""
    found = []
    with on_threads(1):
        for size in sizes:
            x = np.ones(int(size) // 16)  # 8 bytes a number, in two arrays
            y = np.empty_like(x)
            found.append(1e6 * best_time(partial(np.multiply, x, 2.0, out=y), 15))
    return found


def at(points: Sequence[Sequence[float]], x: float) -> float:
    """Return the y of a line through (x, y) points at an x between them."""
    return float(np.interp(x, *zip(*points, strict=True)))


def best(points: Sequence[Sequence[float]]) -> dict:
    """Return the roofs of a measured roofline, as ceilings does: the most that a point reached."""
    _, moved, computed, _ = zip(*points, strict=True)
    flops, bandwidth = {"float32": max(computed) * GIGA}, {"dram": max(moved) * GIGA}
    return {"flops": flops, "bandwidth": bandwidth}


def roofs_over(curves: dict[str, Sequence[Sequence[float]]]) -> dict[str, dict]:
    """Return what `lines` draws beside measured rooflines: straight roofs, and data sheets'.

    Both are (FLOPs a byte, TFLOP/s) at a curve's points and at the ridge.
    """
    sheets = {card: data_sheet(card.split(",")[0]) for card in curves}  # yours has a date
    return {
        "two straight roofs": {
            card: _roof(points, best(points)) for card, points in curves.items()
        },
        "data sheet": {
            card: _roof(points, {"flops": sheets[card], "bandwidth": sheets[card]})
            for card, points in curves.items()
            if sheets[card]
        },
    }


def _roof(points: Sequence[Sequence[float]], roofs: dict) -> list[tuple[float, float]]:
    peak, bandwidth = roofs["flops"]["float32"], roofs["bandwidth"]["dram"]
    places = sorted([point[0] for point in points] + [peak / bandwidth])
    return [(x, min(peak, x * bandwidth) / TERA) for x in places]


def own_occupancy(record: Record, stream_bytes: Callable, events_to_ms: Callable) -> dict:
    """Return your card → (occupancy in %, GB/s) of its triads; {} where none was measured."""
    room = multiprocessor(record.document["card"])["threads"]
    return _own(
        record,
        "in_flight",
        lambda row: (100 * row["threads"] / room, _moved(row, stream_bytes, events_to_ms)),
    )


def own_copies(record: Record, stream_bytes: Callable, events_to_ms: Callable) -> dict:
    """Return your card → (kB, GB/s) of its copies; {} where none was measured."""

    def point(row: dict) -> tuple[float, float] | None:
        size = row["elements"] * (row["reads"] + row["writes"]) * row["itemsize"] / 1e3
        copy = row["kernel"] == "copy"
        return (size, _moved(row, stream_bytes, events_to_ms)) if copy else None

    return _own(record, "stream", point)


def own_roofline(
    record: Record, fma_flops: Callable, stream_bytes: Callable, events_to_ms: Callable
) -> dict:
    """Return your card → points of kind roofline of its sweep; {} without one, or its watts."""

    def point(row: dict) -> tuple[float, float, float, float] | None:
        rate = _moved({**row, "reads": 1, "writes": 1, "passes": 1}, stream_bytes, events_to_ms)
        computed = fma_flops(row["elements"], row["fmas"], 1)
        flops = computed / events_to_ms(row["events"], "best") / 1e6
        return (flops / rate, rate, flops, row["watts"]) if row.get("watts") else None

    return _own(record, "sweep", point)


def _own(record: Record, kind: str, point: Callable[[dict], tuple | None]) -> dict:
    """Return your card → a point of each row of a kind, but for those that give None."""
    document = record.document
    rows = [] if document["constructed"] else document["rows"].get(kind, [])
    points = sorted(found for found in map(point, rows) if found)
    return {f"{document['card']['name']}, {document['date']}": points} if points else {}


def _moved(row: dict, stream_bytes: Callable, events_to_ms: Callable) -> float:
    """Return the GB/s of a row."""
    once = stream_bytes(row["elements"], row["reads"], row["writes"], row["itemsize"])
    return row["passes"] * once / events_to_ms(row["events"], "best") / 1e6


def _draw_roofs(axes, roofs: dict, peaks: dict, left: float, right: float) -> None:
    top = max(peaks.values())
    small = {"textcoords": "offset points", "fontsize": 9, "color": QUIET, "bbox": _CLEAR}
    for level, bandwidth in roofs["bandwidth"].items():
        style = "-" if level == "dram" else ":"
        axes.plot([left, top / bandwidth], [left * bandwidth, top], style, color=INK, lw=1.6)
        text = f"{_NAMES.get(level, level)} {bandwidth / GIGA:,.0f} GB/s"
        if level == "dram":  # below its slope, at the lower end
            place, side = left * 1.6, {"xytext": (7, -7), "ha": "left", "va": "top"}
        else:  # above, in the middle
            place, side = (left * top / bandwidth) ** 0.5, {"xytext": (-6, 3), "ha": "right"}
        axes.annotate(text, (place, place * bandwidth), **side, **small)
    for dtype, peak in peaks.items():
        axes.plot([peak / _dram(roofs), right], [peak, peak], "-", color=INK, lw=1.6)
        text = f"{dtype} {peak / TERA:,.3g} TFLOP/s"
        axes.annotate(text, (right, peak), xytext=(-2, 5), ha="right", **small)


def _draw_points(axes, points: dict) -> None:
    """Draw a mark for what is one point, a line in blue or grey for what is many."""
    single, many = 0, 0
    for name, series in points.items():
        if len(series) > 1:
            colour, mark = (COLOURS[0], QUIET)[many % 2], "os^D"[many % 4]
            axes.plot(*zip(*series, strict=True), "-" + mark, color=colour, ms=5, lw=1, label=name)
            many += 1
        else:
            colour, mark = COLOURS[1:][single % 7], _MARKS[single % len(_MARKS)]
            axes.plot(*series[0], mark, color=colour, mec=INK, mew=0.6, ms=9, label=name, zorder=4)
            single += 1


def _dram(roofs: dict) -> float:
    return roofs["bandwidth"]["dram"]


def _said(title: str, peaks: dict, roofs: dict, points: dict) -> str:
    tops = ", ".join(f"{name} {_said_number(peak / TERA)} TFLOP/s" for name, peak in peaks.items())
    slopes = ", ".join(
        f"{_NAMES.get(level, level)} {value / GIGA:,.0f} GB/s"
        for level, value in roofs["bandwidth"].items()
    )
    spots = "; ".join(
        f"{name} at {_said_number(series[-1][0])} FLOP a byte and "
        f"{_said_number(series[-1][1] / TERA)} TFLOP/s"
        for name, series in points.items()
    )
    return f"{title or 'Roofline'}. Roofs: {tops}; {slopes}. Points: {spots}"


def kernels_of_gpt2_small() -> int:
    """Return how many kernels a forward pass of GPT-2 small launches: its ops without views."""
    kernels = []

    def seen(call):
        kernels.extend([] if dispatch.OPS[call.op].view else [call.op])
        return call()

    with meta():
        model = models.gpt2("small")
    with no_grad(), dispatch.hook(seen):
        model(Tensor.meta((1, 128), "int64"))
    return len(kernels)


# ── kernels around a student's lines ─────────────────────────────────────────────────────────


def chains(kernel: Template, lines: Callable[[int], str]) -> Callable[[int], str]:
    """Return a function from a number of accumulators to the kernel with that many in its loop.

    lines: the student's fma_lines. Each accumulator starts from a value of its own.
    """

    def source(accumulators: int) -> str:
        body = lines(accumulators)
        names = sorted(set(re.findall(r"\ba\d+\b", body)))
        seeds = ", ".join(f"{name} = x + i + {number}" for number, name in enumerate(names))
        return kernel.substitute(seeds=seeds, lines=body, total=" + ".join(names))

    return source


def streams(kernel: Template, line_of: Callable[[str], str]) -> Callable[[str], str]:
    """Return a function from a stream kernel's name to the kernel that does its line.

    line_of: the student's stream_line. The line is done to each of a float4's four floats.
    """

    def source(name: str) -> str:
        line = line_of(name)
        third = bool(re.search(r"\bc\b", line))
        lane = "{ float a, b = B.$p" + (", c = C.$p" if third else "") + "; $line A.$p = a; }"
        lanes = " ".join(Template(lane).substitute(p=p, line=line) for p in "xyzw")
        return kernel.substitute(second=", C = __ldcg(in2 + i)" if third else "", lanes=lanes)

    return source


# ── what is computed and moved ───────────────────────────────────────────────────────────────


def counts(
    name: str, op_flops: Callable, elementwise: Container[str], elementwise_flops: Callable
) -> dict[str, int]:
    """Return the FLOPs and bytes of a workload of workloads.TABLE, from meta tensors.

    op_flops, elementwise, elementwise_flops: the rules of lesson 02, and which ops the last knows.
    """
    parts = parts_of(name, op_flops, elementwise, elementwise_flops)
    products = sum(part["products"] for part in parts)
    flops = products or sum(part["elementwise"] for part in parts)
    return {"flops": flops, "bytes": sum(part["bytes"] for part in parts)}


def parts_of(
    name: str, op_flops: Callable, elementwise: Container[str], elementwise_flops: Callable
) -> list[dict]:
    """Return a workload's kernels: op, products and elementwise (FLOPs), and bytes."""
    function, shapes, dtype = TABLE[name]
    parts = []

    def size(*tensors: Tensor) -> int:
        return sum(t.numel() * np.dtype(t.dtype).itemsize for t in tensors)

    def add(call):
        result = call()
        done = call.op in elementwise and elementwise_flops(call.op, result.shape)
        parts.append(
            {
                "op": call.op,
                "products": op_flops(call.op, [t.shape for t in call.inputs], call.attributes),
                "elementwise": int(done),
                "bytes": 0 if dispatch.OPS[call.op].view else size(*call.inputs, result),
            }
        )
        return result

    inputs = [Tensor.meta(shape, dtype) for shape in shapes]
    with no_grad(), dispatch.hook(add):
        result = function(nn.functional, *inputs)
    if name == "chain, fused":
        whole = {key: sum(part[key] for part in parts) for key in ("products", "elementwise")}
        return [{"op": name, **whole, "bytes": size(*inputs, result)}]
    return parts
