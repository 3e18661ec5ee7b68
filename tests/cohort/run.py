"""Runs a lesson's cohort: replaces one exercise of the solved lesson, judges its test cells.

The entries are the known solutions beside each lesson, wrong ones and unusual right ones; the form
of their files is explained in proflab_course/course/wrong.py. Wrong ones must lose points, and
right ones must keep all.

The statements are executed as the grader does it, and judged as the grader does it, but without
its isolation: what attacks the grader does not belong here. Entries are judged in forks of a
process that holds the solved lessons and nothing else: a fork of a test runner takes ten times as
long. `judge` gives an entry a fork of its own. `judge_many` judges entries one after the other in
one, and puts the lesson's names back between them, which is more than twice as fast; what one of
them leaves behind elsewhere may change the next one's verdict, so who uses it has to know what to
expect, and to judge alone what differs.
"""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from cohort.judging import judged
from proflab.checks.values import dumps
from proflab_course.assemble.command import render
from proflab_course.assemble.gather import gather
from proflab_course.build.in_process import Case, run_cell
from proflab_course.cases.reader import TestCell, split
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Cell, read_module
from proflab_course.course.wrong import FOLDER, KnownSolutions, read_known_solutions

ROOT = Path(__file__).parents[2]
TOGETHER = 60  # entries in one fork


@dataclass(frozen=True, eq=False)
class Solved:
    """A lesson with its solutions: its exercises' code, its test cells, and its names."""

    key: str
    name: str
    cells: list[Cell] = field(repr=False)
    solutions: dict[str, str]
    tests: dict[str, list[TestCell]]
    helpers: str

    @cached_property
    def scope(self) -> dict[str, Any]:
        """The names after its set-up and solutions were executed, without demo and test cells."""
        scope = {"__name__": "__main__"}
        with self.beside():
            for cell in self.cells:
                if cell.role in ("exercise", "given", "free", "setup"):
                    exec(compile(cell.code, cell.name or "cell", "exec"), scope)
        return scope

    @cached_property
    def built(self) -> types.ModuleType:
        """Return what `built.py` has beside this lesson: all that the lessons before it define."""
        course, built = Course(ROOT), types.ModuleType("built")
        earlier = [read_module(course.module(n), n) for n in course.lessons() if n < self.name]
        exec(compile(render(gather(earlier), "built"), "built.py", "exec"), vars(built))
        return built

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Within, this lesson's folder is the working directory, and has `built` and `demos`.

        A module of one of its files' names that comes from elsewhere, such as another student's
        `program`, is not there, either.
        """
        folder = str(Course(ROOT).module(self.name).parent)
        names = {"built", "demos"}
        for path in Path(folder).glob("*.py"):
            module = sys.modules.get(path.stem)
            if module is not None and getattr(module, "__file__", "") != str(path):
                names.add(path.stem)
        others = {own: sys.modules.pop(own, None) for own in names}
        sys.modules["built"] = self.built
        sys.path.insert(0, folder)
        try:
            with chdir(folder):
                yield
        finally:
            sys.path.remove(folder)
            for own, other in others.items():
                sys.modules.pop(own, None)
                if other is not None:
                    sys.modules[own] = other

    def cell_points(self) -> dict[str, float]:
        """Each test cell's points."""
        return {cell.name: cell.points for cells in self.tests.values() for cell in cells}


def lessons() -> list[str]:
    """The lessons that have a cohort, as `lesson_NN` names them."""
    course = Course(ROOT)
    names = (name for name in course.lessons() if (course.module(name).parent / FOLDER).is_dir())
    return [f"lesson_{name[:2]}" for name in names]


@cache
def known(lesson: str) -> KnownSolutions:
    """The known solutions of `lesson_NN`."""
    return read_known_solutions(Course(ROOT), _cells(lesson)[0])


@cache
def entries(lesson: str, kind: str) -> dict[str, dict[str, str]]:
    """The MUTANTS (wrong) or ALTERNATES (right) of `lesson_NN`: exercise → sentence → code."""
    right = kind == "ALTERNATES"
    return {
        exercise: {e.sentence: e.code for e in found if (e.is_right if right else e.kind)}
        for exercise, found in known(lesson).of.items()
    }


@cache
def _cells(lesson: str) -> tuple[str, list[Cell]]:
    """Return the whole name of a lesson and its cells."""
    course = Course(ROOT)
    name = next(n for n in course.lessons() if n.startswith(lesson.removeprefix("lesson_") + "_"))
    return name, read_module(course.module(name), name).cells


def exercises(lesson: str) -> list[str]:
    """Return the names of a lesson's exercises, read off its cells' headers.

    Each process that collects tests asks for those of all lessons, and to read them whole takes it
    a second.
    """
    [module] = ROOT.glob(f"modules/{lesson.removeprefix('lesson_')}_*/[0-9]*.py")
    headers = re.findall(r"^# %% nbgrader=({.*?})", module.read_text("utf-8"), re.M)
    marks = map(json.loads, headers)
    return [each["grade_id"] for each in marks if each["solution"] and not each["grade"]]


