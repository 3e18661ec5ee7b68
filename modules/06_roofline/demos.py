"""Measure a machine's roofs, record models and draw both for the demo cells of lesson 06.

Roofs and rows come from the student's own functions and recorder, and are cached, so that a second
cell that asks for the same gets the same. The only formula here is the roof: the lower of two
lines.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from proflab import Tensor, example_input, models, no_grad
from proflab.lesson import machine, measuring, plot
from proflab.lesson.alt_text import lines_in_words
from proflab.lesson.demo import demo_size, rounds
from proflab.lesson.hardware import Cache, Hardware, in_bytes, this_machine
from proflab.lesson.measuring import Rates
from proflab.lesson.plot import COLOURS, FAINT, INK, QUIET, Picture, canvas
from proflab.lesson.recorded import Pass, Row, median_rows
from proflab.standalone.svg import rate

WALLS = ("compute", "ridge", "memory", "overhead")
_SUMMED = ("matmul_flops", "elementwise_flops", "bytes_read", "bytes_written", "self_ms")
_MARKS = "osD^vPX"
_DASHES = ((0, (4, 3)), (0, (1, 2)), (0, (6, 2, 1, 2)))

# ── what the student's functions find ────────────────────────────────────────────────────────


def times_one(destination: np.ndarray, source: np.ndarray) -> None:
    """Write as numpy's arithmetic does: a copy by a product with 1."""
    np.multiply(source, 1, out=destination)


