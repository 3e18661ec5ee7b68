"""The whole cohort, idle and under load, for any number of jobs; and right work is never failed."""

import os
import shutil

import nbformat
import pytest
from busy import busy_cores
from cohort.run import entries
from grading_course import LESSON, ROOT, copy_course, solved
from mutant_classes import grade_with, make_course
from sandboxes import needs_sandbox

from proflab_course.course.features import counted
from proflab_course.course.layout import Course
from proflab_course.grading.command import grade_class
from proflab_course.grading.run.sandbox_runner import SandboxRunner

pytestmark = [pytest.mark.soak, needs_sandbox]
GRADINGS = int(os.environ.get("PROFLAB_SOAK_GRADINGS", "200"))


def all_mutants():
    wrong = entries("lesson_01", "MUTANTS")
    return [(exercise, code) for exercise, codes in wrong.items() for code in codes.values()]


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


@pytest.mark.parametrize("lesson", counted(Course(ROOT).lessons("source")))
def test_right_work_is_never_failed_under_load(lesson, tmp_path):
    """Each lesson's solution, again and again, with three busy processes a core beside it."""
    course = copy_course(tmp_path, [])
    for step in ("source", "release"):
        shutil.copytree(ROOT / step / lesson, tmp_path / step / lesson, dirs_exist_ok=True)
    notebook = nbformat.writes(solved()).encode() if lesson == LESSON else None
    for number in range(GRADINGS):
        place = course.root / "submitted" / f"right_{number:04}" / lesson
        place.mkdir(parents=True)
        right = notebook or course.source(lesson).read_bytes()
        (place / f"{lesson}.ipynb").write_bytes(right)
    with busy_cores(3), SandboxRunner(jobs=4) as runner:
        rows = grade_class(course, lesson, runner, jobs=4, progress=False)
    assert {(row.score, row.status, row.sentence) for row in rows} == {(100, "graded", "")}
    assert len(rows) == GRADINGS
