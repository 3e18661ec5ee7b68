"""Trace the programs that a lesson and its cohort know for a race, at the visible size."""

from __future__ import annotations

import ast
import importlib
import textwrap
from collections.abc import Iterator
from typing import Any

from cohort.run import solved

from proflab_course.course.test_cells import Answer

LESSONS = {
    "lesson_06": "lesson_06_races",
    "lesson_07": "lesson_07_races",
    "lesson_09": "lesson_09_races",
    "lesson_11": "lesson_11_races",
    "lesson_12": "lesson_12_races",
    "lesson_13": "lesson_13",
}


def races(lesson: str) -> Any:
    """Return the module of the cohort that holds what is handed in for a lesson's races."""
    return importlib.import_module(f"cohort.{LESSONS[lesson]}")


def raced(lesson: str, name: str, body: str | None = None) -> tuple[Answer, Any, dict]:
    """Return a race's visible case, what a program yields there, and the names beside it.

    body: the program's; None for the solution. What it yields is a tape or a plan.
    """
    known, scope = solved(lesson), dict(solved(lesson).scope)
    exec(races(lesson).HELPERS, scope)
    if body is not None:
        exec(_function(known.solutions[name], name, body), scope)
    block = known.tests[name][0].blocks[0]
    with known.beside():
        for step in block.steps[:-1]:
            exec(step.code, scope)
        made = eval(block.steps[-1].code, scope)
    return block.answers[-1], made, scope


def bodies(lesson: str, name: str) -> Iterator[tuple[str, str | None]]:
    """Yield each idea for a race with its body, then the solution, then the best known."""
    for sentence, (_, body) in races(lesson).STEPS[name].items():
        yield sentence, body
    yield "the solution", None
    for sentence, body in getattr(races(lesson), "BEST", {}).get(name, {}).items():
        yield f"best known: {sentence}", body


def _function(solution: str, name: str, body: str) -> str:
    body = textwrap.dedent(body).strip()
    if f"def {name}(" in body:
        return body
    [function] = [n for n in ast.parse(solution).body if isinstance(n, ast.FunctionDef)]
    return f"def {name}({ast.unparse(function.args)}):\n{textwrap.indent(body, '    ')}"
