"""A class of lesson 01 whose essays are handed in: graded, and not yet marked."""

from __future__ import annotations

import csv
from pathlib import Path

import nbformat
from grading_course import LESSON, ROOT, cell, copy_course, grade, hand_in, solved

from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_module

ESSAY = "essay_parameters"
STUDENTS = [f"student{n:02}" for n in range(12)]
TEXT = "The reduction is {} times, not 50; 243.9 · 10⁶ bytes fit within 1.6 %, and 77.7 does not."


def todays_scheme(course: Course) -> None:
    """Give the course's notebook the mark scheme that the lesson has today."""
    path = course.source(LESSON)
    notebook = nbformat.read(path, as_version=4)
    lesson = read_module(Course(ROOT).module(LESSON), LESSON)
    cell(notebook, ESSAY).source = next(c for c in lesson.cells if c.name == ESSAY).source
    nbformat.write(notebook, path)


def essay_class(place: Path, students: list[str] = STUDENTS) -> Course:
    """Return a course in which these students have handed in an essay, and one has not."""
    course = copy_course(place, [])
    todays_scheme(course)
    for number, student in enumerate(students):
        notebook = solved()
        cell(notebook, ESSAY).source = TEXT.format(40 + number)
        own = cell(notebook, "demo_megabytes")
        own["outputs"] = [nbformat.v4.new_output("stream", text="243_860_896 B, off by 1.61 %\n48")]
        hand_in(course, student, notebook)
    hand_in(course, "no_essay", solved())
    grade(course)
    return course


def rows_of(course: Course, name: str) -> list[dict[str, str]]:
    """Return the rows of a marker's table."""
    path = course.root / "essays" / LESSON / f"{name}.csv"
    with path.open(newline="", encoding="utf-8-sig") as file:
        text = file.read()
    delimiter = ";" if text.startswith("hand-in;") else ","
    return list(csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter))


def fill(course: Course, name: str, marks: dict[str, set[int]], comment: str = "") -> None:
    """Write marks into a marker's table as a spreadsheet would save it."""
    rows = rows_of(course, name)
    for row in rows:
        if (items := marks.get(row["hand-in"])) is not None:
            row |= {h: str(int(int(h.split(":")[0]) in items)) for h in row if h[:1].isdecimal()}
            row["comment"] = comment
    path = course.root / "essays" / LESSON / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
