"""Run and draw what the demo cells of lesson 07 show.

Nothing here does what an exercise asks for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from proflab import example_input
from proflab.lesson.plot import COLOURS, INK, QUIET, Picture, canvas, short
from proflab.lesson.recorded import median_rows

Point = tuple[str, float, float, float]  # model, bound, corrected, measured; all in ms


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
    places = np.resize(following, reads)
    taken, best = np.empty_like(places), float("inf")
    for _ in range(5):
        start = time.perf_counter()
        np.take(following, places, out=taken, mode="clip")
        best = min(best, time.perf_counter() - start)
    return best / reads * 1e9


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
