"""`proflab grade` beside `nbgrader autograde`: the same hand-ins, in one run, all CPU counted.

    python benchmarks/bench_grading.py                        # lessons 01, 05, 09, 12 and 13
    python benchmarks/bench_grading.py --lessons 01 --count 40
    python benchmarks/bench_grading.py --kinds right --rounds 3
    python benchmarks/bench_grading.py --demo                 # with demo cells, on both sides
    python benchmarks/bench_grading.py --against v0.1         # and this program as it was then
    python benchmarks/bench_grading.py --growth               # 1,000: seconds and memory
    python benchmarks/bench_grading.py --mended --count 40    # and again after a case was mended

A row grades hand-ins of one kind twice in each round, one of them and then all, in fresh courses:
the first is the fixed cost with one, the slope is the cost of one more. The programs take turns, so
that a disturbance meets all of them; a row shows the median of its rounds. CPU time is counted by
the kernel for all processes of a program, also for those that nobody waits for (`account.py`), and
for nothing else on the machine. Without demo cells: `proflab grade` skips them by itself; nbgrader
gets hand-ins and a lesson in which they were emptied beforehand. Isolation is on for `proflab
grade`; nbgrader has none. Memory is the most that they took together, shared pages counted once
(PSS). The last row of a kind is what no grader can save that executes a hand-in: its cells and the
statements of its tests alone, as the worker in the sandbox reports them, least of three.

Hand-ins of a kind have the same tapes of races, which are judged once for all of them, as the
replies of other processes are kept. What judging takes where each has its own, `bench_profile.py`
says.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import account
import nbformat
import psutil
from account import Run, tree_memory
from classes import KINDS, make_class
from record import recording

from proflab_course.course.layout import Course
from proflab_course.grading.answer_key import read_key
from proflab_course.grading.grade_notebook import make_plan
from proflab_course.grading.match_cells import align
from proflab_course.grading.plan import Submission
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.run.sandbox_runner import SandboxRunner

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
LESSONS = ("01", "05", "09", "12", "13")
STOCK = "nbgrader autograde"
Pair = tuple[Run, Run]  # of one hand-in, and of all


@dataclass(frozen=True)
class Program:
    """A command that grades a lesson; the folder with its package, if not the installed one."""

    words: tuple[str, ...]
    package: Path | None = None


def run(program: Program, lesson: str, folder: Path) -> Run:
    """Run a program on a lesson to its end and watch what it takes."""
    environment = os.environ | {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PROFLAB_DEMO": "small",
    }
    if program.package is not None:
        environment["PYTHONPATH"] = str(program.package)
    first, *rest = program.words
    return account.run([str(BIN / first), *rest, lesson], folder, environment)


def measure(
    program: Program, lesson: str, kind: str, count: int, demo: bool, stock: bool = False
) -> Run:
    """Grade `count` hand-ins of a kind in a course of their own."""
    with tempfile.TemporaryDirectory(prefix="proflab-bench-") as place:
        course = make_class(Path(place) / "course", lesson, count, (kind,), demo, stock)
        if stock:
            run(Program(("nbgrader", "generate_assignment", "--force")), lesson, course.root)
        return run(program, lesson, course.root)


def compare(arguments: argparse.Namespace, programs: dict[str, Program]) -> None:
    """Grade one hand-in and all of them, with each program in turn, and print a table."""
    demo = "with demo cells (--full)" if arguments.demo else "without demo cells"
    print(f"{arguments.count} hand-ins of a kind, {demo}, median of {arguments.rounds}")
    print(f"\n{'':<33}{'CPU time':>30}{'time':>20}")
    heads = ("one alone", "one more", "of stock", "one alone", "one more", "memory")
    print(
        " " * 33 + "".join(f"{head:>{width}}" for head, width in zip(heads, _WIDTHS, strict=True))
    )
    for given in arguments.lessons:
        lesson = Course(ROOT).lesson(given)
        for kind in arguments.kinds:
            loads = [os.getloadavg()[0]]
            rounds = [one_round(arguments, programs, lesson, kind) for _ in range(arguments.rounds)]
            loads.append(os.getloadavg()[0])
            print(f"{lesson}, {kind} (load {min(loads):.1f} to {max(loads):.1f})")
            print_rows(rounds, arguments.count, statements(lesson, kind, arguments.demo))


def statements(lesson: str, kind: str, demo: bool) -> float:
    """Return the CPU seconds of a hand-in's cells and of the statements of its tests."""
    with tempfile.TemporaryDirectory(prefix="proflab-bench-") as place, SandboxRunner() as runner:
        course = make_class(Path(place) / "course", lesson, 1, (kind,), demo, stock=False)
        key = read_key(course.source(lesson))
        [path] = course.root.glob("submitted/*/*/*.ipynb")
        plan, _ = make_plan(align(nbformat.read(path, 4), key), key, full=demo)
        submission = Submission("alone", None, course.source(lesson).parent)
        results = [runner.run(submission, plan) for _ in range(3)]
    return min(sum(reply.seconds for each in r.replies for reply in each) for r in results)


