"""Draw timelines, allocations, steps, and lines of several runs for the demo cells of lesson 11."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median

import numpy as np

from proflab import meta
from proflab.lesson.alt_text import lines_in_words
from proflab.lesson.cuda import timeline
from proflab.lesson.plot import COLOURS, FAINT, INK, QUIET, Picture, canvas, on_axis

_HOST = {"launch": COLOURS[4], "sync": COLOURS[5], "copy": COLOURS[2], "data": COLOURS[1]}
_NO_CAUSE = "#b0b0b0"
_LEGEND = {"frameon": True, "framealpha": 1, "edgecolor": "none", "fontsize": 9}
_CLEAR = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}  # no grid through a label
_MB = 1024**2
_TITLE = 85  # letters in a line of a title
# Ops whose first two shapes are images and what comes back (True), or the other way round.
_BACKWARD = {"aten::cudnn_convolution_backward": True, "aten::convolution_backward": False}
_GAP = 0.9  # between the lanes of two traces


# ── timelines ────────────────────────────────────────────────────────────────────────────────


def streams(
    rows: Sequence[dict], idle: Sequence[Sequence[tuple]] = (), title: str = "", caption: str = ""
) -> Picture:
    """Draw traces below one another on one axis of time: the host, the kernels, the copies.

    rows: dicts with name and trace. Where an op of the host is of several kinds, data is drawn
    before copy, sync and launch. A line marks where each step begins. idle: for each row, what
    `waits` returns, drawn as a lane of its own. caption: stands below the axes.
    """
    told = (f", idle for {_words(spans)}" for spans in idle) if idle else [""] * len(rows)
    said = "; ".join(
        f"{row['name']}: {_said(row['trace'])}{why}" for row, why in zip(rows, told, strict=True)
    )
    alt = f"{title or 'Timelines'}. Lanes of the host, the kernels and the copies. {said}"
    lanes = 4 if idle else 3
    with canvas(8.6, 0.9 + (0.1 + 0.35 * lanes) * len(rows), alt) as (picture, axes):
        ticks: dict[float, str] = {}
        for number, row in enumerate(rows):
            top = number * (lanes + _GAP)
            _draw_trace(axes, row["trace"], top)
            for cause, colour in {**_HOST, "other": _NO_CAUSE}.items() if idle else ():
                spans = [(start, end) for why, start, end in idle[number] if why == cause]
                _draw_spans(axes, spans, _begin(row["trace"]), top + 3, colour)
            names = (f"{row['name']} · host", "kernels", "copies", "idle, why")[:lanes]
            ticks |= {top + lane + 0.5: name for lane, name in enumerate(names)}
        others = {"other": _NO_CAUSE} if idle else {}
        for name, colour in {**_HOST, **others, "kernel": COLOURS[0]}.items():
            axes.barh([0], [0], color=colour, label=name)
        axes.set_yticks(list(ticks), list(ticks.values()))
        axes.tick_params(axis="y", length=0)
        axes.set(ylim=(len(rows) * (lanes + _GAP) - _GAP + 0.1, -0.1), xlabel="ms")
        axes.set_xlim(left=0)
        axes.legend(loc="lower right", ncols=6, bbox_to_anchor=(1, 1), **_LEGEND)
        axes.set_title(_lines_of(title), pad=24)
        axes.grid(axis="x")
        if caption:
            axes.figure.supxlabel(caption, x=0.01, ha="left", fontsize=8, color=QUIET)
    return picture


def waits(trace: dict, gpu_busy: Callable, gap_causes: Callable) -> list[tuple[str, float, float]]:
    """Return (cause, start, end) in µs of all gaps of a trace's steps.

    Where a gap has several causes, they stand one behind the other, each as long as it is.
    """
    found, spans = [], timeline.host_spans(trace)
    for _, *window in timeline.step_spans(trace):
        gaps = gpu_busy(trace["traceEvents"], window)["gaps"]
        for gap, near in timeline.with_host(gaps, spans):
            start = gap[0]
            for cause, long in gap_causes(gap, near).items():
                if long:
                    found.append((cause, start, start + long))
                    start += long
    return found


def _words(waits: Sequence[tuple[str, float, float]]) -> str:
    return summed({cause: end - start} for cause, start, end in waits) + " ms"


def one_step(row: dict, number: int) -> dict:
    """Return a row of what begins in one step of a trace, by its number in it, from 0."""
    name, start, end = timeline.step_spans(row["trace"])[number]
    events = [e for e in row["trace"]["traceEvents"] if "dur" in e and start <= e["ts"] < end]
    return {"name": f"{row['name']}, step {name.split('#')[1]}", "trace": {"traceEvents": events}}


def _draw_trace(axes, trace: dict, top: float) -> None:
    zero = _begin(trace)
    for _, start, _ in timeline.step_spans(trace):
        at = (start - zero) / 1e3
        axes.plot([at, at], [top, top + 3], color=INK, lw=0.8, zorder=3)
    for kind, colour in _HOST.items():
        spans = [(s, e) for k, s, e in timeline.host_spans(trace) if k == kind]
        _draw_spans(axes, spans, zero, top, colour)
    device = timeline.device_spans(trace)
    for lane, colour, kinds in (
        (1, COLOURS[0], ("kernel",)),
        (2, COLOURS[2], ("gpu_memcpy", "gpu_memset")),
    ):
        spans = [(s, e) for _, kind, s, e in device if kind in kinds]
        _draw_spans(axes, spans, zero, top + lane, colour)


def _draw_spans(axes, spans: list, zero: float, top: float, colour: str) -> None:
    bars = [((start - zero) / 1e3, (end - start) / 1e3) for start, end in spans]
    axes.broken_barh(bars, (top + 0.12, 0.76), color=colour, lw=0, zorder=2)


def _begin(trace: dict) -> float:
    return min(event["ts"] for event in trace["traceEvents"] if "dur" in event)


def _said(trace: dict) -> str:
    kernels = [span for span in timeline.device_spans(trace) if span[1] == "kernel"]
    end = max(event["ts"] + event["dur"] for event in trace["traceEvents"] if "dur" in event)
    steps = len(timeline.step_spans(trace))
    return f"{steps} steps and {len(kernels)} kernels in {(end - _begin(trace)) / 1e3:.1f} ms"


def overlap(found: dict, layers: Sequence[tuple[float, float]], title: str = "") -> Picture:
    """Draw the backward pass, a box for each layer, and below it the all-reduces of its buckets.

    found: dict with step_ms, exposed_ms and buckets (bytes, start_ms, end_ms).
    layers: (backward_ms, bytes) in the order of the forward pass; backward takes the last first.
    """
    total = sum(ms for ms, _ in layers)
    alt = (
        f"{title or 'Overlap'}: backward takes {total:.4g} ms, {len(found['buckets'])} all-reduces "
        f"end after {found['step_ms']:.4g} ms, {found['exposed_ms']:.4g} ms of it exposed"
    )
    with canvas(7.5, 2.2, alt) as (picture, axes):
        now = 0.0
        for ms, _ in reversed(layers):
            axes.barh([0], [ms], left=now, color=COLOURS[4], ec="white", lw=0.4, height=0.7)
            now += ms
        for bucket in found["buckets"]:
            start, end = bucket["start_ms"], bucket["end_ms"]
            axes.barh([1], [end - start], left=start, color=COLOURS[1], ec="white", height=0.7)
            if end - start > 0.1 * found["step_ms"]:
                label = f"{bucket['bytes'] / 1e6:.3g} MB"
                axes.text((start + end) / 2, 1, label, ha="center", va="center", fontsize=9)
        axes.axvline(now, color=QUIET, lw=1, ls=(0, (4, 3)))
        text = f"{found['exposed_ms']:.3g} ms exposed"
        axes.annotate(text, (now, -0.62), (4, 0), textcoords="offset points", color=QUIET)
        axes.set_yticks([0, 1], ["backward", "all-reduce"])
        axes.tick_params(axis="y", length=0)
        axes.set(ylim=(1.5, -0.9), xlabel="ms")
        axes.set_xlim(0, max(1.02 * found["step_ms"], now + 0.25 * found["step_ms"]))
        axes.set_title(title)
    return picture


def summed(causes: Iterable[dict[str, float]]) -> str:
    """Return causes of many gaps in one text, in ms; those of no time are left out."""
    total: dict[str, float] = {}
    for each in causes:
        for cause, us in each.items():
            total[cause] = total.get(cause, 0) + us / 1e3
    return ", ".join(f"{cause} {ms:.1f}" for cause, ms in total.items() if ms >= 0.05)


def median_step(row: dict) -> float:
    """Return the median of the steps of a trace, in ms."""
    return median(end - start for _, start, end in timeline.step_spans(row["trace"])) / 1e3


def layers_of(model: Callable, ms: float) -> list[tuple[float, int]]:
    """Return (ms of the backward pass, bytes of gradients) of each tensor of a model, in order.

    ms: of the whole pass; each tensor gets the same part of it.
    """
    with meta():
        sizes = [4 * math.prod(tensor.shape) for tensor in model().parameters()]
    return [(ms / len(sizes), size) for size in sizes]


def sent(rows: Sequence[dict]) -> list[int]:
    """Return the bytes of the all-reduces that traces tell, in their order; [] if they do not."""
    events = (event for row in rows for event in row["trace"]["traceEvents"])
    return [
        e["args"]["bytes"]
        for e in events
        if e["name"] == "record_param_comms" and "bytes" in e["args"]
    ]


# ── convolutions ─────────────────────────────────────────────────────────────────────────────


def by_shape(trace: dict) -> tuple[dict, dict[str, dict]]:
    """Return a trace in which each forward convolution bears its shapes, and these convolutions.

    The second is a dict: name → images and kernel (shapes), stride, padding, times (how often it
    is called), winograd (whether a kernel of it is called so). A trace tells no stride: it is the
    ratio of the sides of the images and of what comes back; padding is half of the kernel.
    """
    events = trace["traceEvents"]
    shaped = [e for e in events if "Input Dims" in e.get("args", {})]
    sides: dict[str, int] = {}
    for event in shaped:
        if event["name"] in _BACKWARD:
            first, second, kernel = event["args"]["Input Dims"][:3]
            images, after = (first, second) if _BACKWARD[event["name"]] else (second, first)
            sides[_named(images, kernel)] = after[-1]
    found: dict[str, dict] = {}
    names: dict[int, str] = {}
    for event in shaped:
        if event["name"] != "aten::cudnn_convolution":
            continue
        images, kernel = event["args"]["Input Dims"][:2]
        name = _named(images, kernel)
        if name not in sides:
            continue
        names[id(event)] = name
        row = {"images": images, "kernel": kernel, "padding": kernel[-1] // 2, "times": 0}
        row |= {"stride": images[-1] // sides[name], "winograd": _has_winograd(events, event)}
        found.setdefault(name, row)["times"] += 1
    named = [e | {"name": names[id(e)]} if id(e) in names else e for e in events]
    return trace | {"traceEvents": named}, found


def _has_winograd(events: Sequence[dict], op: dict) -> bool:
    """Return True if the op launched a kernel of Winograd's algorithm."""
    during = range(int(op["ts"]), int(op["ts"] + op["dur"]) + 1)
    calls = {
        e["args"]["correlation"]
        for e in events
        if e.get("cat") == "cuda_runtime" and e["tid"] == op["tid"] and int(e["ts"]) in during
    }
    fast = (e for e in events if e.get("cat") == "kernel" and "winograd" in e["name"])
    return any(e["args"]["correlation"] in calls for e in fast)