@cache
def solved(lesson: str) -> Solved:
    """The lesson with its solutions; they are executed when its names are first asked for."""
    name, cells = _cells(lesson)
    solutions = {cell.name: cell.source for cell in cells if cell.role == "exercise"}
    tests = {exercise: _tests(cells, exercise) for exercise in solutions}
    return Solved(lesson, name, cells, solutions, tests, known(lesson).helpers)


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


def judge(lesson: Solved, exercise: str, code: str) -> list[Case]:
    """Every case of the exercise's test cells, in a fork of the solved lesson with `code` in it."""
    return _cases("all_cases", lesson, {exercise: f"{lesson.helpers}\n{code}"}, None)


def judge_all(
    lesson: Solved, codes: dict[str, str], exercises: list[str] | None = None
) -> list[Case]:
    """Every case of these exercises (all, if None), with all of `codes` replaced at once."""
    return _cases("all_cases", lesson, codes, exercises or list(lesson.tests))


def judge_many(
    lesson: Solved, exercise: str, codes: Sequence[str], first: bool = False
) -> list[list[Case]]:
    """Every case of the exercise for each code, in the same fork, as many as one fork is good for.

    first: only the cases that fail, up to the first visible one. At the end of a fork the lesson's
    own solution is judged. Where it no longer passes, an entry has changed more than names, and all
    of that fork are judged again, each alone.
    """
    found: list[list[Case]] = []
    for start in range(0, len(codes), TOGETHER):
        some = [f"{lesson.helpers}\n{code}" for code in codes[start : start + TOGETHER]]
        rows = judged("one_by_one", lesson.key, exercise, some, first)
        if not rows:
            rows = [judged("alone", lesson.key, exercise, code, first) for code in some]
        found += [[Case(*row) for row in of] for of in rows]
    return found


def earned(lesson: Solved, attempts: list[dict[str, str]]) -> list[float]:
    """The points of each attempt, a dict from exercise to code that changes nothing when called.

    All are made in one fork, one after the other, and a cell's cases up to the first that fails.
    """
    return judged("totals", lesson.key, attempts)


def _cases(what: str, lesson: Solved, *arguments: Any) -> list[Case]:
    return [Case(*row) for row in judged(what, lesson.key, *arguments)]


def all_cases(lesson: Solved, codes: dict[str, str], exercises: list[str] | None) -> list[list]:
    """Judge these exercises (those replaced, if None) in this process: a row a case."""
    return _rows(_replaced(lesson, codes, exercises))


def one_by_one(lesson: Solved, exercise: str, codes: list[str], first: bool) -> list[list[list]]:
    """Judge codes of an exercise in this process, one after the other: the rows of each.

    Returns nothing where the lesson's own solution no longer passes after them, and where one ends
    with more than an exception.
    """
    names, found = dict(lesson.scope), []
    # The solution after the helpers, too, which may put what they replace in its place again.
    for code in [*codes, f"{lesson.helpers}\n{lesson.solutions[exercise]}"]:
        try:
            found.append(alone(lesson, exercise, code, first))
        except BaseException:
            return []
        lesson.scope.clear()
        lesson.scope.update(names)
    return found if all(Case(*row).passed for row in found.pop()) else []


def alone(lesson: Solved, exercise: str, code: str, first: bool) -> list[list]:
    """Judge a code of an exercise in this process: a row a case, or `first` those that fail."""
    cases = _replaced(lesson, {exercise: code})
    return _rows(_first_failures(cases) if first else cases)


def _first_failures(cases: Iterable[Case]) -> Iterator[Case]:
    """Yield the cases that fail, up to the first visible one."""
    for case in cases:
        if not case.passed:
            yield case
            if not case.hidden:
                return


def totals(lesson: Solved, attempts: list[dict[str, str]]) -> list[float]:
    """Judge attempts in this process, and return their points."""
    found = []
    for codes in attempts:
        _define(lesson, codes)
        cells = [cell for exercise in codes for cell in lesson.tests[exercise]]
        passed = [all(case.passed for case in run_cell(cell, lesson.scope)) for cell in cells]
        found.append(sum(c.points for c, full in zip(cells, passed, strict=True) if full))
    return found


def given(lesson: Solved, programs: list[str]) -> list[str]:
    """Return the tapes of given programs, by the code that traces them, as a notebook has them."""
    return [dumps(list(eval(code, lesson.scope))).decode() for code in programs]


def _define(lesson: Solved, codes: dict[str, str]) -> None:
    for exercise, code in codes.items():
        exec(compile(code, exercise, "exec"), lesson.scope)


def _replaced(
    lesson: Solved, codes: dict[str, str], judged: list[str] | None = None
) -> Iterator[Case]:
    """Yield the cases of the exercises `judged` (those replaced, if None), in this process."""
    _define(lesson, codes)
    logs: dict[str, Any] = {}
    for exercise in codes if judged is None else judged:
        for cell in lesson.tests[exercise]:
            yield from run_cell(cell, lesson.scope, logs)


def _rows(cases: Iterable[Case]) -> list[list[Any]]:
    return [list(vars(case).values()) for case in cases]


def points(cases: list[Case], lesson: Solved) -> float:
    """The points that these cases are worth: a cell's, when all its cases passed."""
    failed = {case.cell for case in cases if not case.passed}
    cells = {case.cell for case in cases}
    return sum(lesson.cell_points()[cell] for cell in cells - failed)
