"""Measure and draw for the demo cells of lesson 03: models, scripted services, pictures.

Your own functions come in as arguments; nothing here does what an exercise asks for.
"""

from __future__ import annotations

import json
import math
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from cProfile import Profile
from itertools import product
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import numpy as np

from proflab import Tensor, example_input, models, nn
from proflab.lesson import doubles, machine
from proflab.lesson.alt_text import lines_in_words
from proflab.lesson.plot import (
    COLOURS,
    FAINT,
    INK,
    QUIET,
    STYLE,
    Picture,
    canvas,
    figure_class,
    on_axis,
    short,
)

Point = tuple[float, float, float, float]
_Rule = Callable[[list[float]], tuple[float, float]]
_DASHED = {"color": QUIET, "lw": 1, "ls": (0, (4, 3)), "zorder": 0}

# A service: two cold calls, and then these twelve again and again, one of them disturbed.
COLD_MS = [95.0, 21.0]
SERVICE_MS = [4.2, 4.0, 4.1, 4.0, 4.3, 4.1, 38.0, 4.0, 4.2, 4.1, 5.0, 4.1]

_FIRST_CALLS = """
import time
from proflab import example_input, models, no_grad
model = models.LeNet5()
x = example_input(model, (1, 1, 32, 32))
with no_grad():
    for _ in range({calls}):
        began = time.perf_counter()
        model(x)
        print(1000 * (time.perf_counter() - began))
"""


def recorded() -> list[float]:
    """Return the ms of 6,000 calls in order, recorded on a busy machine: calls.json is in µs."""
    file = Path(__file__).with_name("calls.json")
    return [us / 1000 for us in json.loads(file.read_text(encoding="utf-8"))]


# ── models ───────────────────────────────────────────────────────────────────────────────────


def lenet(images: int = 1) -> tuple[nn.Module, Tensor]:
    """Return LeNet-5 and a batch of images, (images, 1, 32, 32)."""
    model = models.LeNet5()
    return model, example_input(model, (images, 1, 32, 32))


def small_models() -> dict[str, tuple[nn.Module, Tensor]]:
    """Return models whose calls take about 0.1 to 10 ms, each with an input."""
    perceptron = models.MLP(784, 256, 10)
    return {
        "LeNet-5, 1 image": lenet(1),
        "LeNet-5, 32 images": lenet(32),
        "MLP, 32 images": (perceptron, example_input(perceptron, (32, 784))),
    }


def tiny_layer() -> tuple[nn.Module, Tensor]:
    """Return a layer from 2 to 2 and an input (1, 2): a call takes microseconds."""
    layer = nn.Linear(2, 2)
    return layer, example_input(layer, (1, 2))


def first_calls(calls: int = 20) -> list[float]:
    """Return the ms of LeNet-5's first calls, one image each, in a newly started Python."""
    machine.need("processes", "the first twenty calls of LeNet-5 in newly started Pythons")
    path = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = [sys.executable, "-c", _FIRST_CALLS.format(calls=calls)]
    return [float(line) for line in subprocess.check_output(program, env=path).split()]


def ns_a_call(
    timer: AbstractContextManager, call: Callable[[], Any], calls: int, samples: int = 25
) -> list[float]:
    """Return the ns of one call in each of `samples` samples of `calls` calls."""
    found = []
    for _ in range(samples):
        with timer:
            for _ in range(calls):
                call()
        found.append(1e6 * timer.elapsed_ms / calls)
    return found


def token_times(
    timer: AbstractContextManager, size: Sequence[int], rounds: Iterable[int]
) -> tuple[dict[str, list[float]], dict[str, list[float]], bool]:
    """Return the ms to the first token and of a further one, by way, and if both write the same.

    size: vocabulary, context, width, blocks and heads of a GPT-2; its prompt has 32 tokens.
    """
    gpt2 = models.GPT2(*size)
    prompt, written = example_input(gpt2, (1, 32)), set()
    first: dict[str, list[float]] = {"with a cache": [], "without": []}
    further: dict[str, list[float]] = {"with a cache": [], "without": []}
    for _ in rounds:
        for way in first:
            cached = way != "without"
            with timer:
                gpt2.generate(prompt, 1, use_cache=cached)
            one = timer.elapsed_ms
            with timer:
                tokens = gpt2.generate(prompt, 5, use_cache=cached)
            written.add(str(tokens.tolist()))
            first[way].append(one)
            further[way].append((timer.elapsed_ms - one) / 4)
    return first, further, len(written) == 1


