"""A lesson's cells in tests: executed as Jupyter would, and what a wrong solution is told."""

from __future__ import annotations

import ast
from typing import Any

from cohort.run import complete, entries, judge, solved


def named(lesson, name: str):
    """The lesson's cell of this name."""
    return next(cell for cell in lesson.cells if cell.name == name)


def value_of(cell, scope: dict[str, Any]) -> Any:
    """Execute a cell in `scope`; the value of the expression on which it ends, None without one."""
    body = ast.parse(cell.code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else ast.parse("None").body[0]
    exec(compile(ast.Module(body, []), cell.name, "exec"), scope)
    return eval(compile(ast.Expression(last.value), cell.name, "eval"), scope)


def show(cell, scope: dict[str, Any]) -> tuple[str, Any]:
    """What a demo cell prints, and the picture that it ends on, if it does."""
    printed: list[str] = []
    scope["print"] = lambda *parts: printed.append(" ".join(parts))
    value = value_of(cell, scope)
    return "\n".join(printed), value


def diagnoses(lesson: str, exercise: str, mutant: str) -> list[str]:
    """The diagnosis of each case of `lesson_NN` for one of the exercise's wrong solutions."""
    original = solved(lesson)
    code = entries(lesson, "MUTANTS")[exercise][mutant]
    code = complete(exercise, code, original.solutions[exercise])
    return [case.diagnosis for case in judge(original, exercise, code)]
