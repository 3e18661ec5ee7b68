"""A lesson for who has only docstrings and visible cases: these say what the grade says."""

from __future__ import annotations

import importlib

import pytest
from cohort.run import solved
from drafts import scores, unseen

MOST = {"04": (45, 114), "05": (30, 126), "06": (38, 104)}  # points of the first and second drafts


@pytest.fixture(params=MOST)
def lesson(request):
    return request.param


def drafts_of(lesson):
    """Return a lesson's first and second drafts: exercise → code."""
    module = importlib.import_module(f"lesson_{lesson}_drafts")
    return module.FIRST, module.SECOND


def test_the_grade_is_what_the_visible_cases_led_to_expect(lesson):
    for drafts, most in zip(drafts_of(lesson), MOST[lesson], strict=True):
        visible, graded = scores(solved(f"lesson_{lesson}"), drafts)
        assert visible - 5 <= graded <= visible <= most


@pytest.mark.whole
def test_each_exercise_of_a_draft_that_loses_shows_it(lesson):
    """Also one by one, in a lesson that is right but for this exercise."""
    first, second = drafts_of(lesson)
    repaired = {name: code for name, code in second.items() if code != first[name]}
    assert unseen(solved(f"lesson_{lesson}"), first) == {}
    assert unseen(solved(f"lesson_{lesson}"), repaired) == {}
