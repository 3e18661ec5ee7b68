"""No key of `proflab viva` is wrong or ambiguous for any of the cohort's hand-ins."""

import pytest
from sandboxes import needs_sandbox

from benchmarks.bench_viva import measured
from proflab_classroom.viva.command import Lesson
from proflab_classroom.viva.execute import Sandbox
from proflab_course.course.features import counted
from proflab_course.course.layout import Course
from proflab_course.grading.answer_key import read_key

pytestmark = [pytest.mark.soak, needs_sandbox]
COVERED = 0.95


def test_every_key_holds_and_nearly_all_exercises_can_be_asked_about():
    course = Course.find()
    exercises, covered, wrong = 0, 0, []
    with Sandbox() as sandbox:
        for name in counted(course.lessons("source")):
            lesson = Lesson(course, read_key(course.source(name)))
            figures = measured(lesson, sandbox, most=6)
            wrong += [f"{name}: {each}" for each in figures.wrong]
            exercises += len(figures.found)
            covered += len(figures.covered)
    assert wrong == []
    assert covered >= COVERED * exercises
