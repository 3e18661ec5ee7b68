"""Compares two commands: `my_profiler.py compare BEFORE AFTER`, and `gate` with a verdict for a CI.

Each call is a fresh process, in the student's order, and so is a third command that does nothing
but start up. The student's functions judge the times. What may not enter: a formula.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any

from proflab.lesson.hardware import this_machine
from proflab.standalone.arguments import positive, share
from proflab.standalone.pinned import with_threads
from proflab.standalone.svg import digits

COMMANDS = ("compare", "gate")
# What is called here, and the lesson in which it is written.
NEEDED_TO_COMPARE = {
    "run_order": "08_benchmarking",
    "speedup_interval": "08_benchmarking",
    "gate": "08_benchmarking",
}
START_UP = "start_up"  # what is timed beside the two commands
_SHELL = {"|", "||", "&&", "&", ";", "<", ">", ">>", "2>&1"}
STOPS = {"slower"}  # the verdicts with which `gate` ends with 1
STOPS_IF_STRICT = {"slower", "unclear"}
_ms = partial(digits, count=4)


def compare(names: dict[str, Any], file: str, arguments: Sequence[str]) -> int:
    """Run `compare` or `gate` as the arguments say; return the exit status.

    Returns 0, or 1 where the gate stops a change. Raises ValueError, with a sentence, for what
    cannot be compared.
    """
    gated = arguments[0] == "gate"
    given = _parser(file, arguments[0]).parse_args(arguments[1:])
    times = begin_times(given)
    if gated:
        found = _run_gate(names, times, given)
    else:
        time_rounds(names, times, given.rounds)
        found = _summarize(names, times)
    found |= _notes(times)
    print(json.dumps(found) if given.json else "\n".join([_sentence(found), *found["notes"]]))
    stops = gated and found["verdict"] in (STOPS_IF_STRICT if given.strict else STOPS)
    return 1 if stops else 0


def begin_times(given: argparse.Namespace) -> dict[str, Any]:
    """Return what is known before the first round: commands, machine, and no times yet.

    Each command runs once, uncounted. Raises ValueError for one that cannot be run or that fails.
    """
    commands = {START_UP: given.start_up, "before": given.before, "after": given.after}
    machine = this_machine()
    for command in commands.values():
        _time_run(command, given.threads)
    return {name: [] for name in commands} | {
        "cpu_ms": {name: [] for name in commands},
        "commands": commands,
        "threads": given.threads,
        "load": machine.load,
        "processors": machine.limit or machine.processors,
    }


def time_rounds(names: dict[str, Any], times: dict[str, Any], rounds: int) -> None:
    """Add the ms of so many rounds, in the student's order, to the times."""
    for name in names["run_order"](list(times["commands"]), rounds):
        ms, cpu_ms = _time_run(times["commands"][name], times["threads"])
        times[name].append(ms)
        times["cpu_ms"][name].append(cpu_ms)


def _run_gate(names: dict[str, Any], times: dict[str, Any], given: argparse.Namespace) -> dict:
    """Run `--rounds` rounds and, where they leave it unclear, `--most`; return the verdict.

    Two looks at the times share the 5 % of false alarms, as two comparisons do.
    """
    if given.most % 2:
        raise ValueError(f"--most must be even, not {given.most}")
    time_rounds(names, times, given.rounds)
    if given.most <= given.rounds:
        return _judge(names, times, given)
    try:
        found = _judge(names, times, given, looks=2)
    except ValueError:  # too few rounds for so many comparisons
        found = {}
    if found.get("verdict", "unclear") != "unclear":
        return found
    time_rounds(names, times, given.most - given.rounds)
    return _judge(names, times, given, looks=2)


def _time_run(command: str, threads: int) -> tuple[float, float]:
    """Return the ms of a fresh process on so many threads, and its CPU ms (0 where not known)."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"{command!r} cannot be read: {error}") from None
    if not words:
        raise ValueError("a command is empty: give one that can be run")
    if signs := _SHELL & {*words}:
        raise ValueError(f"{command!r} has {min(signs)}, for a shell: write sh -c '…'")
    before, start = _children_ms(), time.perf_counter_ns()
    try:
        ended = subprocess.run(
            words,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=with_threads(threads),
        )
    except OSError as error:
        raise ValueError(f"{command!r} cannot be run: {error.strerror}") from None
    ms = (time.perf_counter_ns() - start) / 1e6
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["it wrote no error"])[-1]
        raise ValueError(f"{command!r} failed with {ended.returncode}: {last}")
    return ms, _children_ms() - before


def _children_ms() -> float:
    """Return the CPU ms of all processes that this one has started and seen end; else 0."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


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


