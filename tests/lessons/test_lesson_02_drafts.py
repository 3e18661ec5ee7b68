"""Lesson 02 for who has only the docstrings: what the visible cases say is what the grade says."""

from __future__ import annotations

import pytest
from cohort.run import solved
from drafts import scores, unseen
from lesson_02_drafts import FAST, SLOW

LESSON = solved("lesson_02")


@pytest.mark.parametrize("drafts, most", [(FAST, 0.6), (SLOW, 1)])
def test_the_grade_is_what_the_visible_cases_led_to_expect(drafts, most):
    visible, graded = scores(LESSON, drafts)
    assert visible - 5 <= graded <= visible <= most * sum(LESSON.cell_points().values())


def test_each_exercise_of_a_hurried_draft_that_loses_shows_it():
    """Also one by one, in a lesson that is right but for this exercise."""
    assert unseen(LESSON, FAST) == {}
