"""The whole cohort, idle and under load, for any number of jobs; and right work is never failed."""

import os

import pytest
from busy import busy_cores
from cohort.lesson_01 import MUTANTS
from grading_course import LESSON, copy_course, hand_in, solved
from sandboxes import needs_sandbox
from test_same_scores import grade_with, make_course

from proflab.grading.grade import grade_class
from proflab.grading.sandbox import SandboxRunner

pytestmark = [pytest.mark.soak, needs_sandbox]
GRADINGS = int(os.environ.get("PROFLAB_SOAK_GRADINGS", "200"))


def all_mutants():
    return [(exercise, code) for exercise, codes in MUTANTS.items() for code in codes.values()]


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """The whole cohort, one at a time, in peace."""
    return grade_with(make_course(tmp_path_factory.mktemp("calm") / "course", all_mutants()), 1)


@pytest.mark.parametrize("jobs", [1, 4])
@pytest.mark.parametrize("load", [0, 1, 3])
def test_the_whole_cohort_agrees_to_the_last_point(jobs, load, calm, tmp_path):
    with busy_cores(load):
        again = grade_with(make_course(tmp_path / "course", all_mutants()), jobs)
    assert again == calm


def test_right_work_is_never_failed_under_load(tmp_path):
    course = copy_course(tmp_path, [])
    for number in range(GRADINGS):
        hand_in(course, f"right_{number:04}", solved())
    with busy_cores(3), SandboxRunner(jobs=4) as runner:
        rows = grade_class(course, LESSON, runner, jobs=4, progress=False)
    assert {(row.score, row.status, row.sentence) for row in rows} == {(100, "graded", "")}
    assert len(rows) == GRADINGS
