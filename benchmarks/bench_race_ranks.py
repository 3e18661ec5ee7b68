"""Compare how a race's programs rank by count, and by CPU time on this machine.

    python benchmarks/bench_race_ranks.py             # all races that are counted in ms
    python benchmarks/bench_race_ranks.py chain       # this one

The programs of a race are the given one, the ideas of the lesson's cohort, the solution and the
best that is known, at the visible size, all counted on DESK, which models a processor. Each is
replayed as the grader replays it, with one thread, in rounds that go through all of them forwards
and then backwards; its time is the median of CPU time. A gigabyte is written and freed before, and
freed memory is kept, so that no array gets new pages.
Kendall's tau is taken over the pairs whose counts differ by more than 1.5 times: the share of pairs
in the same order by both, less the share of the others. What lies nearer is not told apart. Of
each pair in another order it says which ops take most CPU time in both programs, with the ms that
DESK counts for them and those that they take. A processor of today reads several times DESK's 10
GB/s, from memory and more so from its caches; then what an op computes, and that it begins, weighs
more.
"""

from __future__ import annotations

import os
import sys

# One thread; and the memory of freed arrays is kept, for new pages cost more than what is counted.
# The heap grows all the same where an array does not fit a gap by some bytes: see `main`.
_QUIET = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
_QUIET |= {"MALLOC_MMAP_THRESHOLD_": str(2**32), "MALLOC_TRIM_THRESHOLD_": str(2**32)}
if __name__ == "__main__" and not _QUIET.items() <= os.environ.items():
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | _QUIET)

import statistics  # noqa: E402
import time  # noqa: E402
from collections import Counter  # noqa: E402
from collections.abc import Callable, Iterator, Mapping  # noqa: E402
from dataclasses import dataclass, field, replace  # noqa: E402
from functools import partial  # noqa: E402
from itertools import combinations  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from record import recording  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "helpers")]

from cohort.run import solved  # noqa: E402
from race_programs import programs, raced, races  # noqa: E402

from proflab.lesson.race.cost import MACHINES, Cost, cost  # noqa: E402
from proflab.lesson.race.known import draw  # noqa: E402
from proflab.lesson.race.replay import Reading, walk  # noqa: E402
from proflab.lesson.race.tape import Refused, inputs_of  # noqa: E402
from proflab_course.cases.race import Race  # noqa: E402

NEAR = 1.5  # times: programs whose counts are nearer than this are not ranked
ROUNDS = 15
_HEAP = 2**30  # bytes
_TOLD = 2  # ops of a program
_SECONDS = 0.01  # of a sample, at least


@dataclass(frozen=True)
class Ranked:
    """Hold a program's count and its CPU ms; ops: by op, how often, its count and its CPU ms."""

    count: float
    measured: float
    ops: Mapping[str, tuple[int, float, float]] = field(default_factory=dict)


Programs = dict[str, Ranked]  # by a program's name


def main() -> None:
    """Print a table for each race, and tau for all of them."""
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    signs: dict[str, list[int]] = {}
    np.ones(_HEAP, "uint8")
    for lesson, name in timed_races():
        if not wanted or name in wanted:
            signs[name] = show(f"{lesson[-2:]} {name}", ranked(lesson, name))
    print("Kendall's tau:", ", ".join(f"{name} {mean(found):.2f}" for name, found in signs.items()))
    every = [sign for found in signs.values() for sign in found]
    print(f"of all {len(every)} pairs: {mean(every):.2f}; {every.count(-1)} in another order")


def timed_races() -> Iterator[tuple[str, str]]:
    """Yield the lesson and the name of each race that is counted in ms."""
    for lesson, name in races():
        race = solved(lesson).tests[name][0].blocks[0].answers[-1].held
        if isinstance(race, Race) and "fast" not in race.options:
            yield lesson, name


