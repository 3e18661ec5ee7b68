"""Runs a lesson's cohort: forks the solved lesson, replaces one exercise, judges its test cells.

A lesson's file, `lesson_NN.py`, holds two dicts, `MUTANTS` (wrong, and must lose points) and
`ALTERNATES` (right in another style, and must keep all). Each maps an exercise to its entries, and
an entry's sentence to its code: the body of the function alone, under the solution's own signature,
or, where it says `def NAME`, `class NAME` or `NAME =` itself, the whole of it. `HELPERS`, if there,
is code that all entries can use, so that each differs from the solution in one thing only.

The statements are executed as the grader does it, and judged as the grader does it, but without
its isolation: what attacks the grader does not belong here.
"""

from __future__ import annotations

import ast
import gc
import importlib
import io
import os
import re
import sys
import textwrap
import traceback
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from proflab.checks.values import NotPlainData, dumps, loads, to_plain_data
from proflab.lesson.doubles import HELD
from proflab_course.assemble.collect import collect
from proflab_course.assemble.command import render
from proflab_course.course.hidden_doubles import DoubleSpec
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Cell, read_module
from proflab_course.course.test_cells import Answer, Step, TestCell, split
from proflab_course.grading.verdict import judge_raised, judge_value

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Case:
    """How a case of a test cell ended; `reason` and `diagnosis` say why it failed."""

    cell: str
    label: str
    passed: bool
    reason: str = ""
    diagnosis: str = ""
    hidden: bool = False


@dataclass(frozen=True)
class Solved:
    """A lesson with its solutions executed: its names, its exercises' code, its test cells."""

    name: str
    scope: dict[str, Any]
    solutions: dict[str, str]
    tests: dict[str, list[TestCell]]
    helpers: str

    def cell_points(self) -> dict[str, float]:
        """Each test cell's points."""
        return {cell.name: cell.points for cells in self.tests.values() for cell in cells}


def lessons() -> list[str]:
    """The lessons that have a cohort, as `lesson_NN` names them."""
    return sorted(path.stem for path in Path(__file__).parent.glob("lesson_[0-9][0-9].py"))


def entries(lesson: str, kind: str) -> dict[str, dict[str, str]]:
    """The MUTANTS or ALTERNATES of `lesson_NN`: exercise → sentence → code."""
    return getattr(importlib.import_module(f"cohort.{lesson}"), kind)


@cache
def solved(lesson: str) -> Solved:
    """Execute the lesson's set-up and solutions, once a process, without demo and test cells."""
    course = Course(ROOT)
    name = next(n for n in course.lessons() if n.startswith(lesson.removeprefix("lesson_") + "_"))
    cells = read_module(course.module(name), name).cells
    scope: dict[str, Any] = {"__name__": "__main__"}
    with _built(course, name):
        for cell in cells:
            if cell.role in ("exercise", "given", "free", "setup"):
                exec(compile(cell.code, cell.name or "cell", "exec"), scope)
    exercises = {cell.name: cell.source for cell in cells if cell.role == "exercise"}
    tests = {exercise: _tests(cells, exercise) for exercise in exercises}
    helpers = getattr(importlib.import_module(f"cohort.{lesson}"), "HELPERS", "")
    return Solved(name, scope, exercises, tests, helpers)


@contextmanager
def _built(course: Course, name: str) -> Iterator[None]:
    """Within, `from built import …` gives what the lessons before this one define.

    `import demos` gives the lesson's own demos.py, as it does beside the notebook.
    """
    earlier = [read_module(course.module(n), n) for n in course.lessons() if n < name]
    built = types.ModuleType("built")
    exec(compile(render(collect(earlier), "built"), "built.py", "exec"), vars(built))
    others = sys.modules.get("built")
    sys.modules["built"] = built
    sys.path.insert(0, str(course.module(name).parent))
    sys.modules.pop("demos", None)
    try:
        yield
    finally:
        del sys.modules["built"], sys.path[0]
        sys.modules.pop("demos", None)
        if others is not None:
            sys.modules["built"] = others


def _tests(cells: list[Cell], exercise: str) -> list[TestCell]:
    wanted = re.compile(rf"test_{re.escape(exercise)}(_\d+)?")
    return [
        split(cell.source, cell.name, cell.points)
        for cell in cells
        if cell.role == "test" and wanted.fullmatch(cell.name)
    ]


