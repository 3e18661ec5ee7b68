"""Show where the milliseconds of one more hand-in go, by the steps of grading.

    python benchmarks/bench_profile.py                     # lessons 01, 05, 09, 12 and 13
    python benchmarks/bench_profile.py --lessons 09 --kinds right

The class is graded twice, one hand-in and then all, with one job; a line is the CPU time of a step
for one more hand-in. Steps of the grader's own thread are timed there; readers and the sandbox are
counted by the kernel. What a cell or a case took is what the worker reports of itself; the start of
a session is that of an empty one, with its namespaces, its forks, its files and its end. What is
left of the sandbox is messages, copies for hidden blocks, and page faults outside statements.
Nothing is kept here from one hand-in for the next, so each has its tapes judged.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import account
from bench_grading import LESSONS
from classes import KINDS, make_class
from record import recording

from proflab_course.course.layout import Course
from proflab_course.grading import command, grade_notebook, limited_process
from proflab_course.grading.plan import Plan, Result, RunCell, Submission
from proflab_course.grading.reader import Reader
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.run.sandbox_runner import SandboxRunner
from proflab_course.grading.run.student_files import gather_files

ROOT = Path(__file__).resolve().parents[1]
STEPS = (
    (command, "with_fingerprints", "grader: find, digest"),
    (Reader, "handin", "grader: read (ask)"),
    (grade_notebook, "make_plan", "grader: plan"),
    (grade_notebook, "conclude", "grader: judge"),
    (command, "write_autograded", "grader: write notebook"),
    (Book, "write", "grader: database"),
)
EMPTY = 20

spent: Counter[str] = Counter()


class Watched:
    """A runner that notes what its sessions take."""

    def __init__(self, runner: SandboxRunner) -> None:
        self.runner = runner

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Execute a plan, and note what each part of it took."""
        began = time.thread_time()
        result = self.runner.run(submission, plan)
        spent["grader: sessions (send, receive, watch)"] += time.thread_time() - began
        spent["sessions"] += 1
        where = "races" if submission.name.endswith(", judged") else "sandbox"
        for item, replies in zip(plan, result.replies, strict=True):
            seconds = sum(reply.seconds for reply in replies)
            is_cell = isinstance(item, RunCell)
            name = "cells" if is_cell else "hidden cases" if item.hidden else "visible cases"
            if where == "races":
                name = "set-up" if is_cell else "judge"
            spent[f"{where}: {name}"] += seconds
        return result

    def close(self) -> None:
        """Do nothing: whoever made the runner closes it."""


def timed(function: Callable, name: str) -> Callable:
    """Return the function, and note the CPU time of its thread; what it calls counts, too."""

    def call(*arguments: Any, **options: Any) -> Any:
        began = time.thread_time()
        try:
            return function(*arguments, **options)
        finally:
            spent[name] += time.thread_time() - began

    return call


@contextmanager
def watching() -> Iterator[None]:
    """Within, the steps are timed, and the readers' time is taken before they end."""
    close = limited_process.LimitedProcesses.close
    before = [(where, name, getattr(where, name)) for where, name, _ in STEPS]
    for where, name, shown in STEPS:
        setattr(where, name, timed(getattr(where, name), shown))

    def closing(self: limited_process.LimitedProcesses) -> None:
        spent["readers: read, match"] += _readers()
        close(self)

    limited_process.LimitedProcesses.close = closing
    try:
        yield
    finally:
        limited_process.LimitedProcesses.close = close
        for where, name, function in before:
            setattr(where, name, function)


def _readers() -> float:
    """Return the CPU seconds of the processes that read hand-ins: forks of this program."""
    mine, own = Path("/proc/self/cmdline").read_bytes(), os.getpid()
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != own and (folder / "cmdline").read_bytes() == mine:
                total += int((folder / "schedstat").read_text().split()[0])
        except OSError:
            continue
    return total / 1e9


def grade(lesson: str, kind: str, count: int, group: Path) -> Counter[str]:
    """Grade `count` hand-ins; return the seconds of each step."""
    spent.clear()
    with tempfile.TemporaryDirectory(prefix="proflab-bench-") as place, SandboxRunner() as runner:
        course = make_class(Path(place) / "course", lesson, count, (kind,), False, False)
        runner.warm(plots=False)
        with Book(course.gradebook) as book:  # making it takes seconds, once a course
            book.register(command.read_key(course.source(lesson)))
        before, own = account.used(group), _own()
        with watching():
            command.grade_class(course, lesson, Watched(runner), progress=False)
        spent["grader: all"] = _own() - own
        spent["all"] = account.used(group) - before
        spent["sandbox: start and end of sessions"] = spent["sessions"] * _empty(
            runner, course, lesson, group
        )
    return spent.copy()


def _empty(runner: SandboxRunner, course: Course, lesson: str, group: Path) -> float:
    """Return the CPU seconds of a session with the lesson's files that executes nothing."""
    files = gather_files(Submission("", None, course.source(lesson).parent))
    before, own = account.used(group), _own()
    for _ in range(EMPTY):
        runner.run(Submission("empty", files=files), ())
    return (account.used(group) - before - (_own() - own)) / EMPTY


def _own() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def show(lesson: str, kind: str, count: int, group: Path) -> None:
    """Print the steps of one more hand-in."""
    one, all_ = (grade(lesson, kind, size, group) for size in (1, count))
    more = Counter({name: (all_[name] - one[name]) / (count - 1) for name in one | all_})
    sandbox = more["all"] - more["grader: all"] - more["readers: read, match"]
    inside = {n: s for n, s in more.items() if n.startswith(("sandbox:", "races:"))}
    named = sum(s for n, s in more.items() if n.startswith("grader: ") and n != "grader: all")
    rows = {n: s for n, s in more.items() if n not in ("all", "sessions", "grader: all")}
    rows["grader: all else"] = more["grader: all"] - named
    rows["sandbox: all else"] = sandbox - sum(inside.values())
    print(f"\n{lesson}, {kind}: one more takes {1000 * more['all']:,.0f} ms of CPU time")
    print(f"  {'sessions':<45}{more['sessions']:>8.1f}")
    for name, seconds in sorted(rows.items()):
        print(f"  {name:<45}{1000 * seconds:>8,.1f} ms", flush=True)


def main() -> None:
    """Print the profile of each lesson and kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--lessons", nargs="+", default=LESSONS, metavar="NN")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--count", type=int, default=6)
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} before, {account.how()}")
    with account.inside() as group:
        if group is None:
            print("nothing is measured: a profile needs a cgroup, which root may make")
            return
        for given in arguments.lessons:
            for kind in arguments.kinds:
                show(Course(ROOT).lesson(given), kind, arguments.count, group)


if __name__ == "__main__":
    with recording(__file__, "Grading: where the time goes"):
        main()
