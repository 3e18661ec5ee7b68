"""Give a class, or each of its students, hidden cases with numbers of their own.

With `proflab build --seed N`, each number that a `# vary:` of the lesson names (`cases/vary.py`) is
another one, the same for the same seed and course's secret. With `[course] variants = "student"` in
private/course.toml, it is drawn from the course's secret for each student, when hand-ins are
graded. What the cases then expect is what the lesson's own solution returns (`solved_values.py`),
asked once for all. The gradebook keeps digests of the secret and of the cells that vary with each
hand-in, so that another secret is noticed: the same two give the same marks anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from proflab_course.cases.reader import TestCell, split, split_cell
from proflab_course.cases.vary import OWN, Varying, varying
from proflab_course.cases.vary_comments import Edits, VaryError
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import HIDDEN, Cell, Lesson, regions
from proflab_course.course.secret import PLACE, course_secret, digest
from proflab_course.course.settings import SETTINGS, read_settings
from proflab_course.grading.answer_key import Key, make_key
from proflab_course.grading.grader_errors import GraderFailed
from proflab_course.grading.match_cells import Aligned
from proflab_course.grading.own_numbers.solved_values import Name, solved_values

NEW = "--new-variants"
_TOGETHER = 40  # students whose values one session computes
_CLASS = "class"


# ── a class's, when a lesson is built ─────────────────────────────────────────────────────────


def vary_cases(lesson: Lesson, key: bytes | None, folder: Path) -> None:
    """Draw the lesson's hidden cases; without a key, see whether each comment is clear.

    key: what they are drawn from (`course/secret.py`). folder: holds its built.py and files.

    Raises CourseError for a comment that is not clear, for a case that cannot vary, and where the
    solution returns no plain value.
    """
    cells = varying_cells(lesson)
    if key is None or not cells:
        return
    drawn = {name: _drawn(cell, found, key) for name, (cell, found) in cells.items()}
    asked = {(_CLASS, name): found.asked(drawn[name]) for name, (_, found) in cells.items()}
    replies = solved_values(make_key(lesson.name, lesson.notebook), folder, asked)
    for name, (cell, found) in cells.items():
        values, label = replies[_CLASS, name], min(found.expected)
        try:
            if isinstance(values, str):
                raise ValueError(label)
            cell.node.source = found.text(drawn[name] | found.expecting(values))
        except ValueError as error:
            why = values if isinstance(values, str) else f"but {values[str(error)]!r}"
            raise CourseError(
                f"{cell.where}: with this seed the solution gives no plain value for "
                f"{str(error)!r} ({why}): make the ranges of `# vary:` narrower"
            ) from None


def varying_cells(lesson: Lesson) -> dict[str, tuple[Cell, Varying]]:
    """Return the test cells of a lesson that may vary, by name; raise CourseError."""
    found = {}
    for cell in lesson.named("test"):
        try:
            if here := varying(cell.source, cell.name):
                found[cell.name] = cell, here
        except VaryError as error:
            raise CourseError(f"{cell.where}, {error}") from None
    return found


def _drawn(cell: Cell, found: Varying, key: bytes) -> Edits:
    try:
        return found.drawn(key, "hidden cases")
    except VaryError as error:
        raise CourseError(f"{cell.where}, {error}") from None


def count_varying(lesson: Lesson) -> tuple[int, int, int]:
    """Return how many hidden cases may vary, how many have a value, and how many have none."""
    tests = [split_cell(cell) for cell in lesson.named("test")]
    answers = [answer for test in tests for hidden, answer in test.answers if hidden]
    values = sum(answer.call == "expect" for answer in answers)
    vary = sum(len(found.expected) for _, found in varying_cells(lesson).values())
    return vary, values, len(answers) - values


# ── each student's, when hand-ins are graded ──────────────────────────────────────────────────


@dataclass
class Variants:
    """Hold the hidden cases of a lesson's students.

    cells: those that vary; drawn: a cell's text for each student and cell; failed: by student, why
    there is none because the grader failed.
    """

    key: Key
    secret: bytes = field(repr=False)
    cells: dict[str, Varying]
    drawn: dict[Name, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failed: dict[str, GraderFailed] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """Digests of the secret and of the cells that vary, as the gradebook keeps them."""
        text = "\0".join(cell.source for cell in self.cells.values())
        return f"{digest(self.secret)} {hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def prepare(self, students: Collection[str], support: Path, jobs: int) -> None:
        """Draw these students' cases and ask the solution for what they expect.

        support: the lesson's folder in source/. A cell without a value for a student's draw stays
        as it is written, and a note says so.
        """
        names = sorted(students)
        groups = [names[n : n + _TOGETHER] for n in range(0, len(names), _TOGETHER)]
        with ThreadPoolExecutor(jobs) as pool:  # each waits for a process of its own
            for found in pool.map(lambda group: self._texts(group, support), groups):
                self.drawn |= found

    def key_of(self, student: str) -> Key:
        """Return the lesson's key with the student's own cases.

        Raises GraderFailed where what they expect was not worked out: no other cases are theirs.
        """
        if student in self.failed:
            raise self.failed[student]
        tests = dict(self.key.tests)
        for name in self.cells:
            if text := self.drawn.get((student, name)):
                tests[name] = self._split(name, text)
        return replace(self.key, tests=tests)

    def show_own(self, aligned: Aligned, student: str) -> None:
        """Put the student's own cases into the notebook that the instructor sees."""
        for slot in aligned.slots:
            name = slot.key.grade_id if slot.key is not None else ""
            if name not in aligned.once and (text := self.drawn.get((student, name))):
                slot.cell.source = text
                slot.cell.metadata[OWN] = True

    def _split(self, name: str, text: str) -> TestCell:
        """Return the cell with hidden blocks of another text; only these are parsed."""
        written, (begin, end) = self.key.tests[name], HIDDEN
        lines = [line for region in regions(text, HIDDEN) for line in (begin, *region, end)]
        own = iter(split("\n".join(lines), name).blocks)
        blocks = tuple(next(own) if block.hidden else block for block in written.blocks)
        return replace(written, blocks=blocks)

    def _texts(self, students: list[str], support: Path) -> dict[Name, str]:
        edits: dict[Name, Edits] = {
            (student, name): cell.drawn(self.secret, student, self.key.name)
            for student in students
            for name, cell in self.cells.items()
        }
        asked = {each: self.cells[each[1]].asked(drawn) for each, drawn in edits.items()}
        try:
            values = solved_values(self.key, support, asked)
        except GraderFailed as error:
            self.failed |= dict.fromkeys(students, error)
            return {}
        texts: dict[Name, str] = {}
        for each, drawn in edits.items():
            cell, found = self.cells[each[1]], values.get(each, "nothing came back")
            try:
                if isinstance(found, str):
                    raise ValueError(found)
                texts[each] = cell.text(drawn | cell.expecting(found))
            except (ValueError, KeyError) as error:
                what = f"the solution gives no value for the numbers of {each[0]} ({error})"
                self.notes.append(f"{each[1]}: {what}, who gets the cases as they are written")
        return texts


