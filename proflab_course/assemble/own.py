"""Store a student's own functions in mine.py, by what the saved notebooks show.

Nothing is run here: an exercise passes if each of its test cells was run after it, without an
error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from proflab.lesson import mine
from proflab.lesson.names import bound_names
from proflab.lesson.outline import Outline
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import Cell, Lesson


def store_own(lessons: Iterable[Lesson]) -> list[str]:
    """Store the functions of each lesson that pass; return a sentence for each that has some."""
    said = []
    for lesson in lessons:
        path = Path(lesson.place)
        outline, place = Outline.read(path.parent), mine.place(path.parent)
        if path.suffix != ".ipynb" or outline is None or place is None:
            continue
        ran = [cell for cell in lesson.cells if cell.node.get("execution_count")]
        sentence = mine.store([cell.code for cell in ran], outline, _passing(ran, outline), place)
        said += [f"  {lesson.name}: {sentence}"] if sentence else []
    return said


def _passing(ran: list[Cell], outline: Outline) -> set[str]:
    defined: dict[str, int] = {}
    tested: dict[str, int] = {}
    for cell in ran:
        known, count = outline.cell(cell.source), int(cell.node.execution_count)
        if known is None:
            defined |= dict.fromkeys(bound_names(_statements(cell)), count)
        elif known.kind == "test" and not any(
            output.output_type == "error" for output in cell.node.outputs
        ):
            tested[known.name] = count
    return {
        exercise.name
        for exercise in outline.exercises.values()
        if exercise.tests and exercise.name in defined
        if all(tested.get(test, 0) > defined[exercise.name] for test in exercise.tests)
    }


def _statements(cell: Cell) -> list[ast.stmt]:
    try:
        return cell.statements()
    except CourseError:
        return []