def _judge(
    names: dict[str, Any], times: dict[str, Any], given: argparse.Namespace, looks: int = 1
) -> dict:
    """Return the comparison at the gate's confidence, with its verdict."""
    before, after, comparisons = times["before"], times["after"], given.comparisons * looks
    verdict = names["gate"](before, after, given.tolerance, comparisons)
    summary = _summarize(names, times, 1 - 0.05 / comparisons)
    bounds = {"tolerance": given.tolerance, "comparisons": given.comparisons}
    return {"verdict": verdict} | summary | bounds


def _notes(times: dict[str, Any]) -> dict[str, Any]:
    """Return the time of start-up and the load, and what is to be said of them."""
    start, before, after = (median(times[name]) for name in (START_UP, "before", "after"))
    shorter = min(before, after)
    left = f", which leaves {_ms(before - start)} ms before and {_ms(after - start)} after"
    notes = [f"start-up: {_ms(start)} ms{left if start < shorter else ''}"]
    if start > shorter / 2:
        part = min(start / shorter, 1)
        warning = "hides most of a change: let each run do more work"
        notes.append(f"warning: start-up is {part:.0%} of the shorter time, and {warning}")
    found: dict[str, Any] = {"start_up_ms": start}
    cpu = {name: median(times["cpu_ms"][name]) for name in ("before", "after")}
    if all(cpu.values()):  # not so where the system does not tell it
        found["cpu_ms"] = cpu
        notes.append("CPU time: {} ms before, {} ms after".format(*map(_ms, cpu.values())))
    load, processors = times["load"], times["processors"]
    found["load"] = load
    known = ["unknown" if value is None else value for value in (load, processors)]
    notes.append("load: {} on {} processors at first".format(*known))
    if load is not None and processors is not None and load > processors / 2:
        busy = "warning: other programs keep this machine busy"
        notes.append(f"{busy}: close them for a narrower interval")
    return found | {"notes": notes}


def _sentence(found: dict[str, Any]) -> str:
    verdict = f"{found['verdict']}: " if "verdict" in found else ""
    return (
        f"{verdict}{_ms(found['before_ms'])} ms before, {_ms(found['after_ms'])} ms after; "
        f"{found['speedup']:.3f} times as fast ({found['low']:.3f} to {found['high']:.3f}, "
        f"{found['confidence']:.4g} sure, {found['rounds']} rounds)"
    )


def _parser(file: str, command: str) -> argparse.ArgumentParser:
    about = {
        "compare": "Time two commands in fresh processes, in mirrored order, and compare them.",
        "gate": "Say whether a change is faster, slower, the same or unclear. Ends with 1 where it "
        "is slower, with 0 otherwise (unclear: 1 with --strict), and with 2 where nothing could be "
        "compared.",
    }
    parser = argparse.ArgumentParser(prog=f"{file} {command}", description=about[command])
    add = parser.add_argument
    add("before", metavar="BEFORE", help="a command")
    add("after", metavar="AFTER", help="the command that it is compared with")
    add("--rounds", type=int, default=12, metavar="N", help="an even number (12)")
    add("--threads", type=positive, default=1, metavar="N", help="of matrix products (1)")
    empty = shlex.join([sys.executable, "-c", "pass"])
    about_start = "a command that starts up and does nothing (python -c pass)"
    add("--start-up", default=empty, metavar="COMMAND", help=about_start)
    add("--json", action="store_true", help="print JSON, for a program to read")
    if command == "gate":
        most = "rounds in all where it is unclear after --rounds (36)"
        add("--most", type=int, default=36, metavar="N", help=most)
        small = "too small to matter, as a share (0.05)"
        add("--tolerance", type=share, default=0.05, metavar="T", help=small)
        many = "gates that share the 5 %% of false alarms (1)"
        add("--comparisons", type=positive, default=1, metavar="N", help=many)
        add("--strict", action="store_true", help="end with 1 if unclear, too")
    return parser