def chosen_variants(course: Course, key: Key) -> Variants | None:
    """Return the variants of a lesson's students; None if the course wants none or nothing varies.

    Raises CourseError for a mistake in the course's settings, its secret or a `# vary:`.
    """
    if read_settings(course.root).variants != "student":
        return None
    cells = {}
    for cell in key.cells:
        if cell.kind == "test":
            try:
                if found := varying(cell.master.source, cell.grade_id):
                    cells[cell.grade_id] = found
            except VaryError as error:
                again = "build the lesson again, with the class's --seed if it has one"
                where = f"source/{key.name}, cell {cell.grade_id}"
                raise CourseError(f"{where}, {error}: {again}") from None
    return Variants(key, course_secret(course.root), cells) if cells else None


def refuse_others(lesson: str, variants: Variants | None, kept: Collection[str]) -> None:
    """Raise CourseError if hand-ins were graded with another secret, or with variants at all.

    kept: the digests that the gradebook has for the lesson's hand-ins.
    """
    secrets = {each.partition(" ")[0] for each in kept if each}
    own = {digest(variants.secret)} if variants else set()
    if not secrets - own:
        return
    if variants is None:
        what = f'{lesson} was graded with numbers for each student: write variants = "student"'
        raise CourseError(f"{what} into {SETTINGS}, or grade it anew with {NEW}")
    what = f"{lesson} was graded with another {PLACE}"
    raise CourseError(f"{what}: put it back, or grade the lesson anew with {NEW}")