# ── on the scripted clock ────────────────────────────────────────────────────────────────────


def on_clock(
    timer: AbstractContextManager, tick_ns: int, ms: float = 0.4, calls: int = 200
) -> list[float]:
    """Return `timer.elapsed_ms` for each of `calls` calls of `ms`, on a clock with such steps."""
    clock = doubles.Clock(tick_ns=tick_ns)
    work = doubles.Model(clock, ms=[ms])

    def watched() -> Iterator[float]:
        for _ in range(calls):
            with timer:
                work(0)
            yield timer.elapsed_ms

    return clock.run(lambda: list(watched()))


def on_service(way: Callable[[Any], float], times: int = 12) -> list[float]:
    """Return the results of `way(model)` on a scripted service, called again and again."""
    clock = doubles.Clock()
    model = doubles.Model(clock, ms=SERVICE_MS, cold_ms=COLD_MS)
    return clock.run(lambda: [way(model) for _ in range(times)])


def ten(latency: Callable, model: Callable) -> list[float]:
    """Return the ms of ten single calls without a warm-up, each by measure_latency."""
    return [latency(model, 0, warmup=0, iterations=1) for _ in range(10)]


def by_wall_clock(model: Callable) -> float:
    """Return the ms of one call by time.time, a clock that may be set meanwhile."""
    began = time.time()
    model(0)
    return 1000 * (time.time() - began)


# ── intervals and warnings put to the test ───────────────────────────────────────────────────

DRAWS: dict[str, tuple[Callable, dict[str, float]]] = {  # n times, and the true values
    "exponential": (
        lambda rng, n: rng.exponential(1.0, n),
        {"median": math.log(2), "mean": 1.0},
    ),
    "log-normal": (
        lambda rng, n: rng.lognormal(0.0, 1.5, n),
        {"median": 1.0, "mean": math.exp(1.125)},
    ),
}


def textbook(times: list[float]) -> tuple[float, float]:
    """Return the textbook 95 % interval for the mean of normally distributed times."""
    half = 1.96 * stdev(times) / math.sqrt(len(times))
    return fmean(times) - half, fmean(times) + half


def coverage(
    rules: dict[str, tuple[_Rule, str]], sizes: Sequence[int], trials: int
) -> dict[tuple[str, str], dict[int, float]]:
    """Return how often intervals hold the true value: {(rule, distribution): {n: share}}.

    rules: {name: (interval of a list of times, its true value: "median" or "mean")}.
    Each trial draws n skewed times, the same for all rules.
    """
    from tqdm import tqdm

    rng, found = np.random.default_rng(3), {}
    look = {"leave": False, "file": sys.stdout, "mininterval": 0.5}
    for (name, (draw, truth)), n in tqdm(list(product(DRAWS.items(), sizes)), **look):
        held = dict.fromkeys(rules, 0)
        for _ in range(trials):
            times = draw(rng, n).tolist()
            for rule, (interval, promised) in rules.items():
                low, high = interval(times)
                held[rule] += low <= truth[promised] <= high
        for rule, count in held.items():
            found.setdefault((rule, name), {})[n] = count / trials
    return found


def faulty() -> dict[str, tuple[list[float], float]]:
    """Return five made-up series, {name: (sixty ms around 4, the clock's step)}.

    The first is a good one; each of the others has one fault.
    """
    calls, noise = np.arange(60), 0.05 * np.random.default_rng(1).standard_normal(60)
    series = {
        "undisturbed": 4 + noise,
        "beside other work": 4 + 14 * noise,
        "disturbed once": 4 + noise + 2.5 * (calls == 23),
        "getting hot": 4 + noise + 0.02 * calls,
        "clock of 1 ms": np.round(4 + 6 * noise),
    }
    steps = {"clock of 1 ms": 1.0}
    return {name: (times.tolist(), steps.get(name, 1e-4)) for name, times in series.items()}


