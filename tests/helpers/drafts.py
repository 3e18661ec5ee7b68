"""What a set of drafts, a student's code for each exercise of a lesson, scores."""

from __future__ import annotations

import ast
import re
import textwrap

from cohort.run import Solved, judge_all, points

from proflab.lesson.names import used_names


def whole_code(exercise: str, code: str, solution: str) -> str:
    """Return a draft as a whole cell: a bare body gets the solution's own signature."""
    code = textwrap.dedent(code).strip("\n")
    if re.search(rf"^(def|class) {exercise}\b", code, re.M):
        return code
    [function] = ast.parse(solution).body
    assert isinstance(function, ast.FunctionDef)
    function.body = ast.parse(code).body
    return ast.unparse(function)


def scores(lesson: Solved, drafts: dict[str, str]) -> tuple[float, float]:
    """Return the points by visible cases alone, and those of the grade."""
    assert drafts.keys() == lesson.solutions.keys()
    codes = {name: whole_code(name, code, lesson.solutions[name]) for name, code in drafts.items()}
    cases = judge_all(lesson, codes)
    return points([case for case in cases if not case.hidden], lesson), points(cases, lesson)


def unseen(lesson: Solved, drafts: dict[str, str]) -> dict[str, set[str]]:
    """Return the test cells that lose points by hidden cases alone, by exercise.

    Each exercise is judged by itself, in a lesson that is right but for it: its own test cells, and
    those of the exercises that use it.
    """
    found = {}
    for name, code in drafts.items():
        codes = {name: whole_code(name, code, lesson.solutions[name])}
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