_WIDTHS = (10, 11, 9, 10, 10, 9)


def one_round(
    arguments: argparse.Namespace, programs: dict[str, Program], lesson: str, kind: str
) -> dict[str, Pair]:
    """Return what each program took for one hand-in and for all."""
    found: dict[str, list[Run]] = {name: [] for name in programs}
    for size in (1, arguments.count):
        for name, program in programs.items():
            stock = name == STOCK
            found[name].append(measure(program, lesson, kind, size, arguments.demo, stock))
    return {name: (one, all_) for name, (one, all_) in found.items()}


def print_rows(rounds: list[dict[str, Pair]], count: int, alone: float) -> None:
    """Print each program's row; one more: the slope in each round, and then the median.

    alone: the CPU seconds of the statements.
    """
    stock = None
    for name in rounds[0]:
        pairs = [found[name] for found in rounds]
        more = median((all_.cpu - one.cpu) / (count - 1) for one, all_ in pairs)
        wall = median((all_.seconds - one.seconds) / (count - 1) for one, all_ in pairs)
        stock = more if name == STOCK else stock
        shown = (
            f"{median(one.cpu for one, _ in pairs):.2f} s",
            f"{more * 1000:.0f} ms",
            "" if name == STOCK else _part(more, stock),
            f"{median(one.seconds for one, _ in pairs):.2f} s",
            f"{wall * 1000:.0f} ms",
            f"{max(all_.memory for _, all_ in pairs) / 1024**2:,.0f} MB",
        )
        print_row(name, shown)
    print_row("the statements alone", ("", f"{alone * 1000:.0f} ms", _part(alone, stock)))


def _part(more: float, stock: float | None) -> str:
    return "" if stock is None else f"1/{stock / more:.1f}"


def print_row(name: str, cells: tuple[str, ...]) -> None:
    """Print a program's cells under their heads."""
    columns = "".join(f"{each:>{width}}" for each, width in zip(cells, _WIDTHS, strict=False))
    print(f"  {name:<31}{columns}", flush=True)


def mended(lessons: Sequence[str], count: int) -> None:
    """Grade classes by a wrong expected value, mend it, then an input; grade again each time."""
    program = Program(("proflab", "grade", "--jobs", "1"))
    print(f"\n{count} hand-ins, a third of each kind, --jobs 1: CPU time, and of the first grading")
    print(f"{'':<24}{'first':>10}{'expected value mended':>26}{'input mended':>22}")
    for given in lessons:
        lesson = Course(ROOT).lesson(given)
        with tempfile.TemporaryDirectory(prefix="proflab-bench-") as place:
            course = make_class(Path(place) / "course", lesson, count, KINDS, False, False)
            with Book(course.gradebook) as book:  # making it takes seconds, once a course
                book.register(read_key(course.source(lesson)))
            right = course.source(lesson).read_text("utf-8")
            expect_another(course.source(lesson))
            first = run(program, lesson, course.root).cpu
            course.source(lesson).write_text(right, encoding="utf-8")
            again = [run(program, lesson, course.root).cpu]
            mend_input(course.source(lesson))
            again.append(run(program, lesson, course.root).cpu)
        shown = [f"{cpu:.1f} s, 1/{first / cpu:.1f}" for cpu in again]
        print(f"{lesson:<24}{first:>8.1f} s{shown[0]:>26}{shown[1]:>22}", flush=True)


def expect_another(source: Path) -> None:
    """Change what the first hidden case with a number expects."""
    before = r"### BEGIN HIDDEN TESTS\n[\s\S]*?^expect\((?:.|\n(?= ))*?,\s+"
    _mend(source, rf"^({before})\d[\d_.]*(,?\n?\)$)", r"\g<1>1\g<2>")


def mend_input(source: Path) -> None:
    """Change what prepares the first hidden block of cases."""
    _mend(source, r"(### BEGIN HIDDEN TESTS\n)(?=(?:.*\n)*?expect\()", r"\g<1>mended = True\n")