def own_time(profile: Profile, most: int = 8) -> dict[str, float]:
    """Return shares of own time: the functions with most of it, and all others together."""
    own: dict[str, float] = {}
    for (file, _, function), (_, _, seconds, _, _) in pstats.Stats(profile).stats.items():
        name = f"{os.path.basename(file)}: {function}".removeprefix("~: ")[:46]
        own[name] = own.get(name, 0.0) + seconds
    slowest = sorted(own, key=own.get, reverse=True)[:most]
    shares = {name: own[name] / sum(own.values()) for name in slowest}
    return shares | {"all others": 1 - sum(shares.values())}


# ── pictures ─────────────────────────────────────────────────────────────────────────────────


def ms(time: float) -> str:
    """Return a time as it fits beside a point: 0.171 · 4.5 · 35 · 1,495."""
    return f"{time:,.3g}" if abs(time) < 1000 else f"{time:,.0f}"


def runs(series: dict[str, Sequence[float]], *, title: str) -> Picture:
    """Draw times in ms in the order of the calls, a panel with its own scale for each series."""
    import matplotlib

    said = "; ".join(
        f"{name}: {len(times)} calls from {ms(min(times))} to {ms(max(times))}, "
        f"median {ms(median(times))}"
        for name, times in series.items()
    )
    with matplotlib.rc_context(STYLE):
        size = 9.6 / max(3, len(series)) * len(series), 2.6
        figure = figure_class()(figsize=size, layout="constrained")
        all_axes = figure.subplots(1, len(series), squeeze=False)[0]
        for axes, (name, times) in zip(all_axes, series.items(), strict=True):
            axes.plot(range(1, len(times) + 1), times, "o", ms=3.5, color=COLOURS[0])
            axes.axhline(median(times), **_DASHED)
            _scale(axes.yaxis, False, ms)
            axes.set_ylim(0, 1.15 * max(times))
            axes.set_title(name)
            axes.set_xlabel("call")
        all_axes[0].set_ylabel("ms")
        figure.suptitle(title, x=0.01, ha="left")
    return Picture(figure, f"{title} (ms, in order; dashed: the median). {said}")


def histogram(times: Sequence[float], marks: dict[str, float], *, title: str) -> Picture:
    """Draw how often each time in ms occurs, with `marks` as lines that the legend names.

    Both axes are logarithmic, because a tail is far out and rare.
    """
    said = ", ".join(f"{name} {ms(time)}" for name, time in marks.items())
    alt = f"{title}: {len(times)} times from {ms(min(times))} to {ms(max(times))} ms. {said}"
    with canvas(7.5, 3.6, alt) as (picture, axes):
        edges = np.geomspace(min(times) / 1.02, max(times) * 1.02, 70)
        axes.hist(times, bins=edges, color="#9cc5e0")
        looks = zip((COLOURS[0], COLOURS[5], COLOURS[3], INK), ("-", "--", "-.", ":"), strict=True)
        for (name, time), (colour, dashes) in zip(marks.items(), looks, strict=False):
            axes.axvline(time, color=colour, lw=1.6, ls=dashes, label=f"{name}  {ms(time)} ms")
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False)
        axes.set(xlabel="ms", ylabel="calls")
        _scale(axes.xaxis, True, ms)
        _scale(axes.yaxis, True, short)
        axes.set_title(title)
    return picture


def intervals(
    series: dict[str, Sequence[Point]],
    *,
    x: str,
    y: str,
    title: str,
    log: str = "",
    show: Callable[[float], str] = ms,
    guess: float | None = None,
) -> Picture:
    """Draw lines through points (x, middle, low, high), and a guessed x as a dashed line."""
    middles = {name: [point[:2] for point in points] for name, points in series.items()}
    said = lines_in_words(middles, show, on_axis, log)
    if isinstance(guess, bool) or not isinstance(guess, (int, float)) or not 0 < guess < 1e12:
        guess = None
    said += "" if guess is None else f"; your guess: {short(guess)}"
    with canvas(7.5, 3.8, f"{title}: {y} against {x}. {said}") as (picture, axes):
        for index, (name, points) in enumerate(series.items()):
            at, middle, low, high = zip(*points, strict=True)
            below = [m - lo for m, lo in zip(middle, low, strict=True)]
            above = [hi - m for m, hi in zip(middle, high, strict=True)]
            look = {"color": COLOURS[index % len(COLOURS)], "fmt": "osD^v"[index % 5] + "-"}
            axes.errorbar(at, middle, (below, above), ms=4, lw=1.2, capsize=2.5, label=name, **look)
        if guess is not None:
            axes.axvline(guess, color=INK, lw=1.2, ls=(0, (4, 3)), label="your guess")
        _scale(axes.xaxis, "x" in log, lambda number: f"{number:,.15g}")
        _scale(axes.yaxis, "y" in log, show)
        if "x" not in log:
            axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set(xlabel=x, ylabel=y)
        axes.set_title(title)
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15), "ncols": 2}
        axes.legend(frameon=False, **below)
        axes.grid()
    return picture


