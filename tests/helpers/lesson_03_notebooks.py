"""Notebooks of lesson 03 as students would hand them in, with exercises of the cohort in them."""

from __future__ import annotations

import shutil

import nbformat
from cohort.run import entries
from cohort.run import solved as cohort
from grading_course import cell, copy_course
from nbformat import NotebookNode
from whole_lessons import whole_lesson

from proflab_classroom.viva.entries import whole_code
from proflab_course.course.layout import Course

LESSON = "03_latency"


def course_of(place) -> Course:
    """An empty course with lesson 03, whole."""
    course = copy_course(place, [])
    for step in ("source", "release"):
        shutil.copytree(whole_lesson(LESSON).root / step / LESSON, place / step / LESSON)
    return course


def entry(kind: str, exercise: str, number: int | str) -> str:
    """A mutant or an alternate as a whole cell: by its sentence, or by its number, in turns."""
    found = entries("lesson_03", kind)[exercise]
    code = found[number] if isinstance(number, str) else list(found.values())[number % len(found)]
    return whole_code(exercise, code, cohort("lesson_03").solutions[exercise])


def notebook(codes: dict[str, str]) -> NotebookNode:
    """The release, all right but for these exercises; the cohort's helpers come before them all."""
    lesson = cohort("lesson_03")
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
