"""A grade of a race does not depend on the machine: the same scores, idle and with 30 at work."""

import os
import shutil
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import nbformat
import pytest
from busy import busy_cores
from cohort.run import known, solved
from grading_course import copy_course
from sandboxes import needs_sandbox

from proflab_course.build.make import make
from proflab_course.build.prepare import prepare
from proflab_course.course.layout import Course
from proflab_course.grading.command import grade_class
from proflab_course.grading.run.sandbox_runner import SandboxRunner

pytestmark = [pytest.mark.soak, needs_sandbox]
ROOT = Path(__file__).resolve().parents[2]
HAND_INS = int(os.environ.get("PROFLAB_SOAK_RACES", "20"))
AT_WORK = 30  # other processes that never wait
LESSONS = {
    "12_serving": ("lesson_12", "generate"),
    "13_faster": ("lesson_13", "faster"),
}


def programs(lesson):
    """The course's own solution and each idea on the way to it, as one exercise's code."""
    of, exercise = LESSONS[lesson]
    yield solved(of).solutions[exercise]
    for entry in known(of).wrong(exercise):
        if entry.kind == "slow":
            yield f"{known(of).helpers}\n{entry.code}"


def course_of(lesson, place):
    """A course with this lesson, as it lies here or, of a track that is not here, built."""
    course, built = copy_course(place, []), ROOT
    if not Course(ROOT).source(lesson).exists():
        built = place / "work"
        assert not make(prepare(Course(ROOT), [lesson], track="capstone"), built, "full")
    for step in ("source", "release"):
        shutil.copytree(built / step / lesson, place / step / lesson)
    return course


def hand_ins(course, lesson):
    """Write each student's notebook, with the outputs that it would have had at home."""
    exercise = LESSONS[lesson][1]
    source = nbformat.read(course.source(lesson), as_version=4)
    for number, code in enumerate(islice(cycle(programs(lesson)), HAND_INS)):
        notebook = nbformat.from_dict(source)
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") == exercise:
                cell.source = code
        folder = course.root / "submitted" / f"student_{number:02}" / lesson
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{lesson}.ipynb")


def with_outputs(course, lesson):
    """Hand in again what was executed, with the times that a work log has measured."""
    for graded in course.root.glob(f"autograded/*/{lesson}/{lesson}.ipynb"):
        student = graded.parts[-3]
        shutil.copy(graded, course.root / "submitted" / student / lesson)


@pytest.mark.parametrize("lesson", LESSONS)
def test_scores_are_equal_on_an_idle_and_on_a_busy_machine(lesson, tmp_path):
    course = course_of(lesson, tmp_path)
    hand_ins(course, lesson)
    scores = []
    with SandboxRunner(jobs=1) as runner:
        grade = partial(grade_class, course, lesson, runner, regrade=True, progress=False)
        grade()
        with_outputs(course, lesson)
        for each in (0, AT_WORK // len(os.sched_getaffinity(0))):
            with busy_cores(each):
                scores.append({row.student: (row.status, row.score) for row in grade()})
    assert len(scores[0]) == HAND_INS
    assert scores[0] == scores[1]
    assert {status for status, _ in scores[0].values()} == {"graded"}, scores[0]