def spans(samples: Mapping[float, Sequence[float]], of: str, **look: Any) -> Picture:
    """Draw median, fastest and slowest of {x: times}; `of` says of what, `look` as in intervals."""
    points = [(x, median(each), min(each), max(each)) for x, each in samples.items()]
    return intervals({f"median, fastest and slowest of {of}": points}, **look)


def promises(
    held: Mapping[tuple[str, str], Mapping[int, float]],
    counted: Mapping[int, float],
    trials: int,
    *,
    title: str,
) -> Picture:
    """Draw what `coverage` found, with three standard errors, √(p·(1 − p)/trials), each way."""
    error = {n: 3 * math.sqrt(p * (1 - p) / trials) for n, p in counted.items()}
    lines = {
        f"{rule}, {name}": [(n, p, p - error[n], p + error[n]) for n, p in shares.items()]
        for (rule, name), shares in held.items()
    }
    look = {"x": "n", "y": "share that holds the truth", "show": "{:.0%}".format}
    return intervals(lines, log="x", title=title, **look)


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
    rows: Sequence[tuple[str, Sequence[float], Sequence[float]]], *, x: str, y: str, title: str
) -> Picture:
    """Draw named points with 95 % intervals both ways: (name, x and its bounds, y and its bounds).

    The first of each three numbers is the middle; its two bounds come in any order.
    """
    said = "; ".join(f"{name}: {ms(across[0])}, {short(up[0])}" for name, across, up in rows)
    with canvas(7.5, 3.8, f"{title}: {y} against {x}. {said}") as (picture, axes):
        for _name, across, up in rows:
            widths = [[across[0] - min(across)], [max(across) - across[0]]]
            heights = [[up[0] - min(up)], [max(up) - up[0]]]
            axes.errorbar(across[0], up[0], heights, widths, "o", color=COLOURS[0], capsize=2.5)
        for name, across, up in rows:
            beside = {"textcoords": "offset points"}
            axes.annotate(name, (across[0], up[0]), (6, -15), **beside)
        axes.plot([r[1][0] for r in rows], [r[2][0] for r in rows], color=FAINT, zorder=0)
        _scale(axes.xaxis, True, ms)
        _scale(axes.yaxis, False, short)
        axes.set_ylim(0, 1.15 * max(max(up) for _, _, up in rows))
        axes.set(xlabel=x, ylabel=y)
        axes.set_title(f"{title}, with 95 % intervals")
        axes.grid()
    return picture


def estimates(
    ways: dict[str, Sequence[float]],
    *,
    title: str,
    limits: tuple[float, float] | None = None,
    truth: float | None = None,
) -> Picture:
    """Draw the results in ms of each way of measuring, a row of dots each, and the true value.

    A result outside `limits` is written at that edge.
    """
    said = "; ".join(f"{name} {ms(min(v))} to {ms(max(v))}" for name, v in ways.items())
    known = "" if truth is None else f", true value {ms(truth)}"
    low, high = limits or (0, 1.1 * max(map(max, ways.values())))
    with canvas(7.5, 1.1 + 0.34 * len(ways), f"{title} (ms){known}. {said}") as (picture, axes):
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
        axes.set(xlim=(low, high), ylim=(len(ways) - 0.5, -0.75), xlabel="ms")
        axes.set_title(title, pad=14)
        axes.grid(axis="x")
    return picture


def tokens(
    first: Mapping[str, Sequence[float]], further: Mapping[str, Sequence[float]], *, title: str
) -> Picture:
    """Draw the ms of every round: {way: ms to the first token}, and the same of a further one."""
    rows = {f"first token, {way}": times for way, times in first.items()}
    rows |= {f"further token, {way}": times for way, times in further.items()}
    return estimates(rows, title=title)
