"""Lesson 03 through the grader: hidden scripts stay with it, and verdicts are the cohort's."""

from __future__ import annotations

import shutil

import nbformat
import pytest
from cohort.run import entries, judge_all, points, solved
from grading_course import cell, copy_course
from nbformat import NotebookNode
from sandboxes import needs_sandbox
from whole_lessons import whole_lesson

from proflab_course.course.layout import Course
from proflab_course.grading.command import grade_class
from proflab_course.grading.run.sandbox_runner import SandboxRunner

pytestmark = [needs_sandbox, pytest.mark.whole("lessons/test_lesson_03.py")]
LESSON = "03_latency"
ALL = sum(solved("lesson_03").cell_points().values())
TIMED = ("Timer", "timer_resolution_ms", "calibrate", "measure_latency")
WRONG = {"timer_resolution_ms": "time.time", "measure_latency": "one warm-up too few"}


def course_of(place) -> Course:
    """An empty course with lesson 03, whole."""
    course = copy_course(place, [])
    for step in ("source", "release"):
        shutil.copytree(whole_lesson(LESSON).root / step / LESSON, place / step / LESSON)
    return course


def entry(kind: str, exercise: str, number: int | str) -> str:
    """A mutant or an alternate as a whole cell: by its sentence, or by its number, in turns."""
    found = entries("lesson_03", kind)[exercise]
    return found[number] if isinstance(number, str) else list(found.values())[number % len(found)]


def notebook(codes: dict[str, str]) -> NotebookNode:
    """The release, all right but for these exercises; the cohort's helpers come before them all."""
    lesson = solved("lesson_03")
    made = nbformat.read(whole_lesson(LESSON).release(LESSON), as_version=4)
    for exercise, solution in lesson.solutions.items():
        cell(made, exercise)["source"] = codes.get(exercise, solution)
    first = next(i for i, c in enumerate(made.cells) if c.id == "Timer")
    helpers = "\n\n".join([*lesson.solutions.values(), lesson.helpers])
    made.cells.insert(first, nbformat.v4.new_code_cell(helpers))
    return made


def hand_in(course: Course, student: str, made: NotebookNode) -> None:
    """Put it where a student's hand-in lies."""
    place = course.root / "submitted" / student / LESSON
    place.mkdir(parents=True)
    nbformat.write(made, place / f"{LESSON}.ipynb")


def graded(course, jobs=1):
    """Each student's points, status and sentence."""
    with SandboxRunner(jobs=jobs) as runner:
        rows = grade_class(course, LESSON, runner, jobs=jobs, progress=False)
    return {row.student: (row.score, row.status, row.sentence) for row in rows}


def in_the_cohort(exercise: str, sentence: str) -> float:
    """The points with this mutant where the doubles have their scripts themselves."""
    lesson = solved("lesson_03")
    code = f"{lesson.helpers}\n{entry('MUTANTS', exercise, sentence)}"
    return points(judge_all(lesson, {exercise: code}), lesson)


def test_any_clock_keeps_all_points_and_a_wrong_one_loses_as_many_as_in_the_cohort(tmp_path):
    course = course_of(tmp_path)
    solutions = solved("lesson_03").solutions
    for number in (1, 2):
        codes = {exercise: entry("ALTERNATES", exercise, number) for exercise in solutions}
        hand_in(course, f"unusual_{number}", notebook(codes))
    for exercise, sentence in WRONG.items():
        hand_in(course, exercise, notebook({exercise: entry("MUTANTS", exercise, sentence)}))
    rows = graded(course)
    for student in ("unusual_1", "unusual_2"):
        assert rows[student] == (ALL, "graded", ""), student
    for exercise, sentence in WRONG.items():
        score, status, _ = rows[exercise]
        assert status == "graded" and score == in_the_cohort(exercise, sentence) < ALL, exercise


@pytest.mark.soak
def test_all_unusual_solutions_keep_all_points(tmp_path):
    course = course_of(tmp_path)
    solutions = solved("lesson_03").solutions
    most = max(len(found) for found in entries("lesson_03", "ALTERNATES").values())
    for number in range(most):
        codes = {exercise: entry("ALTERNATES", exercise, number) for exercise in solutions}
        hand_in(course, f"unusual_{number:02}", notebook(codes))
    assert set(graded(course, jobs=2).values()) == {(ALL, "graded", "")}


@pytest.mark.soak
def test_all_mutants_lose_as_many_points_as_in_the_cohort(tmp_path):
    """Stubs that ask for each reading, and doubles that know their script, tell the same."""
    course, wanted = course_of(tmp_path), {}
    for exercise in TIMED:
        for number, sentence in enumerate(entries("lesson_03", "MUTANTS")[exercise]):
            student = f"{exercise}_{number:02}"
            hand_in(course, student, notebook({exercise: entry("MUTANTS", exercise, sentence)}))
            wanted[student] = in_the_cohort(exercise, sentence)
    rows = graded(course, jobs=2)
    assert {student: row[0] for student, row in rows.items()} == wanted