def _named(images: Sequence[int], kernel: Sequence[int]) -> str:
    """Return a convolution's name, such as "3×3, 64 → 64 on 56×56"."""
    k, (out, into), side = kernel[-1], kernel[:2], images[-1]
    return f"{k}×{k}, {into} → {out} on {side}×{side}"


def convolutions(
    layers: dict[str, dict], sheet: dict[str, float], dtype: str, title: str = ""
) -> Picture:
    """Draw the FLOP/s of convolutions over their FLOPs a byte, under the roofs of a data sheet.

    layers: of `by_shape`, with flops and us, of all their calls. sheet: FLOP/s of the dtype and
    dram's bytes/s. Bytes are those of images, kernel and result, each once.
    """
    item = 4 if dtype == "float32" else 2
    points: dict[bool, list] = {False: [], True: []}
    for name, layer in layers.items():
        batch, _, *sides = layer["images"]
        result = batch * layer["kernel"][0] * math.prod(side // layer["stride"] for side in sides)
        count = math.prod(layer["images"]) + math.prod(layer["kernel"]) + result
        intensity = layer["flops"] / layer["times"] / (item * count)
        points[layer["winograd"]].append((intensity, layer["flops"] / layer["us"] / 1e6, name))
    peak, rate = sheet[dtype] / 1e12, sheet["dram"] / 1e12
    above = "; ".join(f"{name} {y:.1f}" for _, y, name in points[True])
    alt = f"{title}: TFLOP/s over FLOPs a byte, roof {peak:.1f}. Winograd's: {above}"
    with canvas(8.6, 4.0, alt) as (picture, axes):
        ends = np.array([5, peak / rate, 3000])
        axes.plot(ends, np.minimum(rate * ends, peak), color=INK, lw=1.4)
        text, spot = f"data sheet: {peak:.1f} TFLOP/s", {"ha": "right", "va": "bottom"}
        axes.annotate(text, (3000, peak), (0, 4), textcoords="offset points", **spot)
        for fast, colour, label in (
            (False, COLOURS[0], "other kernels"),
            (True, COLOURS[1], "Winograd's kernels"),
        ):
            if points[fast]:
                x, y, _ = zip(*points[fast], strict=True)
                axes.plot(x, y, "o", color=colour, ms=6, label=label)
        for number, (x, y, name) in enumerate(sorted(points[True])):
            left = 2 * number < len(points[True])
            spot = {"va": "center", "ha": "right" if left else "left", "fontsize": 9}
            place = (-7 if left else 7, 0)
            axes.annotate(name, (x, y), place, textcoords="offset points", **spot)
        axes.set(xscale="log", xlim=(5, 3000), ylim=(0, 1.85 * peak))
        axes.set(xlabel="FLOPs a byte", ylabel="TFLOP/s by the textbook's count")
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
        axes.legend(loc="lower right", **_LEGEND)
        axes.set_title(_lines_of(title))
        axes.grid(axis="y")
    return picture


# ── memory ───────────────────────────────────────────────────────────────────────────────────


def allocations(rows: Sequence[dict], title: str = "") -> Picture:
    """Draw what was allocated over time, one row beside the other, stacked by who asked.

    rows: dicts with name and history.
    """
    drawn = {row["name"]: _stacked(row["history"]) for row in rows}
    groups = list(dict.fromkeys(g for _, layers in drawn.values() for g in layers))
    most = {
        name: max(map(sum, zip(*layers.values(), strict=True)))
        for name, (_, layers) in drawn.items()
    }
    said = "; ".join(f"{name} at most {peak / _MB:,.0f} MB" for name, peak in most.items())
    with canvas(8.6, 3.6, f"{title or 'Allocated memory'} by event. {said}") as (picture, axes):
        at = 0.0
        for name, (count, layers) in drawn.items():
            x = np.arange(count) / count + at
            values = [np.array(layers.get(group, [0] * count)) / _MB for group in groups]
            colours = [(*COLOURS[:7], QUIET, FAINT)[n % 9] for n in range(len(groups))]
            areas = axes.stackplot(x, values, colors=colours, lw=0)
            for area, group in zip(areas, groups, strict=True):
                area.set_label(group if at == 0 else f"_{group}")
            spot = {"ha": "center", "va": "bottom", "bbox": _CLEAR}
            axes.text(
                at + 0.5, 1.02 * most[name] / _MB, f"{name}: {most[name] / _MB:,.0f} MB", **spot
            )
            at += 1.12
        axes.set_xticks([])
        axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
        axes.set(xlabel="allocations and frees, in their order", ylabel="MB")
        axes.set(xlim=(0, at - 0.12), ylim=(0, 1.15 * max(most.values()) / _MB))
        order = axes.get_legend_handles_labels()
        beside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
        axes.legend(*(part[::-1] for part in order), **beside, **_LEGEND)
        axes.set_title(_lines_of(title))
        axes.grid(axis="y")
    return picture


def _stacked(history: Sequence[dict], most: int = 7) -> tuple[int, dict[str, np.ndarray]]:
    """Return how many events there are, and for each group its bytes after each event."""
    begun: dict[int, int] = {}
    blocks: list[list] = []  # group, bytes, first event, event that frees it
    for number, event in enumerate(history):
        if event["action"] == "alloc":
            begun[event["addr"]] = len(blocks)
            blocks.append(
                [event["frame"].removeprefix("aten::"), event["size"], number, len(history)]
            )
        elif event["addr"] in begun:
            blocks[begun.pop(event["addr"])][3] = number
    weight: dict[str, int] = {}
    for group, size, *_ in blocks:
        weight[group] = weight.get(group, 0) + size
    kept = sorted(weight, key=weight.get, reverse=True)[:most]
    names = [group for group in weight if group in kept] + ["others"]
    changes = {name: np.zeros(len(history) + 1, dtype=np.int64) for name in names}
    for group, size, first, last in blocks:
        drawn = changes[group if group in kept else "others"]
        drawn[first] += size
        drawn[last] -= size
    return len(history), {name: np.cumsum(drawn[:-1]) for name, drawn in changes.items()}


# ── steps and lines ──────────────────────────────────────────────────────────────────────────


def kept(rows: Sequence[dict]) -> list[dict]:
    """Return the rows that lead from the first to the last, each compared with the one before.

    rows: dicts with name and against, the name of the row that it is compared with, or None.
    """
    named, way = {row["name"]: row for row in rows}, [rows[-1]]
    while way[0]["against"] is not None:
        way.insert(0, named[way[0]["against"]])
    return way


def changed(before: dict, after: dict) -> str:
    """Return what differs between the switches of two rows, in words."""
    found = [f"{name}: {value}" for name, value in after.items() if before.get(name) != value]
    return ", ".join(found).replace("faults: []", "no faults") or "nothing"


def first_with(rows: Sequence[dict], switch: str) -> str:
    """Return the name of the first row in which a switch is on."""
    return next(row["name"] for row in rows if row["switches"].get(switch))


def waterfall(report: Sequence[dict], title: str = "") -> Picture:
    """Draw the images a second after each step of a report, and how much each step multiplied.

    report: dicts with name, images_per_s, step and total. The axis is logarithmic, so that two
    steps that multiply by the same are of one length.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    said = "; ".join(f"{r['name']} {r['images_per_s']:.0f}, ×{r['step']:.3g}" for r in report)
    alt = f"{title or 'Steps'} (images a second, and times the row before): {said}"
    with canvas(7.5, 1.0 + 0.42 * len(report), alt) as (picture, axes):
        before = report[0]["images_per_s"]
        rates = [row["images_per_s"] for row in report]
        for number, row in enumerate(report):
            rate = row["images_per_s"]
            low, high = sorted((before, rate))
            colour = COLOURS[2] if rate >= before else COLOURS[5]
            axes.barh([number], [high - low], left=low, color=colour, height=0.6, zorder=2)
            axes.plot([rate, rate], [number - 0.3, number + 1.3], color=QUIET, lw=1, zorder=1)
            text = f"{rate:.0f} images/s" + (f" · ×{row['step']:.3g}" if number else "")
            style = {"textcoords": "offset points", "va": "center", "bbox": _CLEAR}
            axes.annotate(text, (high, number), (7, 0), **style)
            before = rate
        axes.set_yticks(range(len(report)), [row["name"] for row in report])
        axes.tick_params(axis="y", length=0)
        axes.set(xscale="log", xlim=(min(rates) / 1.05, max(rates) * 1.45))
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 4, 6, 8)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
        axes.set(ylim=(len(report) - 0.4, -0.6), xlabel="images a second")
        axes.set_title(title)
        axes.grid(axis="x", which="both")
    return picture


def losses(rows: Sequence[dict], title: str = "") -> Picture:
    """Draw the loss of each run over its steps; a loss that was no number is a break.

    rows: dicts with name and losses.
    """
    lines = {}
    for row in rows:
        values = [float("nan") if loss is None else loss for loss in row["losses"]]
        lines[row["name"]] = range(len(values)), values
    picture = _lines(lines, "step", "loss", title)
    for line in picture.figure.axes[0].lines[1::2]:
        line.set_linestyle((0, (3, 3)))  # it may lie on the one before
    return picture


def break_even(rows: Sequence[dict], title: str = "") -> Picture:
    """Draw how far each run is ahead of the first over the steps done, compilation included.

    rows: dicts with name, compile_s and ms. A line crosses 0 where its compilation is paid.
    """
    first, *others = rows
    gains = [(r["compile_s"] - first["compile_s"], (first["ms"] - r["ms"]) / 1e3) for r in others]
    paid = [lost / gain for lost, gain in gains if gain > 0]
    steps = np.linspace(0, 1.5 * max(paid, default=1000), 2)
    lines = {
        row["name"]: (steps, (steps * gain - lost) / 60)
        for row, (lost, gain) in zip(others, gains, strict=True)
    }
    picture = _lines(lines, "steps", f"minutes ahead of {first['name']}", title)
    picture.figure.axes[0].axhline(0, color=INK, lw=1, zorder=1)
    return picture


def loader(rows: Sequence[dict], title: str = "") -> Picture:
    """Draw what the data loader alone delivers, by its workers.

    rows: dicts with workers, pin and images_s.
    """
    lines = {}
    for pin, name in ((False, "pageable memory"), (True, "pinned memory")):
        points = [(r["workers"], r["images_s"]) for r in rows if r["pin"] == pin]
        if points:
            lines[name] = tuple(zip(*points, strict=True))
    picture = _lines(lines, "workers", "images a second", title, mark="o")
    picture.figure.axes[0].set_ylim(bottom=0)
    return picture


def bus_bandwidth(rows: Sequence[dict], title: str = "") -> Picture:
    """Draw the bytes a second of an all-reduce of two processes over the bytes of the array.

    rows: dicts with backend, bytes and ms, a list; the fastest counts.
    """
    lines = {}
    for name in dict.fromkeys(row["backend"] for row in rows):
        mine = [row for row in rows if row["backend"] == name]
        rates = [row["bytes"] / min(row["ms"]) / 1e6 for row in mine]
        lines[name] = ([row["bytes"] for row in mine], rates)
    from matplotlib.ticker import EngFormatter

    picture = _lines(lines, "bytes of the array", "GB/s", title, mark="o")
    axes = picture.figure.axes[0]
    axes.set(xscale="log", yscale="log")
    axes.xaxis.set_major_formatter(EngFormatter(unit="B"))
    axes.yaxis.set_major_formatter("{x:g}")
    return picture


def _lines_of(title: str) -> str:
    """Return a title with each source in a line of its own, if it is long."""
    return title.replace(" · ", "\n", 1).replace("; ", ";\n") if len(title) > _TITLE else title


def _lines(lines: dict[str, tuple], x: str, y: str, title: str, mark: str = "") -> Picture:
    drawn = {name: list(zip(xs, ys, strict=True)) for name, (xs, ys) in lines.items()}
    said = lines_in_words(drawn, "{:.3g}".format, on_axis)
    with canvas(7.5, 3.6, f"{title or y}: {y} against {x}. {said}") as (picture, axes):
        for number, (name, (xs, ys)) in enumerate(lines.items()):
            style = {"color": (*COLOURS[:4], COLOURS[5], INK)[number % 6], "marker": mark or None}
            axes.plot(list(xs), list(ys), lw=1.4, ms=5, label=name, **style)
        axes.locator_params(axis="x", nbins=6)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda number, _: f"{number:,.6g}")
        axes.set(xlabel=x, ylabel=y)
        if len(lines) > 1:
            axes.legend(**_LEGEND)
        axes.set_title(_lines_of(title))
        axes.grid()
    return picture
