"""`proflab build --seed N`: other inputs in the hidden cases that a lesson lets vary.

With a seed, each number that a `# vary:` names (`cases/vary.py`) is another one, the same for
the same seed and course's secret, and the solution says what to expect. Without one, the comments
are only read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from proflab_course.cases.reader import split_cell
from proflab_course.cases.vary import Edits, VaryError, Varying, varying
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import Cell, Lesson
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.solved_values import solved_values

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

_CLASS = "class"


def draw_cases(lesson: Lesson, facts: Facts) -> Lesson:
    """Draw the lesson's hidden cases that may vary, where a seed or an instructor asks for it."""
    vary_cases(lesson, facts.key, facts.source(lesson.name))
    return lesson


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


def count_drawn(lesson: Lesson, facts: Facts) -> Iterator[str]:
    """Yield how many of the lesson's hidden cases may vary, or have been drawn, where any do."""
    vary, values, others = count_varying(lesson)
    if not (facts.varies and values):
        return
    how = "vary" if facts.key is None else "drawn"
    told = f"{lesson.name}: {vary} of {values} hidden cases {how}"
    told += f", and {others} of errors, bounds or races stay" if others else ""
    if facts.key is not None and not vary:
        told += f": write cases of your own into private/{lesson.name}.py"
    yield told
