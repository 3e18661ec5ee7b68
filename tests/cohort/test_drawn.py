"""Drawn hidden cases: half of each lesson's may vary, and right and wrong keep their verdicts.

A few exercises are drawn a few times; `python -m tests.cohort.variants` draws all of them fifty
times, as the soak test does.
"""

import pytest
from chosen import chosen

from cohort.run import ROOT, exercises, lessons
from cohort.variants import audit
from proflab_course.build.prepare import prepare
from proflab_course.course.layout import Course
from proflab_course.grading.own_numbers.cases import count_varying

DRAWS, EACH = 3, 12  # draws of every twelfth exercise
WHOLE = [(lesson, exercise) for lesson in lessons() for exercise in exercises(lesson)]
SOME = WHOLE[::EACH]


@pytest.mark.whole
def test_half_of_the_hidden_cases_with_a_value_vary_in_each_lesson():
    plan = prepare(Course(ROOT))
    counted = {name: count_varying(plan.taken[name].lesson) for name in plan.wanted}
    assert {name: n for name, n in counted.items() if 2 * n[0] < n[1]} == {}


@pytest.mark.parametrize("each", chosen(SOME, SOME[1::5]), ids="-".join)
def test_right_and_wrong_keep_their_verdicts(each):
    lesson, exercise = each
    assert audit(lesson, exercise, DRAWS).flips == []


@pytest.mark.soak
@pytest.mark.parametrize(("lesson", "exercise"), WHOLE)
def test_right_and_wrong_keep_their_verdicts_in_fifty_draws(lesson, exercise):
    assert audit(lesson, exercise).flips == []
