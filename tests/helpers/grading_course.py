"""A scratch copy of the course to grade in: configuration, source, release, chosen hand-ins."""

from __future__ import annotations

import atexit
import contextlib
import copy
import dataclasses
import functools
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

import nbformat
import pytest
import sample_class
import warm_commands
from nbformat import NotebookNode
from traitlets.config import PyFileConfigLoader

from proflab_course.course.layout import Course
from proflab_course.grading import answer_key
from proflab_course.grading import command as grading
from proflab_course.grading.answer_key import Key
from proflab_course.grading.command import grade_class
from proflab_course.grading.plan import Runner
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.run.sandbox_runner import SandboxRunner
from proflab_course.grading.run.subprocess_runner import SubprocessRunner
from proflab_course.grading.table import ResultRow

ROOT = Path(__file__).resolve().parents[2]
LESSON = sample_class.LESSON


STOCK = """
# nbgrader as it comes:
c.Autograde.pop('autograde_preprocessors')
c.Autograde.pop('sanitize_preprocessors')
"""


def copy_course(place: Path, students: list[str] | None = None, stock: bool = False) -> Course:
    """Copy what grading reads into `place`, with these of the sample class's hand-ins.

    stock: `nbgrader autograde` executes submissions itself, without isolation.
    """
    shutil.copy(ROOT / "nbgrader_config.py", place)
    config = (ROOT / "jupyter_config.py").read_text()
    (place / "jupyter_config.py").write_text(config + STOCK if stock else config)
    for name in ("source", "release"):
        shutil.copytree(ROOT / name / LESSON, place / name / LESSON)
    for student in sample_class.EXPECTED if students is None else students:
        shutil.copytree(ROOT / "submitted" / student, place / "submitted" / student)
    (place / "submitted").mkdir(exist_ok=True)
    shutil.copy(new_gradebook(), place / "gradebook.db")
    return Course(place)


def copied(course: Course, place: Path) -> Course:
    """Return a copy of a course, which a test may change."""
    return Course(Path(shutil.copytree(course.root, place, dirs_exist_ok=True)))


def set_due(course: Course, date: str | None) -> None:
    """Set a due date as nbgrader does."""
    with Book(course.gradebook) as book, book.transaction() as rows:
        rows.update_or_create_assignment(LESSON, duedate=date)


@functools.cache
def new_gradebook() -> Path:
    """A gradebook that knows the lesson and nobody: making one takes seconds, copying it none."""
    path = Path(tempfile.mkdtemp(prefix="proflab-")) / "gradebook.db"
    atexit.register(shutil.rmtree, path.parent)
    config = PyFileConfigLoader("jupyter_config.py", path=str(ROOT)).load_config()
    with Book(path, config) as book:
        book.register(read_key(Course(ROOT).source(LESSON)))
    return path


@functools.cache
def _key(name: str, content: bytes) -> Key:
    return answer_key.make_key(name, nbformat.reads(content.decode(), as_version=4))


def read_key(path: Path) -> Key:
    """Return the key of a source notebook; one that is as another was is not read again."""
    with contextlib.suppress(Exception):
        return _key(path.stem, path.read_bytes())
    return answer_key.read_key(path)  # which says what is wrong


grading.read_key = read_key


def source() -> NotebookNode:
    """The instructor's notebook of lesson 01."""
    return nbformat.read(ROOT / "source" / LESSON / f"{LESSON}.ipynb", as_version=4)


def release() -> NotebookNode:
    """The student's notebook of lesson 01."""
    return nbformat.read(ROOT / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)


def shortened(key: Key, names: Collection[str]) -> Key:
    """The key with these test cells alone, for what shows in a few as it does in all.

    Grade what `cells_of` leaves: a cell that no key knows is executed as the student's own.
    """
    pairs = zip(key.cells, key.solved, strict=True)
    kept = [(c, text) for c, text in pairs if c.kind != "test" or c.grade_id in names]
    cells, solved = zip(*kept, strict=True)
    tests = {name: key.tests[name] for name in names}
    return dataclasses.replace(key, cells=cells, solved=solved, tests=tests)


def cells_of(key: Key, notebook: NotebookNode) -> NotebookNode:
    """The notebook, now without the cells that a shortened key leaves out."""
    known = {cell.grade_id for cell in key.cells}
    ids = [(cell, answer_key.meta(cell).get("grade_id", "")) for cell in notebook.cells]
    notebook.cells = [cell for cell, grade_id in ids if grade_id in known]
    return notebook


def solved(**replaced: str) -> NotebookNode:
    """The release notebook with all exercises right, but for those given."""
    notebook = json.loads(json.dumps(release()))
    solutions = sample_class.COMPLETE | replaced
    return nbformat.from_dict(sample_class.solved(notebook, solutions, None))


def cell(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    """The notebook's cell with this grade_id."""
    found = [
        c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    ]
    return found[0]


def without_metadata(notebook: NotebookNode) -> NotebookNode:
    """A copy that has lost all of nbgrader's metadata."""
    notebook = copy.deepcopy(notebook)
    for each in notebook.cells:
        each.metadata.pop("nbgrader", None)
    return notebook


def hand_in(course: Course, student: str, content: NotebookNode | bytes) -> Path:
    """Put a notebook, or any bytes, where a student's hand-in lies."""
    path = course.root / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes) else nbformat.writes(content).encode()
    path.write_bytes(data)
    return path


def grade(course: Course, **options) -> dict[str, ResultRow]:
    """Grade the scratch course; the rows by student."""
    rows = grade_class(course, LESSON, warm_runner(), progress=False, **options)
    return {row.student: row for row in rows}


def graded_class(once: Callable) -> tuple[Course, dict[str, ResultRow]]:
    """Return the sample class graded, for tests that only look at it, and its rows by student."""

    def make(place: Path) -> None:
        (place / "course").mkdir()
        rows = grade(copy_course(place / "course"), jobs=2)
        (place / "rows").write_bytes(pickle.dumps(rows))

    place = once("graded_class", make)
    return Course(place / "course"), pickle.loads((place / "rows").read_bytes())


class LeavesOthers:
    """A runner that is not closed with the command that uses it."""

    def __init__(self, runner: Runner) -> None:
        self.run = runner.run

    def close(self) -> None:
        """Do nothing."""


def take_warm_runner(patch: pytest.MonkeyPatch) -> None:
    """Let `proflab grade`, called in this process, execute hand-ins in the runner of all tests."""
    runner = LeavesOthers(warm_runner())
    patch.setattr(grading, "_choose_runner", lambda *_: (runner, 1))


@functools.cache
def warm_runner() -> Runner:
    """The one runner of all tests that grade a class in this process, or one without isolation.

    A warm sandbox takes a quarter of the time that a new Python takes for each hand-in.
    """
    if os.environ.get("PROFLAB_NO_SANDBOX_TESTS") == "1":
        return SubprocessRunner()
    runner = SandboxRunner(jobs=2)
    atexit.register(runner.close)
    return runner


def command(course: Course, *words: str) -> subprocess.CompletedProcess:
    """Run a command of this environment in the course's root."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "PROFLAB_DEMO": "small"}
    return warm_commands.run([*words], course.root, env)
