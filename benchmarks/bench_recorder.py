"""Cost of lesson 05's recorder over a bare run, beside the cost of cProfile.

    python benchmarks/bench_recorder.py           # all cases
    python benchmarks/bench_recorder.py resnet18  # those whose names contain one of these words

The recorder is the lesson's solution, taken by `proflab assemble`. In each round the bare run, the
recorded one and the one under cProfile take turns, so that a disturbance meets all three. Ratios
are of medians. What an op costs is from the fastest round of each, for other work only ever adds:
their difference, divided by the number of ops. Where a pass takes long, that difference is lost in
its spread, and only the ratio is printed.
"""

from __future__ import annotations

import cProfile
import os
import platform
import sys
import time
from collections.abc import Callable
from statistics import median

from record import recording
from solutions import assembled

import proflab
from proflab import models

PROMISED = "promised: the recorder < 10 µs an op, < 1.05× on ResNet-18"
LONG_MS = 20.0


def forward(model, shape: tuple) -> Callable:
    """Run a pass without gradients."""
    x = proflab.example_input(model.eval(), shape)

    def run() -> None:
        with proflab.no_grad():
            model(x)

    return run


def both(model, shape: tuple) -> Callable:
    """Run a forward and a backward pass."""
    x = proflab.example_input(model, shape)

    def run() -> None:
        model.zero_grad()
        model(x).sum().backward()

    return run


CASES = {  # name: (what to run, rounds)
    "30 tiny layers": (lambda: forward(models.MLP(*[16] * 31), (1, 16)), 300),
    "30 tiny layers, and back": (lambda: both(models.MLP(*[16] * 31), (1, 16)), 200),
    "LeNet-5, 8 images, and back": (lambda: both(models.LeNet5(), (8, 1, 32, 32)), 200),
    "resnet18, 224 × 224": (lambda: forward(models.resnet18(), (1, 3, 224, 224)), 40),
    "gpt2, 128 tokens": (lambda: forward(models.gpt2(), (1, 128)), 15),
    "gpt2, 128 tokens, and back": (lambda: both(models.gpt2(), (1, 128)), 8),
}


def seconds(run: Callable) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(run: Callable, rows_of: Callable, rounds: int) -> dict:
    """Return ops, the bare run's ms, and what the recorder and cProfile add."""
    ways = (run, lambda: rows_of(run), lambda: cProfile.Profile().runcall(run))
    ops = len(rows_of(run))
    times = [[seconds(way) for way in ways] for _ in range(rounds + 1)][1:]
    bare, recorded, traced = (median(column) for column in zip(*times, strict=True))
    least = [min(column) for column in zip(*times, strict=True)]
    more = [(least[i] - least[0]) / ops * 1e6 for i in (1, 2)]
    return {
        "ops": ops,
        "ms": bare * 1e3,
        "µs": more,
        "ratios": (recorded / bare, traced / bare),
    }


def main(wanted: list[str]) -> None:
    """Print a line for each case."""
    rows_of = assembled(through=5)["rows_of"]
    print(
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"{os.cpu_count()} processors; {PROMISED}"
    )
    print(f"{'':<30}{'ops':>6}{'bare':>11}{'recorder':>20}{'cProfile':>20}")
    for name, (make, rounds) in CASES.items():
        if wanted and not any(word in name for word in wanted):
            continue
        found = measure(make(), rows_of, rounds)
        parts = ""
        for us, ratio in zip(found["µs"], found["ratios"], strict=True):
            parts += f"{us:>8.1f} µs/op" if found["ms"] < LONG_MS else " " * 14
            parts += f"{ratio:>7.2f}×"
        print(f"{name:<30}{found['ops']:>6}{found['ms']:>8.2f} ms{parts}", flush=True)


if __name__ == "__main__":
    with recording(__file__, "Recorder: its cost"):
        main(sys.argv[1:])
