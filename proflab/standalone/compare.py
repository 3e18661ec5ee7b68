"""Compares two commands: `my_profiler.py compare BEFORE AFTER`, and `gate` with a verdict for a CI.

Each call is a fresh process, in the student's order; the student's functions judge the times. What
may not enter: a formula.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from proflab.lesson.hardware import this_machine

COMMANDS = ("compare", "gate")
# What is called here, and the lesson in which it is written.
NEEDED_TO_COMPARE = {
    "run_order": "08_benchmarking",
    "speedup_interval": "08_benchmarking",
    "gate": "08_benchmarking",
}
STOPS = {"slower"}  # the verdicts with which `gate` ends with 1
STOPS_IF_STRICT = {"slower", "unclear"}


def compare(names: dict[str, Any], file: str, arguments: Sequence[str]) -> int:
    """Run `compare` or `gate` as the arguments say; return the exit status.

    Returns 0, or 1 where the gate stops a change. Raises ValueError, with a sentence, for what
    cannot be compared.
    """
    parser = _parser(file, arguments[0])
    given = parser.parse_args(arguments[1:])
    gated = arguments[0] == "gate"
    if gated and len(given.versions) == 1:
        times = read_times(Path(given.versions[0]))
    elif len(given.versions) == 2:
        times = time_commands(names, given.versions, given.rounds)
    else:
        parser.error("give two commands" + (", or one file of times" if gated else ""))
    if given.output:
        given.output.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")
    found = _judge(names, times, given) if gated else _summarize(names, times)
    print(json.dumps(found) if given.json else _sentence(found))
    stops = gated and found["verdict"] in (STOPS_IF_STRICT if given.strict else STOPS)
    return 1 if stops else 0


def time_commands(names: dict[str, Any], commands: Sequence[str], rounds: int) -> dict[str, Any]:
    """Return the ms of each run of two commands, after one of each that is not counted.

    Raises ValueError for a command that cannot be run or that fails.
    """
    versions = dict(zip(("before", "after"), commands, strict=True))
    order = names["run_order"](list(versions), rounds)
    times: dict[str, Any] = {name: [] for name in versions}
    for command in versions.values():
        _time_run(command)
    for name in order:
        times[name].append(_time_run(versions[name]))
    return times | {"commands": versions, "machine": this_machine().sentences()}


def read_times(path: Path) -> dict[str, Any]:
    """Return the times in a file that `-o` wrote, or that holds lists "before" and "after" in ms.

    Raises ValueError for a file that does not.
    """
    try:
        times = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}") from None
    lists = [times.get(name) for name in ("before", "after")] if isinstance(times, dict) else [None]
    for values in lists:
        numbers = isinstance(values, list) and all(
            isinstance(ms, (int, float)) and not isinstance(ms, bool) for ms in values
        )
        if not numbers:
            raise ValueError(f'{path} needs two lists of times in ms, "before" and "after"')
    return times


def _time_run(command: str) -> float:
    words = shlex.split(command)
    if not words:
        raise ValueError("a command is empty: give one that can be run")
    start = time.perf_counter_ns()
    try:
        ended = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        raise ValueError(f"{command!r} cannot be run: {error.strerror}") from None
    ms = (time.perf_counter_ns() - start) / 1e6
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["it wrote no error"])[-1]
        raise ValueError(f"{command!r} failed with {ended.returncode}: {last}")
    return ms


def _summarize(names: dict[str, Any], times: dict[str, Any], confidence: float = 0.95) -> dict:
    """Return what a comparison says: medians, the speed-up and its interval."""
    before, after = times["before"], times["after"]
    found = names["speedup_interval"](before, after, confidence)
    return {
        "before_ms": median(before),
        "after_ms": median(after),
        **{key: float(found[key]) for key in ("speedup", "low", "high")},
        "confidence": confidence,
        "rounds": len(before),
    }


def _judge(names: dict[str, Any], times: dict[str, Any], given: argparse.Namespace) -> dict:
    """Return the comparison at the gate's confidence, with its verdict."""
    before, after = times["before"], times["after"]
    verdict = names["gate"](before, after, given.tolerance, given.comparisons)
    summary = _summarize(names, times, 1 - 0.05 / given.comparisons)
    bounds = {"tolerance": given.tolerance, "comparisons": given.comparisons}
    return {"verdict": verdict} | summary | bounds


def _sentence(found: dict[str, Any]) -> str:
    verdict = f"{found['verdict']}: " if "verdict" in found else ""
    return (
        f"{verdict}{found['before_ms']:.4g} ms before, {found['after_ms']:.4g} ms after; "
        f"{found['speedup']:.3f} times as fast ({found['low']:.3f} to {found['high']:.3f}, "
        f"{found['confidence']:.4g} sure, {found['rounds']} rounds)"
    )


def _parser(file: str, command: str) -> argparse.ArgumentParser:
    about = {
        "compare": "Time two commands in fresh processes, in mirrored order, and compare them.",
        "gate": "Say whether a change is faster, slower, the same or unclear. Ends with 1 where it "
        "is slower, with 0 otherwise, and with 2 where nothing could be compared.",
    }
    parser = argparse.ArgumentParser(prog=f"{file} {command}", description=about[command])
    what = "two commands, before and after"
    what += ", or one file of times" if command == "gate" else ""
    parser.add_argument("versions", nargs="+", metavar="VERSION", help=what)
    parser.add_argument("--rounds", type=int, default=12, metavar="N", help="an even number (12)")
    parser.add_argument("-o", "--output", type=Path, help="keep the times in this file, as JSON")
    parser.add_argument("--json", action="store_true", help="print JSON, for a program to read")
    if command == "gate":
        share = "too small to matter, as a share (0.05)"
        parser.add_argument("--tolerance", type=float, default=0.05, metavar="T", help=share)
        many = "gates that share the 5 %% of false alarms (1)"
        parser.add_argument("--comparisons", type=int, default=1, metavar="N", help=many)
        parser.add_argument("--strict", action="store_true", help="end with 1 if unclear, too")
    return parser
