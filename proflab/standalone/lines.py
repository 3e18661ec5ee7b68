"""Say which lines of a program of plain Python or numpy take its time: `my_profiler.py lines FILE`.

The program runs unchanged. A timer of the system interrupts it each millisecond; what has passed
since the last time, of the clock and of the processor, is noted for the line that it is at. The
student's function adds up and sorts. What may not enter: a trace of each call, which slows calls.
"""

from __future__ import annotations

import argparse
import linecache
import os
import runpy
import signal
import sys
import sysconfig
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import proflab
from proflab.lesson.blas import on_threads
from proflab.standalone.arguments import positive
from proflab.standalone.pinned import begin_anew, on, threads_here
from proflab.standalone.tables import print_table, shortened

# What is called here, and the lesson in which it is written.
NEEDED_FOR_LINES = {"top_operations": "05_profiler"}
_EACH = 0.001  # s between two samples
_WIDE = 44  # characters of a line of code in the table
_ELSEWHERE = "outside of the program"
_FOREIGN = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
_OTHERS = """
A line's time is that of all it calls in Python's and others' code. For a tree of calls take
pyinstrument; for memory, Python apart from C, other threads and child processes take scalene."""


class Sampler:
    """Counts the ms, of the clock and of the processor, that each line of a program takes.

    It sees the main thread. file: the profiler's own, whose lines are none of the program's. `rows`
    has a row for each line, in the form of a recorder's.
    """

    def __init__(self, file: str) -> None:
        package = os.path.dirname(proflab.__file__)
        folders = [os.path.normcase(path) + os.sep for path in (*_FOREIGN, package)]
        self.foreign = (*folders, os.path.normcase(os.path.abspath(file)))
        self.own: dict[str, bool] = {}
        self.found: dict[tuple[str, int], list[float]] = {}
        self.samples = self.most_threads = 0

    def __enter__(self) -> Sampler:
        self.last = time.perf_counter(), time.process_time()
        self.former = signal.signal(signal.SIGALRM, self._note)
        signal.setitimer(signal.ITIMER_REAL, _EACH, _EACH)
        return self

    def __exit__(self, *error: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.former)

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.perf_counter(), time.process_time()
        while frame is not None and not self._is_own(frame.f_code.co_filename):
            frame = frame.f_back
        place = (frame.f_code.co_filename, frame.f_lineno or 0) if frame else (_ELSEWHERE, 0)
        sums = self.found.setdefault(place, [0.0, 0.0])
        for i in range(2):
            sums[i] += (now[i] - self.last[i]) * 1e3
        self.last = now
        self.samples += 1
        self.most_threads = max(self.most_threads, threading.active_count())

    def _is_own(self, file: str) -> bool:
        """Return True for a file of the program: not Python's, nor installed, nor the profiler."""
        if file not in self.own:
            path = os.path.normcase(os.path.abspath(file))
            own = not file.startswith(("<", "carried:")) and not path.startswith(self.foreign)
            self.own[file] = own
        return self.own[file]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each line: its place as op, and its ms by the clock as self_ms."""
        return [
            {"op": _place(*place), "module": "", "self_ms": wall, "cpu_ms": cpu}
            for place, (wall, cpu) in self.found.items()
        ]


def _place(file: str, line: int) -> str:
    return f"{Path(file).name} line {line}" if line else file


def profile_lines(names: dict[str, Any], file: str, arguments: Sequence[str]) -> int:
    """Run a program and print its lines of most time; return its exit status.

    Raises ValueError, with a sentence, for what is no program, and where there is no such timer.
    """
    given = _parser(file).parse_args(arguments[1:])
    if not hasattr(signal, "setitimer"):
        raise ValueError("lines needs a timer that this system has not: take pyinstrument")
    if not given.program.is_file():
        raise ValueError(f"{given.program} is no file: give the program to run, as prog.py")
    begun = begin_anew(arguments, given.threads)
    if begun is not None:
        return begun
    sampler = Sampler(names.get("__file__", file))
    start = time.perf_counter(), time.process_time()
    with on_threads(given.threads), sampler:
        threads = threads_here()
        status = _run(given.program, given.words)
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    sys.stdout.flush()
    print(f"\n{given.program}: {wall:,.2f} s, CPU time {cpu:,.2f} s; {on(threads)}")
    _print_lines(names, sampler, given.top)
    for sentence in _doubts(sampler, wall, cpu):
        print(sentence)
    print(_OTHERS)
    return status


def _parser(file: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{file} lines",
        description="Run a program of Python, unchanged, and say which of its lines take the time. "
        "Matrix products are on one thread. " + " ".join(_OTHERS.split()),
    )
    add = parser.add_argument
    add("--top", type=positive, default=10, metavar="N", help="lines to print (10)")
    add("--threads", type=positive, default=1, metavar="N", help="of matrix products (1)")
    add("program", type=Path, metavar="FILE.py", help="the program")
    add("words", nargs=argparse.REMAINDER, metavar="…", help="its own arguments")
    return parser


def _run(program: Path, words: list[str]) -> int:
    """Run a program as `python program words` does, and return its exit status."""
    before = sys.argv, sys.path[:]
    sys.argv = [str(program), *words]
    sys.path.insert(0, str(program.resolve().parent))
    try:
        runpy.run_path(str(program), run_name="__main__")
    except SystemExit as stopped:
        if isinstance(stopped.code, str):
            print(stopped.code, file=sys.stderr)
        return stopped.code if isinstance(stopped.code, int) else int(bool(stopped.code))
    except Exception:
        traceback.print_exc()
        return 1
    finally:
        sys.argv, sys.path[:] = before
    return 0


def _print_lines(names: dict[str, Any], sampler: Sampler, most: int) -> None:
    rows = sampler.rows
    if not rows:
        print("it ended before the first sample: let it run for longer")
        return
    cpu = {row["op"]: row["cpu_ms"] for row in rows}
    code = {_place(*place): linecache.getline(*place).strip() for place in sampler.found}
    cells = [("line", "ms", "share", "CPU, ms", "what it says")]
    for top in names["top_operations"](rows, most):
        name = top["name"]
        times = f"{top['ms']:,.0f}", f"{top['share']:.1%}", f"{cpu[name]:,.0f}"
        cells.append((name, *times, shortened(code[name], _WIDE)))
    print_table(cells)


def _doubts(sampler: Sampler, wall: float, cpu: float) -> list[str]:
    """Return what is to be said of a run whose two times differ, or of which little is known."""
    found = [f"\n{sampler.samples:,} samples, one a ms where nothing held it up"]
    if cpu < 0.8 * wall:
        found.append(f"it waited {wall - cpu:,.2f} s, for a disk, a sleep or a busy machine")
    if cpu > 1.2 * wall:
        found.append("several threads worked at a time; those of matrix products may only wait")
    if sampler.most_threads > 1:
        found.append("it has other threads: their CPU time stands in the main thread's lines")
    return found