def stub(solution: str) -> str:
    """The solution's code as the release has it, with nothing written."""
    region = r"^( *)### BEGIN SOLUTION.*?### END SOLUTION$"
    return re.sub(region, r"\1raise NotImplementedError()", solution, flags=re.S | re.M)


def complete(exercise: str, code: str, solution: str) -> str:
    """An entry's code as a whole cell: a bare body gets the solution's signature."""
    code = textwrap.dedent(code).strip("\n")
    if re.search(rf"^(def|class) {exercise}\b|^{exercise}\s*=", code, re.M):
        return code
    function = next(n for n in ast.parse(solution).body if isinstance(n, ast.FunctionDef))
    head = ast.unparse(ast.FunctionDef(function.name, function.args, [ast.Pass()], [], lineno=1))
    return head.replace("\n    pass", "") + "\n" + textwrap.indent(code, "    ")


def judge(lesson: Solved, exercise: str, code: str) -> list[Case]:
    """Every case of the exercise's test cells, in a fork of the solved lesson with `code` in it."""

    def replaced() -> list[Case]:
        exec(compile(lesson.helpers + "\n" + code, exercise, "exec"), lesson.scope)
        return [case for cell in lesson.tests[exercise] for case in _run(cell, lesson.scope)]

    return _in_fork(replaced, lesson.scope)


def judge_all(lesson: Solved, codes: dict[str, str]) -> list[Case]:
    """Every case of the lesson, with all of these exercises replaced at once."""

    def replaced() -> list[Case]:
        for exercise, code in codes.items():
            exec(compile(code, exercise, "exec"), lesson.scope)
        cells = [cell for cells in lesson.tests.values() for cell in cells]
        return [case for cell in cells for case in _run(cell, lesson.scope)]

    return _in_fork(replaced, lesson.scope)


def points(cases: list[Case], lesson: Solved) -> float:
    """The points that these cases are worth: a cell's, when all its cases passed."""
    failed = {case.cell for case in cases if not case.passed}
    cells = {case.cell for case in cases}
    return sum(lesson.cell_points()[cell] for cell in cells - failed)


def _run(cell: TestCell, scope: dict[str, Any]) -> list[Case]:
    cases = []
    for block in cell.blocks:
        doubles = dict(block.doubles)
        for index, (step, answer) in enumerate(zip(block.steps, block.answers, strict=True)):
            if index in doubles:
                scope[doubles[index].name] = _made(doubles[index], scope)
            elif answer is None:
                try:
                    exec(step.code, scope)
                except Exception as error:
                    cases.append(Case(cell.name, "set-up", False, repr(error), "", block.hidden))
                    return cases
            else:
                said = vars(_ask(step, answer, scope))
                cases.append(Case(cell.name, answer.label, **said, hidden=block.hidden))
    return cases


def _made(double: DoubleSpec, scope: dict[str, Any]) -> Any:
    """A double that the grader would hold: here it has its script itself."""
    others = {key: scope[name] for key, name in double.of.items()}
    return HELD[double.kind](**double.given, **others)


def _ask(step: Step, answer: Answer, scope: dict[str, Any]):
    try:
        value = eval(step.code, scope)
    except Exception as error:
        return judge_raised(answer, [kind.__name__ for kind in type(error).__mro__], str(error))
    try:
        return judge_value(answer, loads(dumps(to_plain_data(value))))
    except NotPlainData as error:
        return judge_raised(answer, ["NotPlainData"], str(error))


class _Notebook:
    """Stands for `__main__`, as the notebook does where it is graded: its names are the scope."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.__dict__ = scope


def _in_fork(action: Callable[[], list[Case]], scope: dict[str, Any]) -> list[Case]:
    """What `action` returns in a forked child, so that nothing it does is left here."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        sys.modules["__main__"] = _Notebook(scope)  # frozen, so that clocks must find it by name
        gc.freeze()  # as the grader does: a scripted clock looks through what is made from here on
        try:
            with redirect_stdout(io.StringIO()):  # some entries print
                rows = [list(vars(case).values()) for case in action()]
            data = dumps(rows)
        except BaseException:
            data = dumps(traceback.format_exc())
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(data)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        rows = loads(pipe.read())
    os.waitpid(child, 0)
    if isinstance(rows, str):
        raise RuntimeError(f"the entry's own code is at fault:\n{rows}")
    return [Case(*row) for row in rows]
