"""Students and lessons that nbgrader's own commands remove are in no page, and may come again."""

import sqlite3
from contextlib import closing

import pytest
from grading_course import LESSON, command, copy_course, grade, hand_in, solved
from sqlalchemy import select

from proflab_course.course.layout import CourseError
from proflab_course.grading.records.gradebook import OUTCOMES, Book
from proflab_course.grading.records.removed import TRIGGER
from proflab_course.report.lesson_page import read_summary, render
from proflab_course.report.term_page import read_term

OTHER = "02_other"


@pytest.fixture(params=["today's gradebook", "an older one"])
def course(tmp_path, request):
    """A graded course of two students; an older gradebook has no trigger."""
    course = copy_course(tmp_path, [])
    for student in ("ann", "bob"):
        hand_in(course, student, solved())
    grade(course)
    if request.param == "an older one":
        with closing(sqlite3.connect(course.gradebook)) as database:
            database.execute(f"DROP TRIGGER {TRIGGER}")
    return course


def nbgrader_removes(course, *words):
    done = command(course, "nbgrader", "db", *words, "--force")
    assert done.returncode == 0, done.stderr


@pytest.mark.proves("a student whom nbgrader removes")
def test_a_student_whom_nbgrader_removes_is_on_no_page_and_is_graded_anew(course):
    nbgrader_removes(course, "student", "remove", "bob")
    summary = read_summary(course, LESSON)
    assert [line.name for line in summary.students] == ["ann"]
    assert "bob" not in render(summary)
    assert [student.name for student in read_term(course).students] == ["ann"]
    again = grade(course)["bob"]
    assert (again.score, again.fresh) == (100, True)


def add_another_lesson(course):
    """Enter a hand-in of ann's for another lesson, with an outcome as the first one's."""
    with Book(course.gradebook) as book:
        book.gradebook.add_assignment(OTHER)
        with book.gradebook.db.no_autoflush:  # SQLAlchemy warns of nbgrader's own
            book.gradebook.add_submission(OTHER, "ann")
        with book.gradebook.engine.begin() as connection:
            row = connection.execute(select(OUTCOMES).where(OUTCOMES.c.student == "ann")).mappings()
            connection.execute(OUTCOMES.insert(), dict(row.one()) | {"assignment": OTHER})


def test_a_lesson_that_nbgrader_removes_is_not_graded_yet_and_others_stay(course):
    add_another_lesson(course)
    nbgrader_removes(course, "assignment", "remove", LESSON)
    with pytest.raises(CourseError, match="not graded yet"):
        read_summary(course, LESSON)
    with Book(course.gradebook) as book:
        assert book.outcomes(OTHER).keys() == {"ann"}
    assert {row.score for row in grade(course).values()} == {100}
