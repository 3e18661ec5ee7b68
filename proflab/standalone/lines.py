"""Say which lines of a program of plain Python or numpy take its time: `my_profiler.py lines FILE`.

The program runs unchanged. A timer of the system interrupts it each millisecond; what has passed
since the last time, of the clock and of the processor, is noted for the line that it is at. The
student's function adds up and sorts. What may not enter: a trace of each call, which slows calls.
"""

from __future__ import annotations

import argparse
import linecache
import os
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache, partial
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import proflab
from proflab.lesson.blas import on_threads, threads_in_words
from proflab.lesson.words import many, shortened
from proflab.standalone.arguments import positive
from proflab.standalone.pinned import begin_anew, threads_here
from proflab.standalone.tables import print_table, tolerate

# What is called here, and the lesson in which it is written.
NEEDED_FOR_LINES = {"top_operations": "05_profiler"}
_EACH = 0.001  # s between two samples
_WIDE = 44  # characters of a line of code in the table
_ELSEWHERE = "outside of the program"
# Folders of installed packages, wherever they lie: for one user, for all, of another Python.
_INSTALLED = tuple(f"{os.sep}{kind}-packages{os.sep}" for kind in ("site", "dist"))
_FOREIGN = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
_ENDS = dict.fromkeys(("execv", "execve"), "it became another program by exec")
_ENDS["_exit"] = "it ended itself by os._exit"
_OTHERS = """
A line's time is that of all it calls in Python's and others' code. For a tree of calls take
pyinstrument; for memory, Python apart from C, other threads and child processes take scalene."""


class Sampler:
    """Counts the ms, of the clock and of the processor, that each line of a program takes.

    It sees the main thread. program: the path of the program, each of whose lines counts as its
    own. file: the profiler's, whose lines do not. `rows` has a row for each line, in the form of a
    recorder's. A program that takes this timer for itself gets it, and is not sampled from then on.
    report: called, once, before the program ends by os._exit or becomes another by exec.
    """

    def __init__(self, program: str, file: str, report: Callable[[], None]) -> None:
        package = os.path.dirname(proflab.__file__)
        folders = [os.path.normcase(path) + os.sep for path in (*_FOREIGN, package)]
        self.foreign = (*folders, os.path.normcase(os.path.abspath(file)))
        self.folder = os.path.join(os.path.dirname(program), "")
        self.own = {program: True}
        self.found: dict[tuple[str, int], list[float]] = {}
        self.samples = self.most_threads = 0
        self.given_up_for = ""  # the function of whose call no line has what came later
        self.report, self.process = report, os.getpid()

    def __enter__(self) -> Sampler:
        self.last = time.perf_counter(), time.process_time()
        self.former = signal.signal(signal.SIGALRM, self._note)
        signal.setitimer(signal.ITIMER_REAL, _EACH, _EACH)
        # What takes the timer or the signal, waits for any signal, hands the timer on, or ends.
        functions = {signal: ("signal", "setitimer", "alarm", "pause"), os: _ENDS}
        takers = [(module, name) for module, names in functions.items() for name in names]
        self.takers = {(module, name): getattr(module, name) for module, name in takers}
        for module, name in self.takers:
            setattr(module, name, partial(self._give_way, module, name))
        return self

    def __exit__(self, *error: object) -> None:
        for (module, name), function in self.takers.items():
            setattr(module, name, function)
        self._stop()

    def _stop(self) -> None:
        self.takers[signal, "setitimer"](signal.ITIMER_REAL, 0)
        if threading.current_thread() is threading.main_thread():  # no other may set a handler
            # A last alarm may wait where the signal is blocked: to ignore it is to drop it.
            for handler in (signal.SIG_IGN, self.former):
                self.takers[signal, "signal"](signal.SIGALRM, handler)

    def _give_way(self, module: ModuleType, name: str, *words: Any, **named: Any) -> Any:
        """Call one of the takers for the program, and end the sampling if it means this timer."""
        if name.startswith("exec") and words and not os.path.exists(words[0]):
            return self.takers[module, name](*words, **named)  # raises: execvp tries each folder
        which = {"signal": signal.SIGALRM, "setitimer": signal.ITIMER_REAL}
        first = words[0] if words else named.get("signalnum")
        if not self.given_up_for and (name not in which or first == which[name]):
            self._stop()
            self.given_up_for = name
        if name in _ENDS and os.getpid() == self.process:
            self.report()
        return self.takers[module, name](*words, **named)

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.perf_counter(), time.process_time()
        while frame is not None and not self._is_own(frame.f_code.co_filename):
            below = frame.f_code is profile_lines.__code__  # what calls this is no part of it
            frame = None if below else frame.f_back
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
            self.own[file] = own and not any(folder in path for folder in _INSTALLED)
        return self.own[file]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each line: its place as op, and its ms by the clock as self_ms."""
        return [
            {"op": self.name(*place), "module": "", "self_ms": wall, "cpu_ms": cpu}
            for place, (wall, cpu) in self.found.items()
        ]

    def name(self, file: str, line: int) -> str:
        """Return a line's name: its file's, from the program's folder on, and its number."""
        return f"{file.removeprefix(self.folder)} line {line}" if line else file


