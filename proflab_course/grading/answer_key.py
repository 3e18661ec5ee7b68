"""Read a lesson's answer key: its cells as released, and its test cells, split.

The key is made from the instructor's notebook in source/, never from a submission.
"""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from nbformat import NotebookNode

from proflab.lesson.outline import squeezed
from proflab_course.cases.case import GrammarError
from proflab_course.cases.reader import TestCell, split
from proflab_course.course.answer_cells import (
    answers_form,
    is_answer_cell,
    open_answers,
    question_of,
)
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import GIVEN_TAG, read_source
from proflab_course.grading.limits import SolvedTimes

# build/make.py writes it; match_cells.py grades unchanged hand-ins of that release by it.
FORMER = "proflab_former_tests"  # of the source notebook: modules/LESSON/former.toml

# nbgrader's preprocessors, in the order of its own list (jupyter_config.py): the checksums are of
# the texts that the grader keeps, and then of those that students get.
_KEPT = "LockCells ClearSolutions ClearOutput ComputeChecksums"
_RELEASED = "ClearHiddenTests ClearMarkScheme ComputeChecksums"

# What nbgrader's flags alone say, which hand-ins have, too: not the roles of course/notebook.py.
Kind = Literal["test", "solution", "manual", "locked", "free"]


@dataclass(frozen=True)
class KeyCell:
    """One cell of the lesson: `master` as in source/, `released` as students get it."""

    kind: Kind
    grade_id: str
    master: NotebookNode
    released: NotebookNode

    @property
    def points(self) -> float:
        """Points that the cell can earn; 0 for a cell that is not graded."""
        return float(self.master.metadata.get("nbgrader", {}).get("points", 0) or 0)

    @cached_property
    def texts(self) -> tuple[str, str]:
        """The cell's text as released and as the grader keeps it, each squeezed."""
        return squeezed(self.released.source), squeezed(self.master.source)

    @property
    def given(self) -> bool:
        """True for an exercise whose code the class's track gives."""
        return GIVEN_TAG in self.master.metadata.get("tags", [])

    @property
    def is_concept(self) -> bool:
        """True for answers to concept questions, and for their test cell."""
        return self.kind in ("test", "solution") and is_answer_cell(self.grade_id)

    @property
    def is_exercise(self) -> bool:
        """True for what students write as code, answers to concept questions apart."""
        return self.kind == "solution" and not self.is_concept

    @cached_property
    def defines(self) -> frozenset[str]:
        """The names that a student defines in the cell: an exercise, or several answers."""
        answers = open_answers(self.released.source) if self.is_concept else []
        return frozenset(answers or [self.grade_id])

    @property
    def demo(self) -> bool:
        """True for a demo cell, which earns no points."""
        return "demo" in self.master.metadata.get("tags", [])


@dataclass(frozen=True)
class Key:
    """A lesson's cells in order, its split test cells by grade_id, and its fingerprint.

    partial_credit: see `points.py`; solved: the cells' texts with the lesson's solutions; times:
    their CPU seconds; derived: values that other files compute once for the whole class.
    """

    name: str
    cells: tuple[KeyCell, ...]
    tests: dict[str, TestCell]
    fingerprint: str
    metadata: dict = field(default_factory=dict)
    partial_credit: bool = False
    solved: tuple[str, ...] = ()
    times: SolvedTimes = field(default_factory=SolvedTimes, compare=False, repr=False)
    # Shared by the copies that `replace` makes: what one hand-in needed is there for the class.
    derived: dict = field(default_factory=dict, compare=False, repr=False)

    def with_partial_credit(self) -> Key:
        """Return the key with partial credit; its fingerprint makes earlier grades stale."""
        fingerprint = hashlib.sha256(f"{self.fingerprint} partial credit".encode()).hexdigest()
        return replace(self, partial_credit=True, fingerprint=fingerprint)

    @cached_property
    def former(self) -> dict[str, TestCell]:
        """The test cells by which unchanged hand-ins of a former release are graded, by name."""
        texts = self.metadata.get(FORMER, {})
        now = self.tests
        return {n: split(text, n, now[n].points) for n, text in texts.items() if n in now}

    def cell(self, grade_id: str) -> KeyCell:
        """Return the cell with this grade_id; raise StopIteration where there is none."""
        return next(c for c in self.cells if c.grade_id == grade_id)

    @property
    def questions(self) -> list[str]:
        """The ids of the lesson's concept questions, in its order."""
        labels = (a.label for test in self.tests.values() for hidden, a in test.answers if hidden)
        return list(filter(None, map(question_of, labels)))

    @property
    def max_score(self) -> float:
        """Autograded points of the lesson."""
        return sum(c.points for c in self.cells if c.kind == "test")

    @property
    def points_by_hand(self) -> float:
        """Points that a person gives; 0 in a lesson without an essay."""
        return sum(c.points for c in self.cells if c.kind == "manual")

    @property
    def by_hand(self) -> set[str]:
        """The names of the cells that a person marks."""
        return {cell.grade_id for cell in self.cells if cell.kind == "manual"}


