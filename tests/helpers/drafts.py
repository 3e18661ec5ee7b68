"""What a set of drafts, a student's code for each exercise of a lesson, scores."""

from __future__ import annotations

import textwrap

from cohort.run import Solved, judge_all, points

from proflab.lesson.names import used_names
from proflab_course.course.wrong import whole_code


def scores(lesson: Solved, drafts: dict[str, str]) -> tuple[float, float]:
    """Return the points by visible cases alone, and those of the grade."""
    assert drafts.keys() == lesson.solutions.keys()
    codes = {name: _cell(lesson, name, code) for name, code in drafts.items()}
    cases = judge_all(lesson, codes)
    return points([case for case in cases if not case.hidden], lesson), points(cases, lesson)


def unseen(lesson: Solved, drafts: dict[str, str]) -> dict[str, set[str]]:
    """Return the test cells that lose points by hidden cases alone, by exercise.

    Each exercise is judged by itself, in a lesson that is right but for it: its own test cells, and
    those of the exercises that use it.
    """
    found = {}
    for name, code in drafts.items():
        codes = {name: _cell(lesson, name, code)}
        cases = judge_all(lesson, codes, using(lesson, name))
        failed = [case for case in cases if not case.passed]
        lost = {case.cell for case in failed} - {case.cell for case in failed if not case.hidden}
        if lost:
            found[name] = lost
    return found


def using(lesson: Solved, exercise: str) -> list[str]:
    """Return the exercises whose solution or test cells use this one, also by way of others."""
    names = {cell.name: used_names(cell.statements()) for cell in lesson.cells if cell.statements()}
    found = {exercise}
    while more := {n for n in lesson.solutions if n not in found and names[n] & found}:
        found |= more
    return [n for n, cells in lesson.tests.items()
            if n in found or any(names[cell.name] & found for cell in cells)]  # fmt: skip


def _cell(lesson: Solved, name: str, code: str) -> str:
    return whole_code(name, textwrap.dedent(code).strip("\n"), lesson.solutions[name])
