"""Classes in which each student handed in one wrong solution of the cohort, and their grades."""

from __future__ import annotations

from cohort.lesson_01 import HELPERS, MUTANTS
from cohort.run import solved as cohort
from grading_course import LESSON, copy_course, hand_in, solved
from killing import files, tables

from proflab_classroom.viva.entries import whole_code
from proflab_course.grading.command import grade_class
from proflab_course.grading.run.sandbox_runner import SandboxRunner

STUDENTS = ["complete", "other_megabyte", "lost_metadata"]


def mutated(exercise, code):
    """A notebook that is right but for one wrong exercise of the cohort."""
    own = whole_code(exercise, code, cohort("lesson_01").solutions[exercise])
    return solved(**{exercise: f"{HELPERS}\n{own}"})


def first_mutants():
    """One wrong solution of each exercise."""
    return [(exercise, next(iter(codes.values()))) for exercise, codes in MUTANTS.items()]


def make_course(place, mutants):
    """A course with some of the sample class and these mutants."""
    place.mkdir()
    course = copy_course(place, STUDENTS)
    for number, (exercise, code) in enumerate(mutants):
        hand_in(course, f"mutant_{number:03}", mutated(exercise, code))
    return course


def grade_with(course, jobs):
    """Grade isolated; points and outcomes, the gradebook, and the graded notebooks."""
    with SandboxRunner(jobs=jobs) as runner:
        rows = grade_class(course, LESSON, runner, jobs=jobs, progress=False)
    return [(r.student, r.score, r.status) for r in rows], tables(course.gradebook), files(course)