def profile_lines(names: dict[str, Any], file: str, arguments: Sequence[str]) -> int:
    """Run a program and print its lines of most time; return its exit status.

    Raises ValueError, with a sentence, for what is no program, and where there is no such timer.
    """
    given = _parser(file).parse_args(arguments[1:])
    if not hasattr(signal, "setitimer"):
        raise ValueError("lines needs a timer that this system does not have: take pyinstrument")
    if not given.program.is_file():
        raise ValueError(f"{given.program} is no file: give the program to run, as prog.py")
    if given.program.suffix == ".ipynb":
        advice = "make a program of it with jupyter nbconvert --to script"
        raise ValueError(f"{given.program} is a notebook: {advice}")
    begun = begin_anew(arguments, given.threads)
    if begun is not None:
        return begun
    # The program has this signal as Python has it; the report ends quietly where `| head` has gone.
    pipe = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    printed, start = sys.stdout, (time.perf_counter(), time.process_time())

    @cache
    def report() -> None:
        if printed.closed:
            raise ValueError(f"{given.program} closes sys.stdout: nothing can be printed there")
        wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
        on = threads_in_words(threads) if threads else "an unknown number of threads"
        with suppress(ValueError):  # another thread than the main one ends the program
            signal.signal(signal.SIGPIPE, pipe)
        tolerate(printed)
        with redirect_stdout(printed):
            print(f"\n{given.program}: {wall:,.2f} s, CPU time {cpu:,.2f} s; ", end="")
            print(f"matrix products on {on}")
            _print_lines(names, sampler, given.top)
            print("\n".join([*_doubts(sampler, wall, cpu), _OTHERS]), flush=True)

    sampler = Sampler(os.path.abspath(given.program), names.get("__file__", file), report)
    with on_threads(given.threads), sampler:
        threads = threads_here()
        status = _run(given.program, given.words, pipe)
    if os.getpid() == sampler.process:  # what the program has forked has come to its end, too
        report()
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


def _run(program: Path, words: list[str], on_closed_pipe: Any) -> int:
    """Run a program as `python program words` does, and return its exit status."""
    main, path = ModuleType("__main__"), os.path.abspath(program)
    main.__file__ = path  # as Python has it, so that it is found from any folder
    before = sys.argv, sys.path[:], sys.modules["__main__"], sys.stdout
    sys.argv, sys.modules["__main__"] = [str(program), *words], main
    sys.path.insert(0, str(program.resolve().parent))
    try:
        exec(compile(program.read_bytes(), path, "exec", dont_inherit=True), vars(main))
    except SystemExit as stopped:
        if not isinstance(stopped.code, int | None):
            print(stopped.code, file=sys.stderr)
        return stopped.code if isinstance(stopped.code, int) else int(bool(stopped.code))
    except BaseException as error:  # Ctrl-C, too: a program that is stopped has lines
        if isinstance(error, BrokenPipeError):
            signal.signal(signal.SIGPIPE, on_closed_pipe)
            print(file=before[-1], flush=True)  # here it ends if it was its output that broke
        trace = error.__traceback__
        error = error.with_traceback(trace and trace.tb_next)  # without this function
        sys.excepthook(type(error), error, error.__traceback__)
        return 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"], sys.stdout = before
    return 0


def _print_lines(names: dict[str, Any], sampler: Sampler, most: int) -> None:
    rows = sampler.rows
    if not rows:
        if not sampler.given_up_for:
            print("it ended before the first sample: let it run for longer")
        return
    cpu = {row["op"]: row["cpu_ms"] for row in rows}
    code = {sampler.name(*place): linecache.getline(*place).strip() for place in sampler.found}
    cells = [("line", "ms", "share", "CPU, ms", "what it says")]
    for top in names["top_operations"](rows, most):
        name = top["name"]
        times = f"{top['ms']:,.0f}", f"{top['share']:.1%}", f"{cpu[name]:,.0f}"
        cells.append((name, *times, shortened(code[name], _WIDE)))
    print_table(cells)


def _doubts(sampler: Sampler, wall: float, cpu: float) -> list[str]:
    """Return what is to be said of a run whose two times differ, or of which little is known."""
    found = [f"\n{many(sampler.samples, 'sample')}, one a ms where nothing held it up"]
    if sampler.given_up_for:
        why = _ENDS.get(sampler.given_up_for, "it uses the system's timer or signals itself")
        found.append(f"{why}: no line has what came later")
    if cpu < 0.8 * wall and wall - cpu >= 0.01:
        what = "a disk, a sleep, another process or a busy machine"
        found.append(f"it waited {wall - cpu:,.2f} s, for {what}")
    if cpu > 1.2 * wall:
        found.append("several threads worked at a time; those of matrix products may only wait")
    if sampler.most_threads > 1:
        found.append("it has other threads: their CPU time stands in the main thread's lines")
    return found
