"""Store a student's own functions in mine.py, judged by the saved notebooks.

Nothing is executed: an exercise passes if each of its test cells was run after it, without an
error. Functions that a run or `proflab check` found to pass stay in mine.py if unchanged.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from proflab.lesson import mine
from proflab.lesson.names import bound_names
from proflab.lesson.outline import Outline
from proflab.lesson.statements import is_stub
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import Cell, Lesson


def store_own(lessons: Iterable[Lesson]) -> list[str]:
    """Store the functions of each lesson that pass; return those stored and those left out."""
    sentences = []
    for lesson in lessons:
        path = Path(lesson.place)
        outline, place = Outline.read(path.parent), mine.place(path.parent)
        if path.suffix != ".ipynb" or outline is None or place is None:
            continue
        ran = [cell for cell in lesson.cells if cell.node.get("execution_count")]
        runs = _runs(ran, outline)
        passing = {name for name, trouble in runs.items() if not trouble}
        sentence = mine.store([cell.code for cell in ran], outline, passing, place)
        sentences += [f"  {lesson.name}: {sentence}"] if sentence else []
        stored = mine.stored(place, lesson.name)
        left_out = [f"{name} ({why})" for name, why in runs.items() if name not in stored]
        if left_out:
            then = f"run the notebook, or proflab check {lesson.name[:2]}, and assemble again"
            sentences.append(f"  {lesson.name}: not in {mine.FILE}: {', '.join(left_out)}; {then}")
    return sentences


def _runs(ran: list[Cell], outline: Outline) -> dict[str, str]:
    """Return each exercise that was run, with the reason why it may not pass, "" if it passes."""
    defined: dict[str, int] = {}
    tested: dict[str, int] = {}
    failed: set[str] = set()
    for cell in ran:
        known, count = outline.cell(cell.source), int(cell.node.execution_count)
        if known is None:
            nodes = [node for node in _statements(cell) if not is_stub(node)]
            defined |= dict.fromkeys(bound_names(nodes), count)
        elif known.kind == "test":
            tested[known.name] = count
            outputs = cell.node.get("outputs", [])
            if any(output.get("output_type") == "error" for output in outputs):
                failed.add(known.name)
    return {
        name: _trouble([tested.get(test, 0) for test in exercise.tests], defined[name])
        or ("its checks failed when they were last run" if failed & exercise.tests.keys() else "")
        for name, exercise in outline.exercises.items()
        if exercise.tests and name in defined
    }


def _trouble(tested: list[int], defined: int) -> str:
    """Return why the order of the runs proves nothing; a count of 0 means not run."""
    if not all(tested):
        return "not all of its checks were run"
    return "" if min(tested) > defined else "its checks were not run after it"


def _statements(cell: Cell) -> list[ast.stmt]:
    try:
        return cell.statements()
    except CourseError:
        return []
