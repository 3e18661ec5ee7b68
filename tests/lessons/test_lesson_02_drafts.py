"""Lesson 02 for who has only the docstrings: what the visible cases say is what the grade says."""

from __future__ import annotations

import pytest
from cohort.run import complete, judge_all, points, solved
from lesson_02_drafts import FAST, SLOW

LESSON = solved("lesson_02")


def scores(drafts):
    """The points by visible cases alone, and those of the grade."""
    assert drafts.keys() == LESSON.solutions.keys()
    codes = {name: complete(name, code, LESSON.solutions[name]) for name, code in drafts.items()}
    cases = judge_all(LESSON, codes)
    return points([case for case in cases if not case.hidden], LESSON), points(cases, LESSON)


@pytest.mark.parametrize("drafts, most", [(FAST, 60), (SLOW, 100)])
def test_the_grade_is_what_the_visible_cases_led_to_expect(drafts, most):
    visible, graded = scores(drafts)
    assert visible - 5 <= graded <= visible <= most


def test_each_exercise_of_a_hurried_draft_that_loses_shows_it():
    """Also one by one, in a lesson that is right but for this exercise."""
    for name, code in FAST.items():
        code = complete(name, code, LESSON.solutions[name])
        cases = judge_all(LESSON, {name: code})
        lost = {case.cell for case in cases if not case.passed}
        shown = {case.cell for case in cases if not case.passed and not case.hidden}
        assert lost == shown, name
