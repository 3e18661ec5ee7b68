"""Measure what an endless loop costs a class, what an unchanged large class costs, and feedback.

    python benchmarks/bench_class.py            # 52 hand-ins with a loop; 1,000 unchanged; pages
    python benchmarks/bench_class.py --quick    # 12 hand-ins, one loop; 100 unchanged

Each loop stands in the first exercise of lesson 01; the points that are left are shown beside those
that an exception in the same place leaves. The class without a loop and the class with one take
turns. CPU time is that of all processes (`account.py`), which a busy machine changes little.
Hand-ins of the large class are executed once for each kind and then answered from memory, so that
making it takes no quarter of an hour; what is measured then are the commands as they are.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import tempfile
from pathlib import Path

import account
from classes import KINDS, make_class
from record import recording

from proflab_course.course.layout import Course
from proflab_course.grading.command import grade_class
from proflab_course.grading.plan import Plan, Result, Submission, statements
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.run.sandbox_runner import SandboxRunner

LESSON, VICTIM = "01_parameters", "student_0000"
CATCHING = """while True:
        try:
            while True: pass
        except BaseException: pass"""
LOOPS = {
    "an exception, no loop": "raise ImportError",
    "while True: pass": "while True: pass",
    "a loop that catches interrupts": CATCHING,
    "sum(range(10**12))": "return sum(range(10**12))",
    "a long sleep": "__import__('time').sleep(10**6)",
    "[0] * 10**8": "return [0] * 10**8",
}


class FromMemory:
    """Executes one hand-in of each kind, and answers for the others of its kind."""

    def __init__(self, runner: SandboxRunner) -> None:
        self.runner = runner
        self.known: dict[tuple, Result] = {}

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Return the result of the first hand-in of this kind, for a plan of this form."""
        form = tuple(len(list(statements(item))) for item in plan)
        kind = int(submission.name.split("_")[1]) % len(KINDS), form
        if kind not in self.known:
            self.known[kind] = self.runner.run(submission, plan)
        return copy.deepcopy(self.known[kind])

    def close(self) -> None:
        """Do nothing: whoever made the runner closes it."""


def run(words: list[str], folder: Path, program: str = "proflab_course.cli") -> account.Run:
    """Run a command of `proflab` to its end; return what all of its processes took.

    program: the module that is run in its place.
    """
    environment = os.environ | {"PROFLAB_DEMO": "small"}
    return account.run([sys.executable, "-m", program, *words], folder, environment)


def some_class(place: str, count: int) -> Course:
    """Make a class of lesson 01, right, half solved and wrong, in turn."""
    return make_class(Path(place) / "course", LESSON, count, KINDS, demo=False, stock=False)


def put_loop(course: Course, body: str) -> None:
    """Let the first exercise of the first student do this."""
    path = course.root / "submitted" / VICTIM / LESSON / f"{LESSON}.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "linear_parameters":
            cell["source"] = (
                f"def linear_parameters(in_features, out_features, bias=True):\n    {body}"
            )
    path.write_text(json.dumps(notebook), encoding="utf-8")


def grade_once(count: int, body: str) -> tuple[account.Run, float]:
    """Grade a class with this in one hand-in; return what it took, and that hand-in's points."""
    with tempfile.TemporaryDirectory(prefix="proflab-bench-") as place:
        course = some_class(place, count)
        if body:
            put_loop(course, body)
        took = run(["grade", LESSON, "--jobs", "2"], course.root)
        with Book(course.gradebook) as book:
            return took, book.scores(LESSON)[VICTIM]["auto"]


def show_loops(count: int, names: list[str]) -> None:
    """Print what one hand-in with a loop adds to a class."""
    print(f"\n{count} hand-ins of {LESSON}, one of them with a loop in the first exercise, 2 jobs")
    print(f"{'':<32}{'class':>9}{'more':>9}{'CPU more':>10}{'points':>8}")
    for name in names:
        without, _ = grade_once(count, "")
        took, points = grade_once(count, LOOPS[name])
        more, cpu = took.seconds - without.seconds, took.cpu - without.cpu
        shown = f"{took.seconds:7.1f} s{more:7.1f} s{cpu:8.1f} s{points:8g}"
        print(f"{name:<32}{shown}", flush=True)


def run_on_graded(count: int, command: str) -> tuple[account.Run, int]:
    """Run a command on a class that is graded; return what it took, and the bytes of its page."""
    with tempfile.TemporaryDirectory(prefix="proflab-bench-") as place:
        course = some_class(place, count)
        with SandboxRunner() as runner:
            grade_class(course, LESSON, FromMemory(runner), progress=False)
        took = run([command, LESSON], course.root)
        pages = (course.root / "reports").glob(f"{LESSON}.html")
        return took, sum(page.stat().st_size for page in pages)


def show_unchanged(count: int, on_page: int) -> None:
    """Print what a large class costs in which nothing has changed, and its page."""
    for size, command, what in (
        (count, "grade", "none of which has changed"),
        (on_page, "report", "graded"),
    ):
        took, written = run_on_graded(size, command)
        said = f"{took.seconds:.1f} s, CPU {took.cpu:.1f} s, {took.memory / 1024**2:,.0f} MB"
        page = f", a page of {written / 1000:,.0f} kB" if written else ""
        print(f"proflab {command} {LESSON} of {size:,} hand-ins, {what}: {said}{page}", flush=True)


def show_feedback(count: int) -> None:
    """Print the CPU time of a page of feedback, and of the start of nbgrader's command."""
    with tempfile.TemporaryDirectory(prefix="proflab-bench-") as place:
        course = some_class(place, count)
        with SandboxRunner() as runner:
            grade_class(course, LESSON, FromMemory(runner), progress=False)
        words = ["generate_feedback", LESSON, "--force"]
        one = run([*words, "--student", VICTIM], course.root, "nbgrader").cpu
        page = (run(words, course.root, "nbgrader").cpu - one) / (count - 1)
    figures = f"CPU {one - page:.1f} s to start, {page:.2f} s a page"
    print(f"nbgrader generate_feedback {LESSON}: {figures}", flush=True)


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small class, and one loop")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{len(os.sched_getaffinity(0))} cores, load {load:.1f} before, Python {sys.version[:6]}")
    show_unchanged(*((100, 50) if arguments.quick else (1_000, 500)))
    show_feedback(4 if arguments.quick else 20)
    show_loops(12 if arguments.quick else 52, list(LOOPS)[1:2] if arguments.quick else list(LOOPS))


if __name__ == "__main__":
    with recording(__file__, "Grading: loops and large classes"):
        main()
