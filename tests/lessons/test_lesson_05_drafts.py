"""Lesson 05 for who has only docstrings and visible cases: these say what the grade says."""

from __future__ import annotations

import pytest
from cohort.run import solved
from drafts import scores, unseen
from lesson_05_drafts import FIRST, SECOND

LESSON = solved("lesson_05")


@pytest.mark.parametrize("drafts, most", [(FIRST, 14), (SECOND, 94)])
def test_the_grade_is_what_the_visible_cases_led_to_expect(drafts, most):
    visible, graded = scores(LESSON, drafts)
    assert visible - 5 <= graded <= visible <= most


@pytest.mark.parametrize("drafts", [FIRST, SECOND])
def test_each_exercise_of_a_draft_that_loses_shows_it(drafts):
    """Also one by one, in a lesson that is right but for this exercise."""
    new = {n: code for n, code in drafts.items() if drafts is FIRST or code != FIRST[n]}
    assert unseen(LESSON, new) == {}