def stream_rates() -> tuple[float, float, float]:
    """Return the best bytes/s in main memory of a copy, x · 1 and x + y, which take turns.

    Counted are the arrays' bytes, not what a store reads.
    """
    size = measuring.beyond_caches(this_machine().caches, demo_size(2**29, 2**26))
    x, y, out = (np.full(size // 16, value) for value in (1.0, 2.0, 3.0))
    programs = {
        lambda: np.copyto(out, x): 2,
        lambda: np.multiply(x, 1, out=out): 2,
        lambda: np.add(x, y, out=out): 3,
    }
    best = dict.fromkeys(programs, 0.0)
    for _ in range(demo_size(12, 3)):
        for program, arrays in programs.items():
            start = time.perf_counter()
            program()
            rate = arrays * x.nbytes / (time.perf_counter() - start)
            best[program] = max(best[program], rate)
    copied, one_in, two_in = best.values()
    return copied, one_in, two_in


def peaks(measure_peak_flops: Callable[..., float]) -> dict[str, Rates]:
    """Return the FLOP/s of products in four dtypes: {"float32, 1 thread": (low, middle, high)}.

    The two that a library computes are measured on one thread and on all.
    """

    def peak(dtype: str, threads: int, sizes: Sequence[int]) -> float:
        with measuring.on_threads(threads):
            return measure_peak_flops(sizes=sizes, dtype=dtype, repeats=demo_size(8, 2))

    large, small = demo_size((512, 1024), (128,)), (64, 96)
    threads = measuring.thread_counts()
    cases = [(dtype, n, large) for dtype in ("float32", "float64") for n in threads]
    cases += [("float16", 1, small), ("int32", 1, small)]
    named = {f"{dtype}, {measuring.called(n)}": (dtype, n, sizes) for dtype, n, sizes in cases}
    return measuring.in_turns(peak, named)


def addition_seconds(count: int) -> float:
    """Return the seconds of the fastest of many additions of two tensors of so many float32."""
    x, y = (Tensor(np.ones(count, np.float32)) for _ in range(2))
    with no_grad():
        return measuring.best_time(lambda: x + y, max(5, min(500, 2**26 // count)))


@cache
def measured_roofs(
    measure_peak_flops: Callable[..., float], measure_bandwidth: Callable[..., float]
) -> list[Hardware]:
    """Return this machine's roofs: one thread's, one thread's by np.copyto, and that of all."""
    size = measuring.beyond_caches(this_machine().caches, demo_size(2**29, 2**26))
    found = []
    for threads in measuring.thread_counts():
        name, copies = measuring.called(threads), {"": times_one}
        if threads == 1:
            copies[", np.copyto"] = np.copyto
        with measuring.on_threads(threads):
            least = (128,) if machine.TICK < machine.COARSE else (512,)
            peak = measure_peak_flops(sizes=demo_size((384, 512, 1024), least))
        for kind, copy in copies.items():
            side_by_side = measuring.copy_on(threads, copy)
            slope = measure_bandwidth(size, side_by_side, repeats=demo_size(20, 3))
            found.append(Hardware(peak, slope, name + kind, "measured here"))
    return found


@cache
def recorded_passes(
    name: str, recorder: Callable[[], Any], threads: int, seconds: float = 12
) -> list[Pass]:
    """Record forward passes of "GPT-2" or "ResNet-18" on so many threads: (ms, rows) of each.

    recorder: as lesson 05's OpRecorder, a context manager with `rows`. One pass is not recorded;
    then up to nine are, but at least three, as many as begin within so many seconds of the first.
    Raises ValueError for another name.
    """
    model, shape = _model(name)
    x, passes = example_input(model.eval(), shape), []
    with no_grad(), measuring.on_threads(threads):
        model(x)
        for _ in rounds(9, 3, least=3, seconds=seconds):
            with recorder() as recording:
                start = time.perf_counter()
                model(x)
                ms = (time.perf_counter() - start) * 1000
            passes.append((ms, recording.rows))
    return passes


def _model(name: str) -> tuple[Any, tuple[int, ...]]:
    """Return the model, and the shape of its input: one text, or one image."""
    if name == "GPT-2":
        sizes = demo_size(full=(50257, 1024, 768, 12, 12), small=(97, 32, 48, 2, 4))
        return models.GPT2(*sizes), (1, demo_size(128, 32))
    if name == "ResNet-18":
        return models.resnet18(), (1, 3, *demo_size((224, 224), (32, 32)))
    raise ValueError(f'there are "GPT-2" and "ResNet-18" here, not {name!r}')


def title_of(name: str, rows: Sequence[Row]) -> str:
    """Return what was recorded, as a title: the sizes are read off the rows, not typed."""
    shape, width = rows[0]["output_shape"], rows[-1]["input_shapes"][0][-1]
    if name == "GPT-2":
        small = " small" if width == 768 else f" of width {width}"
        return f"GPT-2{small}, {shape[0]} text of {shape[1]} tokens"
    side = rows[0]["input_shapes"][0]
    return f"{name}, {side[0]} image of {side[2]} × {side[3]}"


@cache
def recorded_rows(name: str, recorder: Callable[[], Any], threads: int = 1) -> list[Row]:
    """Return the rows of a pass, each with the median of its times over the passes."""
    return median_rows(recorded_passes(name, recorder, threads))


def alike(rows: Sequence[Row]) -> list[Row]:
    """Add up rows of the same op, shapes, and module but for its numbers: blocks.*.attn.

    Each also has its `share` of the time of all, 0 to 1, and a `label` that no other row has.
    """
    sums: dict[tuple, Row] = {}
    whole = sum(row["self_ms"] for row in rows)
    for row in rows:
        module = re.sub(r"\d+", "*", row["module"])
        key = row["op"], module, str(row["input_shapes"])
        total = sums.setdefault(key, row | {"module": module} | dict.fromkeys(_SUMMED, 0))
        for count in _SUMMED:
            total[count] += row[count]
    return [row | {"share": row["self_ms"] / whole, "label": _label(row)} for row in sums.values()]


def _label(row: Row) -> str:
    """Return op, module and shapes, without the batch: conv2d layer*.*.conv* 64·56·56 → …."""
    shapes = [*row["input_shapes"][:1], row["output_shape"]]
    sizes = ("·".join(map(str, shape[1:])) for shape in shapes)
    return f"{row['op']} {row['module']} {' → '.join(sizes)}".replace("  ", " ")


def points_with_shares(
    rows: Sequence[Row], roofline_points: Callable[..., list[dict]], roof: Hardware
) -> list[dict]:
    """Return the student's points of rows that are alike, each with its share of all time."""
    shared = [(row["share"], roofline_points([row], roof)) for row in alike(rows)]
    return [point | {"share": share} for share, points in shared for point in points]


def products_and_rest(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the ms of the rows that are matrix products, and of all others."""
    products = sum(row["self_ms"] for row in rows if row["matmul_flops"])
    return products, sum(row["self_ms"] for row in rows) - products


def recorded_step(name: str, recorder: Callable[[], Any]) -> dict[str, Any]:
    """Return what `inspect_step` asks for, of forward passes on one thread, but for the peak."""
    rows = recorded_rows(name, recorder)
    products, rest = products_and_rest(rows)
    return {
        "times_ms": [ms for ms, _ in recorded_passes(name, recorder, 1)],
        "busy_ms": products + rest,
        "matmul_ms": products,
        "matmul_flops": sum(row["matmul_flops"] for row in rows),
    }


# ── pictures ─────────────────────────────────────────────────────────────────────────────────


def flops(value: float) -> str:
    """Return FLOP/s in units: 312 TFLOP/s."""
    return rate(value, "FLOP/s")


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    x: str,
    y: str,
    title: str,
    show: Callable[[float], str] = lambda n: f"{n:,.0f}" if n >= 1000 else f"{n:.4g}",
    guess: tuple[float, float] | None = None,
) -> Picture:
    """Draw lines with their names apart, both axes logarithmic; guess: its place, and the guess."""
    picture = plot.curves(dict(series), x=x, y=y, log="xy", title=title, show=show)
    if guess and guess[1] > 0:
        _draw_guess(picture.figure.axes[0], *guess)
    return _names_apart(picture)


def additions(seconds: Mapping[str, Mapping[int, float]], guess: object) -> Picture:
    """Draw what additions of so many numbers take, in µs; guess: how many of 1,000 in a second."""
    series = {
        name: [(count / 1000, took * 1e6) for count, took in of.items()]
        for name, of in seconds.items()
    }
    place = 1.0, 1e6 / number(guess)
    return lines(series, "numbers, in thousands", "µs", "x + y, one thread", guess=place)


def number(guess: object) -> float:
    """Return the guess where it is a number above 0, else NaN, which no picture shows."""
    known = isinstance(guess, int | float) and not isinstance(guess, bool) and guess > 0
    return float(guess) if known else math.nan


def _draw_guess(axes: Any, x: float, y: float) -> None:
    look = {"mfc": "white", "mec": INK, "ms": 8, "zorder": 4, "label": "your guess"}
    axes.plot(x, y, "D", **look)
    axes.legend(frameon=False, handles=axes.lines[-1:], loc="lower right")


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


def ranges(
    rows: Mapping[str, Rates], unit: str, title: str, guess: tuple[str, float] | None = None
) -> Picture:
    """Draw a line a row from its lowest to its highest value, with a mark at the middle one.

    rows: name → (low, middle, high), the first on top. guess: (name, value), drawn in its row.
    """
    said = "; ".join(
        f"{name} {rate(middle, unit)} ({rate(low, unit)} to {rate(high, unit)})"
        for name, (low, middle, high) in rows.items()
    )
    most = max(high for *_, high in rows.values())
    with canvas(7.5, 1.1 + 0.36 * len(rows), f"{title}: {said}") as (picture, axes):
        for row, (low, middle, high) in enumerate(rows.values()):
            axes.plot([low, high], [row, row], color=COLOURS[0], lw=5, alpha=0.35, zorder=2)
            axes.plot(middle, row, "|", color=COLOURS[0], ms=13, mew=2.5, zorder=3)
            axes.annotate(
                rate(high, unit),
                (high, row),
                (8, 0),
                textcoords="offset points",
                va="center",
                bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"},
            )
        if guess and guess[1] > 0:
            _draw_guess(axes, guess[1], list(rows).index(guess[0]))
            most = max(most, guess[1])
        axes.set_yticks(range(len(rows)), list(rows))
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(lambda number, _: rate(number, unit) if number else "0")
        axes.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, 1.2 * most))
        axes.locator_params(axis="x", nbins=6)  # more of such labels would touch one another
        axes.set_title(title)
        axes.grid(axis="x", color=FAINT)
    return picture


def drops(rates: Mapping[int, Rates], caches: Sequence[Cache], call: float) -> str:
    """Return, as lines, how long a call takes, and for each cache if copies beyond are slower."""
    said = [f"a copy of 8 bytes takes {call * 1e9:.0f} ns, which is the call"]
    points = [(size, *found) for size, found in rates.items()]
    for cache_, inside, beyond, drop in measuring.drops(points, caches):
        verdict = "a drop" if drop else "no drop beyond the spread"
        speeds = f"{inside / 1e9:.1f} GB/s inside, {beyond / 1e9:.1f} GB/s beyond"
        said.append(f"L{cache_.level}, {in_bytes(cache_.size)}: {speeds}: {verdict}")
    return "\n".join(said)


def sweep(rates: Mapping[int, Rates], caches: Sequence[Cache], call: float) -> Picture:
    """Draw what copies of so many bytes reach, the spread shaded, caches' sizes as lines across.

    A second line, where it stays below what was reached: how fast each would be if it took no
    longer than the smallest, `call` seconds.
    """
    fastest = max(high for *_, high in rates.values())
    middles = {"a copy": [(at, mid) for at, (_, mid, _) in rates.items()]}
    said = lines_in_words(middles, lambda reached: rate(reached, "B/s"), in_bytes, "x")
    with canvas(8.6, 3.9, f"Copies by their size, read and written: {said}") as (picture, axes):
        for cache_ in caches:
            axes.axvline(cache_.size, color=QUIET, lw=1, ls=_DASHES[0], zorder=0)
            axes.annotate(
                f"L{cache_.level}",
                (cache_.size, 1),
                (3, -3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                va="top",
                color=QUIET,
                fontsize=9,
            )
        low, middle, high = zip(*rates.values(), strict=True)
        axes.fill_between(list(rates), low, high, color=COLOURS[0], alpha=0.25, lw=0)
        axes.plot(list(rates), middle, "o-", ms=5, color=COLOURS[0], label="np.copyto, one thread")
        bound = [(size, size / call) for size in rates if size / call < fastest]
        if bound:
            label = "if the call were all"
            axes.plot(*zip(*bound, strict=True), "s-", ms=5, color=COLOURS[1], label=label)
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(rates)[:: math.ceil(len(rates) / 9)])
        axes.xaxis.set_major_formatter(lambda number, _: in_bytes(number))
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda number, _: rate(number, "B/s") if number else "0")
        axes.set(xlabel="working set, both arrays", ylabel="read and written")
        axes.set(ylim=(0, 1.15 * fastest), title="Copies by their size")
        axes.grid(color=FAINT)
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return picture


def operations(points: Sequence[dict], roofs: Sequence[Hardware], title: str) -> Picture:
    """Draw points under the first of the roofs, both axes logarithmic; further roofs are thin.

    points: dicts with name (its first word is the kind, which has a colour and a mark), intensity,
    flops_per_second, and share of the time, 0 to 1, which sets the area.
    """
    title = f"{title}; area: share of the time"
    x, y = _limits(points, roofs)
    with canvas(9.4, 4.6, _said(points, roofs, title)) as (picture, axes):
        axes.set(xscale="log", yscale="log", xlim=x, ylim=y, xlabel="FLOPs a byte", ylabel="FLOP/s")
        looks = [{"color": INK, "lw": 2}, *({"color": QUIET, "lw": 1, "ls": ls} for ls in _DASHES)]
        for roof, look in zip(roofs, looks, strict=False):
            label = (
                f"{roof.name}:\n{rate(roof.peak_flops, 'FLOP/s')}, {rate(roof.bandwidth, 'B/s')}"
            )
            _draw_roof(axes, roof, label=label, **look)
        _draw_ridge(axes, roofs[0])
        _draw_points(axes, points)
        axes.yaxis.set_major_formatter(lambda number, _: rate(number, ""))
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.15g}")
        axes.set_title(title)
        axes.grid(color=FAINT, zorder=0)
        legend = axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.03))
        for handle in legend.legend_handles:
            if hasattr(handle, "set_sizes"):
                handle.set_sizes([45])
    return picture


def _limits(points: Sequence[dict], roofs: Sequence[Hardware]) -> tuple[tuple, tuple]:
    """Return where the axes begin and end, so that all points and each roof's corner are seen."""
    x = [p["intensity"] for p in points] + [_ridge(roof) for roof in roofs]
    y = [p["flops_per_second"] for p in points] + [roof.peak_flops for roof in roofs]
    left = 10 ** math.floor(math.log10(min(x) / 2))
    right = 10 ** math.ceil(math.log10(max(x) * 2))
    low = min([*y, *(max(left, _ridge(roof) / 100) * roof.bandwidth for roof in roofs)])
    return (left, right), (low / 2, max(y) * 3)


def _said(points: Sequence[dict], roofs: Sequence[Hardware], title: str) -> str:
    """Describe the picture in sentences."""
    above = "; ".join(
        f"{h.name}: {rate(h.peak_flops, 'FLOP/s')} and {rate(h.bandwidth, 'B/s')}, "
        f"meeting at {_ridge(h):.3g} FLOPs a byte"
        for h in roofs
    )
    at = "; ".join(
        f"{p['name']} {rate(p['flops_per_second'], 'FLOP/s')} at {p['intensity']:.3g}"
        for p in points[:12]
    )
    more = f"; and {len(points) - 12} more" if len(points) > 12 else ""
    return f"{title}. Roofs: {above}. Points: {at}{more}."


def _ridge(hardware: Hardware) -> float:
    return hardware.peak_flops / hardware.bandwidth


def _draw_roof(axes: Any, roof: Hardware, **look: Any) -> None:
    left, right = axes.get_xlim()
    ends = [left, min(max(_ridge(roof), left), right), right]
    axes.plot(ends, [min(roof.peak_flops, at * roof.bandwidth) for at in ends], zorder=1, **look)


def _draw_ridge(axes: Any, roof: Hardware) -> None:
    ridge, (low, _) = _ridge(roof), axes.get_ylim()
    axes.plot([ridge, ridge], [low, roof.peak_flops], color=QUIET, lw=0.8, ls=":", zorder=0)
    beside = {"textcoords": "offset points", "color": QUIET, "fontsize": 9}
    axes.annotate(f"ridge {ridge:.3g}", (ridge, low), (4, 5), **beside)


def _draw_points(axes: Any, points: Sequence[dict]) -> None:
    kinds = list(dict.fromkeys(p["name"].split()[0] for p in points))
    paints = plot.colours_of(kinds)
    for index, kind in enumerate(kinds):
        own = [p for p in points if p["name"].split()[0] == kind]
        axes.scatter(
            [p["intensity"] for p in own],
            [p["flops_per_second"] for p in own],
            s=[25 + 500 * p["share"] for p in own],
            color=paints[kind],
            marker=_MARKS[index] if index < len(_MARKS) else ".",
            edgecolors=INK,  # yellow is too light for a small mark on white
            linewidths=0.5,
            alpha=0.9,
            zorder=3,
            label=kind,
        )


def time_by_wall(rows_of: Mapping[str, Iterable[Mapping[str, Any]]]) -> Picture:
    """Draw a bar a model: how its rows' self_ms divide by their `wall`."""
    walls = {}
    for model, rows in rows_of.items():
        walls[model] = dict.fromkeys(WALLS, 0.0)
        for row in rows:
            walls[model][row["wall"]] += row["self_ms"]
    return plot.shares(walls, unit="ms of a forward pass", title="The wall at which time is spent")