def _mend(source: Path, pattern: str, put: str) -> None:
    notebook = json.loads(source.read_text("utf-8"))
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        changed = re.sub(pattern, put, text, count=1, flags=re.MULTILINE)
        if changed != text:
            cell["source"] = changed
            source.write_text(json.dumps(notebook), encoding="utf-8")
            return
    sys.exit(f"{source.name} has no such case")


def chosen_programs(arguments: argparse.Namespace, place: Path) -> dict[str, Program]:
    """Return the programs to compare; an earlier revision is put into `place`."""
    full = ["--full"] if arguments.demo else []
    programs = {} if arguments.ours else {STOCK: Program(("nbgrader", "autograde"))}
    if arguments.against:
        archive = ["git", "-C", str(ROOT), "archive", arguments.against]
        packed = subprocess.run([*archive, "proflab", "proflab_course"], capture_output=True)
        if packed.returncode:
            sys.exit(packed.stderr.decode(errors="replace"))
        subprocess.run(["tar", "-x", "-C", str(place)], input=packed.stdout, check=True)
        then = ("proflab", "grade", *full, "--jobs", "1")
        programs[f"{arguments.against[:12]} --jobs 1"] = Program(then, place)
    for jobs in arguments.jobs:
        words = ("proflab", "grade", *full, "--jobs", str(jobs))
        programs[f"proflab grade --jobs {jobs}"] = Program(words)
    return programs


def growth(count: int) -> None:
    """Grade a large class and print how seconds and memory develop."""
    lesson = Course(ROOT).lesson(LESSONS[0])
    with tempfile.TemporaryDirectory(prefix="proflab-bench-") as place:
        course = make_class(Path(place) / "course", lesson, count, KINDS, demo=False, stock=False)
        rows = watch_growth(course, lesson, count)
    print(f"\n{count:,} hand-ins of {lesson}, without demo cells, --jobs 2")
    print(f"{'graded':>8}{'one more':>11}{'grader alone':>15}{'all processes':>15}")
    for graded, seconds, own, tree in rows:
        print(f"{graded:>8,}{seconds * 1000:>8.0f} ms{own:>12,.0f} MB{tree:>12,.0f} MB", flush=True)


def watch_growth(
    course: Course, lesson: str, count: int, steps: int = 10
) -> list[tuple[int, float, float, float]]:
    """Return (graded so far, seconds for one more, MB of the grader, MB of all) in `steps`."""
    process = subprocess.Popen(
        [str(BIN / "proflab"), "grade", lesson, "--jobs", "2"],
        cwd=course.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    rows: list[tuple[int, float, float, float]] = []
    place, last, since = course.root / "autograded", 0, 0.0
    while process.poll() is None:
        time.sleep(0.2)
        done = len(list(place.glob("*"))) if place.is_dir() else 0
        now = time.perf_counter()
        if done and not since:
            last, since = done, now
        if done - last >= count // steps:
            own = psutil.Process(process.pid).memory_info().rss / 1024**2
            tree = tree_memory(process.pid) / 1024**2
            rows.append((done, (now - since) / (done - last), own, tree))
            last, since = done, now
    if process.returncode:
        sys.exit("proflab grade failed")
    return rows


def main() -> None:
    """Print the table that was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--lessons", nargs="+", default=LESSONS, metavar="NN")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--count", type=int, default=5, help="how many hand-ins, from 2")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--jobs", nargs="+", type=int, default=[1, 2], metavar="N")
    parser.add_argument("--demo", action="store_true", help="demo cells are executed, too")
    parser.add_argument("--ours", action="store_true", help="without nbgrader")
    parser.add_argument("--against", metavar="REVISION", help="also this program as it was there")
    parser.add_argument("--mended", action="store_true", help="only grading again")
    parser.add_argument("--growth", action="store_true", help="only 1,000 hand-ins, ours alone")
    arguments = parser.parse_args()
    print(
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} before, "
        f"{account.how()}, isolation on for proflab"
    )
    if shutil.which("bwrap") is None:
        sys.exit("bubblewrap is not installed, and grading without isolation is not measured here")
    if arguments.growth:
        return growth(1_000)
    if arguments.mended:
        return mended(arguments.lessons, arguments.count)
    with tempfile.TemporaryDirectory(prefix="proflab-before-") as place:
        compare(arguments, chosen_programs(arguments, Path(place)))
    return None


if __name__ == "__main__":
    with recording(__file__, "Grading: a class"):
        main()
