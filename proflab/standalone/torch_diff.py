"""Compare two traces op by op: `my_profiler.py trace --diff BEFORE AFTER`, in the gate's words.

The times are those of the student's `ops_table`, the verdicts those of the student's `gate`. What
may not enter: a formula.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from proflab.lesson.cuda.timeline import DEVICE
from proflab.lesson.words import many, shortened
from proflab.standalone.tables import print_table
from proflab.standalone.torch_files import Trace, read_trace

NEEDED_TO_DIFF = {"ops_table": "11_gpu_training", "gate": "08_benchmarking"}
_TOLERANCE = 0.05
_SHOWN = 10
_CALL = "\0"  # between an op's name and the number of its call


def report_diff(names: dict[str, Any], before: Path, after: Path) -> None:
    """Print the ops whose own time differs most, each with the gate's verdict on its calls.

    The n-th call before is compared with the n-th after. Where an op has not as many calls in both,
    or too few of them, it is "unclear".
    """
    traces = [read_trace(path) for path in (before, after)]
    on_card = all(any(e["cat"] in DEVICE for e in trace.events) for trace in traces)
    key = "self_gpu_us" if on_card else "self_cpu_us"
    old, new = (own_times(names, trace, key) for trace in traces)
    both = sorted(old.keys() & new.keys())
    gained = {name: sum(new.get(name, [])) - sum(old.get(name, [])) for name in {*old, *new}}
    most = sorted(gained, key=lambda name: (-abs(gained[name]), -sum(old.get(name, [])), name))
    rows = []
    for name in most[:_SHOWN]:
        first, second = old.get(name, []), new.get(name, [])
        verdict = _verdict(names, first, second, len(both)) if name in both else "–"
        counts = (f"{len(times):,}" for times in (first, second))
        times = (f"{sum(times) / 1e3:,.3f}" for times in (first, second))
        rows.append((shortened(name), *counts, *times, verdict))
    where = "on the card" if on_card else "on the host"
    totals = [sum(map(sum, times.values())) / 1e3 for times in (old, new)]
    print(f"{before}: {totals[0]:,.2f} ms {where}; {after}: {totals[1]:,.2f} ms")
    print_table([("op", "calls", "then", "itself, ms", "then", "verdict"), *rows])
    print(f"\ncall by call; {_TOLERANCE:.0%} are too small to matter, false alarms", end=" ")
    print(f"are shared by {many(len(both), 'op')}; what ran once says nothing of a busy machine")
    for path, trace in zip((before, after), traces, strict=True):
        for note in trace.notes:
            print(f"note: {path}: {note}")


def own_times(names: dict[str, Any], trace: Trace, key: str) -> dict[str, list[float]]:
    """Return op → the own time of each of its calls in µs, in order, as ops_table counts."""
    named = [e | {"name": f"{e['name']}{_CALL}{n:09}"} for n, e in enumerate(trace.events)]
    found: dict[str, list[float]] = {}
    for row in names["ops_table"]({"traceEvents": named}):
        if row[key]:
            found.setdefault(row["name"].partition(_CALL)[0], []).append(row[key])
    return found


def _verdict(
    names: dict[str, Any], before: list[float], after: list[float], comparisons: int
) -> str:
    if len(before) != len(after):
        return "unclear"
    try:
        return names["gate"](before, after, _TOLERANCE, comparisons)
    except ValueError:  # too few calls for so many comparisons
        return "unclear"