def read_key(path: Path) -> Key:
    """Return the key of the source notebook at `path`; raise CourseError if it cannot be used."""
    return make_key(path.stem, read_source(path), str(path))


def make_key(name: str, source: NotebookNode, where: str = "") -> Key:
    """Return the key of the lesson `name` from its source notebook."""
    try:
        master = _preprocessed(source, _KEPT)
        released = _preprocessed(master, _RELEASED)
    except Exception as error:  # nbgrader has no one error for marks that it cannot use
        raise CourseError(f"{where or name} is unusable ({error}): run `proflab build`") from None
    cells = tuple(
        KeyCell(kind_of(kept), meta(kept).get("grade_id", ""), kept, given)
        for kept, given in zip(master.cells, released.cells, strict=True)
    )
    try:
        tests = {
            c.grade_id: split(c.master.source, c.grade_id, c.points)
            for c in cells
            if c.kind == "test"
        }
    except GrammarError as error:
        raise CourseError(f"{where or name}: {error}") from None
    # Outputs decide no verdict; with them, each build of the lesson would make all grades stale.
    bare = dict(
        source, cells=[{k: v for k, v in c.items() if k != "outputs"} for c in source.cells]
    )
    text = json.dumps(bare, sort_keys=True)
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    solved = tuple(cell.source for cell in source.cells)
    return Key(name, cells, tests, fingerprint, dict(source.metadata), solved=solved)


def released_from(source: NotebookNode) -> NotebookNode:
    """Return the students' version of a notebook, as `nbgrader generate_assignment` makes it."""
    return _preprocessed(source, f"{_KEPT} {_RELEASED}")


def _preprocessed(notebook: NotebookNode, preprocessors: str) -> NotebookNode:
    """Return a copy of `notebook` after nbgrader's preprocessors of these names."""
    import nbgrader.preprocessors as available

    notebook, resources = copy.deepcopy(notebook), dict[str, Any]()
    for name in preprocessors.split():
        notebook, resources = getattr(available, name)().preprocess(notebook, resources)
        if name == "ClearSolutions":  # before the checksums, as ClearAnswers in jupyter_config.py
            clear_answers(notebook)
    return notebook


def clear_answers(notebook: NotebookNode) -> None:
    """Leave the answers to concept questions open, in place of nbgrader's stub."""
    for cell in notebook.cells:
        name = meta(cell).get("grade_id", "")
        if is_answer_cell(name) and kind_of(cell) == "solution":
            # The second form is that of older releases, which have a cell for each answer.
            names = open_answers(cell.source)
            cell.source = answers_form(names) if names else f'{name} = None  # "A", "B", "C" or "D"'


def meta(cell: NotebookNode) -> dict:
    """Return a cell's nbgrader metadata; empty where it has none."""
    found = cell.metadata.get("nbgrader", {})
    return found if isinstance(found, dict) else {}


def kind_of(cell: NotebookNode) -> Kind:
    """Return the kind of a lesson's cell, by its nbgrader metadata."""
    found = meta(cell)
    match found.get("grade", False), found.get("solution", False):
        case True, True:
            return "manual"
        case True, False:
            return "test" if cell.cell_type == "code" else "locked"
        case False, True:
            return "solution"
    return "locked" if found.get("locked") else "free"
