"""What lesson 03's demo cells try their functions on: models, fresh processes, scripted services.

The student's own functions come in as arguments. What may not enter: what a test cell needs.
"""

from __future__ import annotations

import math
import os
import pstats
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from cProfile import Profile
from itertools import product
from statistics import fmean, stdev
from typing import Any

import numpy as np

from proflab import Tensor, example_input, models, nn
from proflab.lesson import doubles

_Rule = Callable[[list[float]], tuple[float, float]]

# A service: its first calls, and then twelve again and again, of which one is disturbed.
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


def lenet(images: int = 1) -> tuple[nn.Module, Tensor]:
    """Return LeNet-5 and a batch of so many images: (images, 1, 32, 32)."""
    model = models.LeNet5()
    return model, example_input(model, (images, 1, 32, 32))


def small_models() -> dict[str, tuple[nn.Module, Tensor]]:
    """Return models whose calls are over in about 0.1 to 10 ms, each with an input."""
    perceptron = models.MLP(784, 256, 10)
    return {
        "LeNet-5, 1 image": lenet(1),
        "LeNet-5, 32 images": lenet(32),
        "MLP, 32 images": (perceptron, example_input(perceptron, (32, 784))),
    }


def tiny_layer() -> tuple[nn.Module, Tensor]:
    """Return a layer from 2 to 2 and an input (1, 2): over in microseconds."""
    layer = nn.Linear(2, 2)
    return layer, example_input(layer, (1, 2))


def first_calls(calls: int = 20) -> list[float]:
    """Return the ms of LeNet-5's first calls, one image each, in a Python that starts anew."""
    path = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = [sys.executable, "-c", _FIRST_CALLS.format(calls=calls)]
    return [float(line) for line in subprocess.check_output(program, env=path).split()]


# ── on the scripted clock ────────────────────────────────────────────────────────────────────


def on_clock(
    timer: AbstractContextManager, tick_ns: int, ms: float = 0.4, calls: int = 200
) -> list[float]:
    """Return `timer.elapsed_ms` for each of `calls` calls of `ms`, on a clock of such steps."""
    clock = doubles.Clock(tick_ns=tick_ns)
    work = doubles.Model(clock, ms=[ms])

    def watched() -> Iterator[float]:
        for _ in range(calls):
            with timer:
                work(0)
            yield timer.elapsed_ms

    return clock.run(lambda: list(watched()))


def on_service(way: Callable[[Any], float], times: int = 12) -> list[float]:
    """Return what `way(model)` says of a scripted service, from cold on, so many times."""
    clock = doubles.Clock()
    model = doubles.Model(clock, ms=SERVICE_MS, cold_ms=COLD_MS)
    return clock.run(lambda: [way(model) for _ in range(times)])


def ten(latency: Callable, model: Callable) -> list[float]:
    """Return the ms of ten calls, each by itself and with no warm-up, by measure_latency."""
    return [latency(model, 0, warmup=0, iterations=1) for _ in range(10)]


def by_wall_clock(model: Callable) -> float:
    """Return the ms of one call by time.time, which others may set meanwhile."""
    began = time.time()
    model(0)
    return 1000 * (time.time() - began)


# ── intervals and warnings put to the test ───────────────────────────────────────────────────

DRAWS: dict[str, tuple[Callable, dict[str, float]]] = {  # n times, and what is true of all
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
    """Return the interval of textbooks for the mean of normally distributed times, at 95 %."""
    half = 1.96 * stdev(times) / math.sqrt(len(times))
    return fmean(times) - half, fmean(times) + half


def coverage(
    rules: dict[str, tuple[_Rule, str]], sizes: Sequence[int], trials: int
) -> dict[tuple[str, str], dict[int, float]]:
    """Return how often intervals hold what they promise: {(rule, distribution): {n: share}}.

    rules: {name: (interval of a list of times, what it is to hold: "median" or "mean")}.
    Each trial draws n skewed times, the same for all rules, of which median and mean are known.
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
    """Return five series of sixty made-up ms, around 4, with the clock's step: {name: (…)}.

    The first is a good one; each of the others has one fault.
    """
    calls, noise = np.arange(60), 0.05 * np.random.default_rng(1).standard_normal(60)
    series = {
        "in peace": 4 + noise,
        "beside other work": 4 + 14 * noise,
        "disturbed once": 4 + noise + 2.5 * (calls == 23),
        "growing hot": 4 + noise + 0.02 * calls,
        "clock of 1 ms": np.round(4 + 6 * noise),
    }
    steps = {"clock of 1 ms": 1.0}
    return {name: (times.tolist(), steps.get(name, 1e-4)) for name, times in series.items()}


# ── a profile ────────────────────────────────────────────────────────────────────────────────


def own_time(profile: Profile, most: int = 8) -> dict[str, float]:
    """Return shares of own time: the functions with most of it, and all others together."""
    own: dict[str, float] = {}
    for (file, _, function), (_, _, seconds, _, _) in pstats.Stats(profile).stats.items():
        name = f"{os.path.basename(file)}: {function}".removeprefix("~: ")[:46]
        own[name] = own.get(name, 0.0) + seconds
    slowest = sorted(own, key=own.get, reverse=True)[:most]
    shares = {name: own[name] / sum(own.values()) for name in slowest}
    return shares | {"all others": 1 - sum(shares.values())}