def ranked(lesson: str, name: str, rounds: int = ROUNDS) -> Programs:
    """Return each program of a race with its count on DESK and its CPU ms."""
    counts: dict[str, Ranked] = {}
    calls = {}
    for sentence, code in programs(lesson, name):
        answer, tape, scope = raced(lesson, name, code)
        options = {key: answer.held.options[key] for key in ("memory",) if key in
                   answer.held.options}  # fmt: skip
        try:
            paid = cost(list(tape), MACHINES["DESK"], scope["op_facts"], **options)
        except Refused:
            continue
        inputs = draw(inputs_of(tape), 1, "normal", answer.held.options.get("draws") or {})
        calls[sentence] = partial(walk, list(tape), inputs, reading=Reading(tape))
        counts[sentence] = Ranked(paid.ms, 0.0, by_op(paid, calls[sentence], rounds))
    times = in_turns(calls, rounds)
    return {each: replace(found, measured=times[each]) for each, found in counts.items()}


def by_op(paid: Cost, call: Callable, rounds: int) -> dict[str, tuple[int, float, float]]:
    """Return by op how often it is run, its counted ms and its CPU ms, the median of rounds."""
    seconds: dict[str, list[float]] = {}
    for each in range(rounds):
        began = time.thread_time()

        def look(at: int, call: Any, result: Any, each: int = each) -> None:
            nonlocal began
            now = time.thread_time()
            seconds.setdefault(call.op, [0.0] * rounds)[each] += now - began
            began = time.thread_time()

        call(look)
    rows = [row for row in paid.rows if row["op"] in seconds and row["ms"]]
    often, counted = Counter(row["op"] for row in rows), Counter()
    for row in rows:
        counted[row["op"]] += row["ms"]
    return {op: (often[op], counted[op], 1e3 * statistics.median(seconds[op])) for op in counted}


def in_turns(calls: Mapping[str, Any], rounds: int) -> dict[str, float]:
    """Return the median CPU ms of each call, of rounds forwards and backwards."""
    often = {}
    for name, call in calls.items():
        call()
        often[name] = max(1, round(_SECONDS / max(1e-6, _seconds(call, 1))))
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name in [*calls, *reversed(calls)]:
            found[name].append(_seconds(calls[name], often[name]))
    return {name: 1e3 * statistics.median(seconds) for name, seconds in found.items()}


def _seconds(call: Any, times: int) -> float:
    began = time.thread_time()
    for _ in range(times):
        call()
    return (time.thread_time() - began) / times


def in_order(programs: Programs) -> dict[tuple[str, str], int]:
    """Return 1 for each pair of programs that both rank alike, -1 for any other; none too near."""
    return {
        (one, other): 1 if (a.count < b.count) == (a.measured < b.measured) else -1
        for (one, a), (other, b) in combinations(programs.items(), 2)
        if max(a.count, b.count) > NEAR * min(a.count, b.count)
    }


def mean(signs: list[int]) -> float:
    """Return Kendall's tau of pairs; 1 where there are none."""
    return sum(signs) / len(signs) if signs else 1.0


def show(title: str, programs: Programs) -> list[int]:
    """Print a race's programs, the dearest by count first; return what `in_order` says of them."""
    found = in_order(programs)
    signs = [*found.values()]
    print(f"{title}: tau {mean(signs):.2f}\n  {'ms on DESK':>10} {'CPU ms':>9}  program")
    for name, each in sorted(programs.items(), key=lambda item: -item[1].count):
        print(f"  {each.count:>10.4g} {each.measured:>9.4g}  {name}")
    for pair in (pair for pair, sign in found.items() if sign < 0):
        print(f"  in another order: {' / '.join(pair)}")
        for name in pair:
            ops = sorted(programs[name].ops.items(), key=lambda item: -item[1][2])[:_TOLD]
            told = (f"{n:,} × {op}, {ms:.3g} ms counted, {cpu:.3g}" for op, (n, ms, cpu) in ops)
            print(f"    {name}: {'; '.join(told)}")
    return signs


if __name__ == "__main__":
    with recording(__file__, "Races: how programs rank by count and by CPU time"):
        main()
