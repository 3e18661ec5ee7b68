"""Grades the cohort's entries as hand-ins, in the sandbox: run.py's verdicts must come out again.

run.py judges in one process; the real grader forks for each hidden block, executes in IPython and
freezes what the lesson made. What one of them accepts and the other does not is a fault of ours.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import nbformat

from cohort.judging import judged
from cohort.run import ROOT, entries, judge, known, solved
from proflab_course.build.in_process import WHOLE
from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_module
from proflab_course.grading.answer_key import Key, make_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.plan import Runner
from proflab_course.grading.races import METADATA, races_of


@dataclass(frozen=True)
class Entry:
    """One mutant or alternate of one exercise."""

    lesson: str
    exercise: str
    kind: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.lesson} {self.exercise}: {self.sentence}"

    @property
    def chance(self) -> str:
        """On what it hangs which cases it fails."""
        of = known(self.lesson).of[self.exercise]
        return next(each.chance for each in of if each.sentence == self.sentence)

    @property
    def code(self) -> str:
        """The entry's code as a whole cell, after the helpers that it may use."""
        code = entries(self.lesson, self.kind)[self.exercise][self.sentence]
        return f"{solved(self.lesson).helpers}\n{code}"


def all_entries(lesson: str, kind: str) -> list[Entry]:
    """Every entry of a lesson's MUTANTS or ALTERNATES."""
    found = entries(lesson, kind).items()
    return [Entry(lesson, exercise, kind, sentence) for exercise, of in found for sentence in of]


def failed_in_the_cohort(entry: Entry) -> set[str]:
    """The test cells that fail where run.py judges, in one process."""
    cases = judge(solved(entry.lesson), entry.exercise, entry.code)
    return {case.cell for case in cases if not case.passed}


def failed_in_the_grader(entry: Entry, runner: Runner) -> tuple[set[str], list[str]]:
    """The test cells that fail where `proflab grade` does, and why each case of theirs failed.

    A race that is right and slow has failed, as in the cohort.
    """
    key = key_of(entry.lesson, entry.exercise)
    support = built(entry.lesson).parent
    graded = grade_notebook(notebook_of(entry, key), key, support, full=False, runner=runner)
    whole = [case.share is None or case.share >= WHOLE for case in graded.cases]
    pairs = zip(graded.cases, whole, strict=True)
    wrong = [case for case, fine in pairs if not (case.passed and fine)]
    reasons = [f"{case.label}: {case.reason}" for case in wrong]
    if graded.status != "graded":
        reasons.insert(0, f"{graded.status}: {graded.sentence}")
    # An optional exercise has no points to lose.
    empty = {name for name, score in graded.scores.items() if key.tests[name].points and not score}
    return {case.cell for case in wrong} | empty, reasons


@cache
def built(lesson: str) -> Path:
    """The lesson's source notebook; made for this, where the default track does without it."""
    course, name = Course(ROOT), solved(lesson).name
    if course.source(name).exists():
        return course.source(name)
    root = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, root)
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "modules", root / "modules", ignore=left_out)
    for file in ("pyproject.toml", "jupyter_config.py", "nbgrader_config.py"):
        shutil.copy(ROOT / file, root)
    command = [sys.executable, "-m", "proflab_course.cli", "build", name, "--audit", "static"]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    return Course(root).source(name)


@cache
def whole_key(lesson: str) -> Key:
    """The key of the lesson as modules/ has it, with the exercises that the release gives, too."""
    course, name = Course(ROOT), solved(lesson).name
    notebook = read_module(course.module(name), name).notebook
    made = nbformat.read(built(lesson), as_version=4).metadata
    if METADATA in made:
        notebook.metadata[METADATA] = made[METADATA]
    elif races := races_of(make_key(name, notebook)):  # traced here: a full build takes seconds
        tapes = judged("given", lesson, [race.given for race in races.values()])
        pairs = zip(races, tapes, strict=True)
        notebook.metadata[METADATA] = [[*race, tape] for race, tape in pairs]
    return make_key(name, notebook)


@cache
def key_of(lesson: str, exercise: str) -> Key:
    """The lesson with the test cells of one exercise only, and these at its end.

    At the end, because the cohort's helpers use what the lesson defines later than the exercise.
    """
    whole, tests = whole_key(lesson), solved(lesson).tests
    wanted = {cell.name for cell in tests[exercise]}
    if any(answer.call == "expect_log" for cell in tests[exercise] for _, answer in cell.answers):
        wanted |= {cell.name for cells in tests.values() for cell in cells}  # a log is of a race
    rest = [cell for cell in whole.cells if cell.kind != "test"]
    last = [cell for cell in whole.cells if cell.grade_id in wanted]
    kept = {name: test for name, test in whole.tests.items() if name in wanted}
    return replace(whole, cells=(*rest, *last), tests=kept)


def notebook_of(entry: Entry, key: Key) -> nbformat.NotebookNode:
    """The solved lesson, then the entry in a cell of its own, then its test cells."""
    solutions = solved(entry.lesson).solutions
    cells = []
    for cell in key.cells:
        released = nbformat.from_dict(cell.released)
        if cell.kind == "solution":
            released.source = solutions[cell.grade_id]
        cells.append(released)
    first = next(place for place, cell in enumerate(key.cells) if cell.kind == "test")
    cells.insert(first, nbformat.v4.new_code_cell(entry.code))
    for cell in cells:
        cell.pop("id", None)
    return nbformat.v4.new_notebook(cells=cells, nbformat_minor=4)
