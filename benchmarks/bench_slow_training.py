"""Measure what the three fixes of lesson 09's training step gain, each alone and together.

    python benchmarks/bench_slow_training.py        # 30 batches
    python benchmarks/bench_slow_training.py 100    # so many: 17 MB each

The fixed step is the lesson's solution, taken by `proflab assemble`; a fix alone is that step with
the two other faults put back. All train on each batch, in lesson 08's mirrored order and on one
thread; the intervals are lesson 08's, of paired ratios. CPU time is printed beside: other work on
the machine disturbs it less. Promised: at least 2.5 times as fast with all three.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from multiprocessing import get_context
from pathlib import Path

from record import recording
from solutions import assembled

sys.path.insert(0, str(Path(__file__).parents[1] / "modules" / "09_optimization"))

import demos  # noqa: E402

PROMISED = 2.5
CLOCKS = {"wall": time.perf_counter, "CPU": time.process_time}


def main(rounds: int) -> None:
    """Print a line for each fix, by the wall clock and by the time of the process."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"{os.cpu_count()} processors{load}; promised: {PROMISED}× with all three"
    )
    for clock in CLOCKS:  # in a process of its own: memory that was freed is not new any more
        with get_context("fork").Pool(1) as pool:
            print(pool.apply(timed, (clock, rounds)), flush=True)


def timed(clock: str, rounds: int) -> str:
    """Return a line for each fix by one of the clocks."""
    names = assembled(through=9)
    tools = names["run_order"], names["speedup_interval"]
    rows = demos.time_fixes(names["fixed_step"], rounds, *tools, clock=CLOCKS[clock])
    lines = ["  {name:<20}{speedup:6.2f}× ({low:.2f} to {high:.2f})".format(**row) for row in rows]
    return "\n".join([f"{clock} time, {rounds} batches of 32", *lines])


if __name__ == "__main__":
    with recording(__file__, "A slow training script made fast"):
        main(int(sys.argv[1]) if sys.argv[1:] else 30)
