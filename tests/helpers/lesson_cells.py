"""A lesson's cells in tests: executed as Jupyter would, and what a wrong solution is told."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from cohort.run import ROOT, entries, judge, solved
from lesson_demos import demos_of

from proflab.lesson.race.show import counting
from proflab_course.course.notebook import read_module


def lesson_text(path: Path) -> str:
    """Return a lesson's text with each paragraph on one line, as its notebook has it."""
    cells = read_module(path, path.stem).cells

    def marked(cell):
        if cell.role != "text":
            return f"# %%\n{cell.source}"
        return "# %% [markdown]\n" + re.sub("^", "# ", cell.source, flags=re.M)

    return "\n\n".join(map(marked, cells))


def named(lesson, name: str):
    """Return the lesson's cell of this name."""
    return next(cell for cell in lesson.cells if cell.name == name)


def value_of(cell, scope: dict[str, Any]) -> Any:
    """Execute a cell in `scope`; return its last expression's value, None without one."""
    body = ast.parse(cell.code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else ast.parse("None").body[0]
    exec(compile(ast.Module(body, []), cell.name, "exec"), scope)
    return eval(compile(ast.Expression(last.value), cell.name, "eval"), scope)


def show(cell, scope: dict[str, Any]) -> tuple[str, Any]:
    """Return what a demo cell prints, and the picture that it ends on, if it does."""
    printed: list[str] = []
    scope["print"] = lambda *parts: printed.append(" ".join(parts))
    value = value_of(cell, scope)
    return "\n".join(printed), value


def show_all(lesson) -> tuple[dict[str, tuple[str, Any]], dict[str, Any]]:
    """Return what each small demo cell of the solved lesson shows, and all names after them."""
    folder = ROOT / "modules" / lesson.name
    scope = dict(solved(f"lesson_{lesson.name[:2]}").scope)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFLAB_DEMO", "small")
        if (folder / "demos.py").exists():
            patch.setitem(sys.modules, "demos", demos_of(lesson.name))
        patch.syspath_prepend(str(folder))
        patch.chdir(folder)
        if "op_facts" in scope:  # another lesson may have said `race.count_with` since
            patch.setitem(counting, "op_facts", scope["op_facts"])
        return {cell.name: show(cell, scope) for cell in lesson.named("demo")}, scope


def diagnoses(lesson: str, exercise: str, mutant: str) -> list[str]:
    """Return the diagnosis of each case of `lesson_NN` for a wrong solution of the exercise."""
    original = solved(lesson)
    code = entries(lesson, "MUTANTS")[exercise][mutant]
    return [case.diagnosis for case in judge(original, exercise, code)]
