"""A lesson for who has only docstrings and visible cases: these say what the grade says.

What students wrote from them is in tests/helpers/lesson_NN_drafts.py.
"""

from __future__ import annotations

import importlib
import textwrap

import pytest
from chosen import chosen
from cohort.run import Solved, judge_all, points, solved

from proflab.lesson.names import used_names
from proflab_course.course.wrong import whole_code

# Points of the first and second drafts, at most.
MOST = {"02": (86, 144), "04": (45, 114), "05": (30, 126), "06": (38, 104)}


def drafts_of(lesson):
    """Return a lesson's first and second drafts: exercise → code."""
    module = importlib.import_module(f"lesson_{lesson}_drafts")
    return module.FIRST, module.SECOND


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


@pytest.mark.parametrize("lesson", MOST)
def test_the_grade_is_what_the_visible_cases_led_to_expect(lesson):
    for drafts, most in zip(drafts_of(lesson), MOST[lesson], strict=True):
        visible, graded = scores(solved(f"lesson_{lesson}"), drafts)
        assert visible - 5 <= graded <= visible <= most


@pytest.mark.parametrize("lesson", chosen(MOST, here=["02"]))
def test_each_exercise_of_a_draft_that_loses_shows_it(lesson):
    """Also one by one, in a lesson that is right but for it; of the second, what it has changed."""
    first, second = drafts_of(lesson)
    repaired = {name: code for name, code in second.items() if code != first[name]}
    assert unseen(solved(f"lesson_{lesson}"), first) == {}
    assert unseen(solved(f"lesson_{lesson}"), repaired) == {}
