"""Run and draw what the demo cells of lesson 07 show.

Nothing here does what an exercise asks for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from proflab import Tensor, example_input, models, no_grad
from proflab.lesson import measuring, noise, plot
from proflab.lesson.demo import demo_size
from proflab.lesson.hardware import Hardware, this_machine
from proflab.lesson.measuring import on_threads
from proflab.lesson.plot import COLOURS, INK, QUIET, Picture, canvas, short
from proflab.lesson.recorded import median_rows

Point = tuple[str, float, float, float]  # model, bound, corrected, measured; all in ms
Shape = tuple[int, ...]
Measure = Callable[..., float]  # as lesson 03's measure_latency, or one of lesson 06's
# MIT 6.172, lecture 1: seconds of a product of 4,096 × 4,096, by order of the loops and by version.
IN_C = {
    "ikj": 177.68,
    "kij": 179.21,
    "ijk": 1155.77,
    "jik": 1080.61,
    "kji": 3032.82,
    "jki": 3056.63,
}
MIT_LADDER = {
    "Python": 21_041.67,
    "Java": 2387.32,
    "C": 1155.77,
    "loops in the order ikj": 177.68,
    "optimizing compiler": 54.63,
    "parallel loops": 3.04,
    "tiles": 1.79,
    "divide and conquer": 1.30,
    "vector instructions": 0.70,
}


def growing() -> Iterator[tuple[str, Sequence[int], Callable, Callable]]:
    """Yield three models that grow: name, two sizes, model of a size, input shape of a size."""
    block = lambda n: models.transformers.Block(768, 12, True)  # noqa: E731
    for name, sizes, make, shape in (
        ("MLP, width", (512, 2048), lambda n: models.MLP(n, n, n), lambda n: (8, n)),
        ("ResNet-18, side", (56, 224), lambda n: models.resnet18(), lambda n: (1, 3, n, n)),
        ("GPT-2 block, tokens", (128, 512), block, lambda n: (1, n, 768)),
    ):
        small, large = demo_size(sizes, (32, 64))
        yield f"{name}: {small:,} → {large:,}", (small, large), make, shape


def timed_batches(
    latency: Measure, sizes: Sequence[int]
) -> tuple[dict[int, noise.Measured], list[list[float]]]:
    """Time LeNet-5 at these batch sizes in rounds: each size's median, and every round's times."""
    lenet = models.LeNet5().eval()
    inputs = [example_input(lenet, (size, 1, 32, 32)) for size in sizes]
    with no_grad(), on_threads(1):
        rounds = [
            [latency(lenet, x, warmup=3, iterations=9) for x in inputs]
            for _ in range(demo_size(5, 2))
        ]
    return {n: noise.measured(ms) for n, *ms in zip(sizes, *rounds, strict=True)}, rounds


def batches(
    measured: Mapping[int, float], cost: Mapping[str, float], guess: float | None = None
) -> Picture:
    """Draw measured latencies by batch, the fitted line, the half batch, and the guess of it."""
    sizes = list(measured)
    line = {n: cost["overhead_ms"] + cost["per_sample_ms"] * n for n in sizes}
    half = cost["half_batch"]
    said = "; ".join(f"{n}: measured {measured[n]:.3g}, fitted {line[n]:.3g}" for n in sizes)
    with canvas(7.5, 3.8, f"LeNet-5, ms a batch by its size. {said}. Half batch {half:.2f}") as (
        picture,
        axes,
    ):
        axes.plot(list(line), list(line.values()), color=INK, lw=1.2, label="fitted")
        axes.plot(sizes, list(measured.values()), "o", color=COLOURS[0], ms=7, label="measured")
        if half > 0:
            axes.axvline(half, color=COLOURS[5], lw=1.2, ls=(0, (4, 3)), label=f"n½ = {half:.2g}")
        if isinstance(guess, (int, float)) and guess > 0:
            top = max(measured.values())
            look = {"mfc": "white", "mec": INK, "ms": 8, "label": "your guess of n½"}
            axes.plot([guess], [top], "D", **look)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.15g}")
        axes.yaxis.set_major_formatter(lambda number, _: short(number))
        axes.set(xlabel="images in a batch", ylabel="ms a batch")
        axes.set_title("LeNet-5: a batch shares its overhead")
        axes.legend(frameon=False, loc="lower right")
        axes.grid()
    return picture


def own_machine(
    peak_flops: Measure, bandwidth: Measure, latency: Measure
) -> tuple[Hardware, noise.Measured]:
    """Measure this machine's two roofs and the ms of an operation on one number; print all three.

    peak_flops, bandwidth: as lesson 06's measure_peak_flops and measure_bandwidth.
    """
    size = measuring.beyond_caches(this_machine().caches, demo_size(2**28, 2**26))
    roof = Hardware(peak_flops(repeats=5), bandwidth(size, repeats=5))
    one = Tensor([1.0])
    each = [latency(lambda x: x + one, one, iterations=100) for _ in range(5)]
    overhead = noise.tell("an operation's overhead", each, "ms")
    print(f"{roof.peak_flops / 1e9:.0f} GFLOP/s, {roof.bandwidth / 1e9:.1f} GB/s", end=", ")
    print(f"{overhead * 1000:.1f} µs an operation")
    return roof, overhead


def models_at_sizes() -> Iterator[tuple[str, Any, Callable[[], Any], list[Shape]]]:
    """Yield three models with the shapes of their inputs: name, model, its maker, shapes."""
    small = demo_size(lambda: models.gpt2("small"), lambda: models.GPT2(97, 64, 48, 2, 4))
    images, sides, tokens = demo_size(
        ((1, 4, 16, 64, 128), (64, 96, 128, 176, 224), (8, 16, 32, 64, 128)),
        ((1, 2, 4), (32, 48, 64), (8, 16, 32)),
    )
    for name, make, shapes in (
        ("LeNet-5", models.LeNet5, [(n, 1, 32, 32) for n in images]),
        ("ResNet-18", models.resnet18, [(1, 3, n, n) for n in sides]),
        ("GPT-2 small", small, [(1, n) for n in tokens]),
    ):
        yield name, make().eval(), make, shapes


def prediction_lines(points: Sequence[Point], bound: float, corrected: float) -> str:
    """Return `error_lines`, and what is predicted for GPT-2 XL with 128 tokens."""
    factors = f"{corrected:,.0f} ms with the factors of GPT-2 small"
    whole = f"GPT-2 XL, 128 tokens, here: {bound:,.0f} ms by the bound, {factors}"
    return "\n".join([*error_lines(points), whole])


def error_lines(points: Sequence[Point]) -> list[str]:
    """Return for each model the errors of both predictions, and measured / bound by size."""
    found = []
    for name in dict.fromkeys(model for model, *_ in points):
        own = [values for model, *values in points if model == name]
        off = [[predicted[at] / predicted[2] - 1 for predicted in own] for at in (0, 1)]
        bare, better = (median(map(abs, errors)) for errors in off)
        said = f"median error {bare:.0%} by the bound, {better:.0%} with one size recorded"
        found.append(f"{name}: {said} (from {min(off[1]):+.0%} to {max(off[1]):+.0%})")
        factors = ", ".join(f"{ms / bound:.2f}" for bound, _, ms in own)
        found.append(f"    measured / bound, from the smallest size to the largest: {factors}")
    return found


def error_sentence(points: Sequence[Point]) -> str:
    """Return the errors of the predictions that one recorded pass corrects, in a sentence."""
    errors: dict[str, list[float]] = {}
    for model, _, corrected, ms in points:
        errors.setdefault(model, []).append(corrected / ms - 1)
    each = [f"{model} {median(map(abs, off)):.0%}" for model, off in errors.items()]
    every = [error for off in errors.values() for error in off]
    ends = f"at worst {min(every):+.0%} and {max(every):+.0%}"
    medians = f"median errors after one recorded pass are {', '.join(each)}"
    return f"In the opening picture, {medians}; {ends}."


def diagonal(
    points: Sequence[Point], title: str = "Predicted and measured, one thread", caption: str = ""
) -> Picture:
    """Draw measured against predicted ms: open marks for the bound, filled ones corrected.

    caption: stands below the axes, such as the machine on which the points were measured.
    """
    models = list(dict.fromkeys(model for model, *_ in points))
    said = "; ".join(
        f"{model} measured {ms:.3g}, bound {bound:.3g}, corrected {corrected:.3g}"
        for model, bound, corrected, ms in points
    )
    with canvas(7.0, 4.7, f"{title} (ms). {said}") as (picture, axes):
        every = [value for _, *values in points for value in values]
        ends = min(every) / 1.6, max(every) * 1.6
        axes.plot(ends, ends, color=QUIET, lw=1.2, zorder=1)
        for model, mark, colour in zip(models, "osD", COLOURS, strict=False):
            own = [values for name, *values in points if name == model]
            bound, corrected, ms = zip(*own, strict=True)
            open_mark = {"mfc": "none", "mec": colour, "ms": 7, "mew": 1.5}
            axes.plot(bound, ms, mark, **open_mark, label=f"{model}: bound")
            axes.plot(corrected, ms, mark, color=colour, ms=7, label=f"{model}: one pass recorded")
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda number, _: f"{number:,.15g}")
        axes.set(xlim=ends, ylim=ends, xlabel="predicted ms", ylabel="measured ms")
        axes.set_title(title)
        if caption:
            axes.figure.supxlabel(caption, x=0.01, ha="left", fontsize=8, color=QUIET)
            picture.alt += f". {caption}"
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.02))
        axes.grid()
    return picture


def orders(
    misses: Mapping[str, int],
    published: Mapping[str, float],
    here: Mapping[str, float],
    size: int,
    steps: int = 2,
) -> Picture:
    """Draw, for each order of the loops, its misses and seconds as multiples of the least.

    steps: of the `size` outer steps here, so many were run.
    """
    scaled = f"scaled up from {steps} of {size:,} outer steps"
    series = {
        "misses, 32 × 32": misses,
        "seconds in C, 4,096 × 4,096 (MIT 6.172)": published,
        f"seconds here, {size:,} × {size:,},\n{scaled}": here,
    }
    ratios = {
        name: [values[order] / min(values.values()) for order in misses]
        for name, values in series.items()
    }
    said = "; ".join(
        f"{name}: ".replace("\n", " ")
        + ", ".join(f"{order} {r:.3g}" for order, r in zip(misses, row, strict=True))
        for name, row in ratios.items()
    )
    with canvas(7.5, 4.0, f"Six orders of three loops, times the best. {said}") as (picture, axes):
        for index, (name, row) in enumerate(ratios.items()):
            places = [at + 0.27 * (index - 1) for at in range(len(row))]
            axes.bar(places, row, width=0.25, color=COLOURS[index], label=name)
            for place, value in zip(places, row, strict=True):
                axes.text(place, value + 0.25, f"{value:.3g}", ha="center", fontsize=8)
        axes.set_xticks(range(len(misses)), list(misses))
        axes.tick_params(axis="x", length=0)
        axes.set(ylabel="times the best order", xlabel="loops, from the outermost to the innermost")
        axes.set_title("Six orders of the same three loops")
        axes.legend(frameon=False, loc="upper left")
    return picture


def order_lines(
    misses: Mapping[str, int], here: Mapping[str, noise.Measured], size: int, steps: int
) -> str:
    """Return a line for each order: its misses, its seconds in C, and its seconds here."""
    lines = [
        f"{order}: {misses[order]:>6,} misses, {seconds:>8,.0f} s in C, "
        f"{noise.shown(here[order], 's here')}"
        for order, seconds in IN_C.items()
    ]
    return "\n".join([*lines, f"(here: scaled up from {steps} of {size:,} outer steps)"])


def timed_order(order: str, n: int, steps: int) -> noise.Measured:
    """Return the median of `rounds_of_order`, with its interval."""
    return noise.measured(rounds_of_order(order, n, steps))


def seconds_of_order(order: str, n: int, steps: int) -> float:
    """Return the quicker of two runs of `rounds_of_order`."""
    return min(rounds_of_order(order, n, steps, rounds=2))


def rounds_of_order(order: str, n: int, steps: int, rounds: int = 3) -> list[float]:
    """Time n × n products in this order of loops, the innermost one run by numpy.

    Only so many steps of the outermost loop are run; their seconds are scaled up to all n.
    """
    rng = np.random.default_rng(3)
    a, b, c = rng.random((n, n)), rng.random((n, n)), np.zeros((n, n))
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        multiply_in_order(order, a, b, c, steps)
        found.append((time.perf_counter() - start) / steps * n)
    return found


def multiply_in_order(order: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, steps: int) -> None:
    """Add a · b to c in this order of loops, so many steps of the outermost one."""
    outer, middle, inner = order
    for first in range(steps):
        for second in range(len(a)):
            at = {outer: first, middle: second}
            if inner == "j":
                c[at["i"]] += a[at["i"], at["k"]] * b[at["k"]]
            elif inner == "k":
                c[at["i"], at["j"]] += a[at["i"]].dot(b[:, at["j"]])
            else:
                c[:, at["j"]] += a[:, at["k"]] * b[at["k"], at["j"]]


def chain(length: int) -> np.ndarray:
    """Return an array in which each number is the place of the next: one round visits all places.

    The places follow one another at random.
    """
    order = np.random.default_rng(5).permutation(length)
    following = np.empty(length, np.int64)
    following[order] = np.roll(order, -1)
    return following


def chased_ns(following: np.ndarray, reads: int) -> float:
    """Time reads of which each needs the one before it; return ns a read."""
    places, place = memoryview(following), 0
    start = time.perf_counter()
    for _ in range(reads):
        place = places[place]
    return (time.perf_counter() - start) / reads * 1e9


def gathered_ns(following: np.ndarray, reads: int) -> float:
    """Time as many reads at the same places, all known beforehand; return ns a read."""
    places = np.resize(following, reads).astype(np.intp)  # np.take's own type of an index
    taken, best = np.empty_like(following, shape=reads), float("inf")
    for _ in range(5):
        start = time.perf_counter()
        np.take(following, places, out=taken, mode="clip")
        best = min(best, time.perf_counter() - start)
    return best / reads * 1e9


def chase(largest: int, reads: int) -> tuple[noise.Measured, noise.Measured, float, dict]:
    """Time reads at random places of arrays of 2**14 bytes to less than 2**largest.

    Returns ns a read one after another in the fastest and in the largest array, ns of independent
    reads in the largest, and both as lines to draw, by KB.
    """
    chased, gathered = [], []
    for size in (2**power for power in range(14, largest)):
        follow = chain(size // 8)  # each number is the place of the next; one round visits all
        found = noise.measured([chased_ns(follow, reads) for _ in range(3)])
        chased.append((size / 1024, found))
        gathered.append((size / 1024, gathered_ns(follow, reads)))
    lines = {"one after another": chased, "independent": gathered}
    return min(ns for _, ns in chased), chased[-1][1], gathered[-1][1], lines


def timed_ladder(n: int, rounds: int) -> dict[str, noise.Measured]:
    """Return seconds of a product of n × n by name, from three Python loops to BLAS on all threads.

    The rungs on one thread are timed in turns.
    """
    rng = np.random.default_rng(7)
    a, b = (rng.random((n, n), np.float32) for _ in range(2))
    out, cells = np.empty_like(a), [(i, j) for i in range(n) for j in range(n)]
    rungs = {
        "three Python loops, ijk": (lambda: python_loops("ijk", a.tolist(), b.tolist()), 1),
        "three Python loops, ikj": (lambda: python_loops("ikj", a.tolist(), b.tolist()), 1),
        "n² dot products by numpy": (lambda: [a[i] @ b[:, j] for i, j in cells], 3),
        "n rows times a matrix": (lambda: [row @ b for row in a], 5),
        f"BLAS, {measuring.called(1)}": (lambda: np.matmul(a, b, out=out), 50),
    }
    with on_threads(1):
        rates = measuring.in_turns(measuring.best_time, rungs, rounds=rounds)
    blas = f"BLAS, {measuring.called(max(measuring.thread_counts()))}"
    rates |= measuring.in_turns(measuring.best_time, {blas: (lambda: np.matmul(a, b, out=out), 50)})
    busy = noise.is_busy()
    return {name: noise.Measured(m, low, high, busy) for name, (low, m, high) in rates.items()}


def ladder(rows: Sequence[Mapping[str, Any]], title: str) -> Picture:
    """Draw the share of each row of lesson 07's speedup_steps, with its step in the name."""
    shares = {f"{row['name']}: {row['step']:.2f} times": row["share"] for row in rows}
    unit = "share of the way, in logarithms"
    return plot.bars(shares, unit=unit, title=title, show="{:.0%}".format)


def python_loops(order: str, a: list[list[float]], b: list[list[float]]) -> list[list[float]]:
    """Multiply two matrices with three loops of Python, in the order "ijk" or "ikj"."""
    n = len(a)
    c = [[0.0] * n for _ in range(n)]
    for i in range(n):
        if order == "ijk":
            for j in range(n):
                for k in range(n):
                    c[i][j] += a[i][k] * b[k][j]
        else:
            for k in range(n):
                for j in range(n):
                    c[i][j] += a[i][k] * b[k][j]
    return c


def recorded_rows(recorder: Callable[[], Any], model: Any, shape: tuple[int, ...]) -> list[dict]:
    """Record three passes after a first one; return their rows, each with its median time.

    recorder: as lesson 05's OpRecorder, a context manager with `rows`.
    """
    x, passes = example_input(model, shape), []
    for _ in range(4):
        with recorder() as recording:
            model(x)
        passes.append((0.0, recording.rows))
    return median_rows(passes[1:])
