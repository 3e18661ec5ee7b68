"""The rows of a first grading are those that nbgrader makes, however they were inserted."""

import sqlite3

import pytest
from grading_course import LESSON, ROOT, copy_course, grade

from proflab_course.course.layout import Course
from proflab_course.grading.answer_key import read_key
from proflab_course.grading.records.first_rows import FirstRows
from proflab_course.grading.records.gradebook import Book

STUDENTS = ["complete", "empty", "half_done", "wrong_date"]
GRADED = len(read_key(Course(ROOT).source(LESSON)).tests) + 1  # with the essay
QUERIES = {
    "submissions": "SELECT a.name, s.student_id, s.timestamp, s.extension"
    " FROM submitted_assignment s JOIN assignment a ON a.id = s.assignment_id",
    "notebooks": "SELECT s.student_id, n.name, m.late_submission_penalty, m.flagged"
    " FROM submitted_notebook m JOIN notebook n ON n.id = m.notebook_id"
    " JOIN submitted_assignment s ON s.id = m.assignment_id",
    "grades": "SELECT s.student_id, c.name, c.type, g.auto_score, g.manual_score, g.extra_credit,"
    " g.needs_manual_grade FROM grade g JOIN base_cell c ON c.id = g.cell_id"
    " JOIN submitted_notebook m ON m.id = g.notebook_id"
    " JOIN submitted_assignment s ON s.id = m.assignment_id",
    "comments": "SELECT s.student_id, c.name, c.type, k.auto_comment, k.manual_comment"
    " FROM comment k JOIN base_cell c ON c.id = k.cell_id"
    " JOIN submitted_notebook m ON m.id = k.notebook_id"
    " JOIN submitted_assignment s ON s.id = m.assignment_id",
    "students": "SELECT id, first_name, last_name, email, lms_user_id FROM student",
}


def rows(course):
    with sqlite3.connect(course.gradebook) as connection:
        found = {name: connection.execute(q).fetchall() for name, q in QUERIES.items()}
    return {name: sorted(each, key=repr) for name, each in found.items()}


def graded(place, due="", late=(), extensions=""):
    """A class, graded: each handed in on the tenth, or on the twentieth."""
    place.mkdir()
    course = copy_course(place, STUDENTS)
    for student in set(STUDENTS) - {"wrong_date", "empty"}:
        day = 20 if student in late else 10
        stamp = course.root / "submitted" / student / LESSON / "timestamp.txt"
        stamp.write_text(f"2026-11-{day} 12:00:00 UTC")
    if extensions:
        (course.root / "extensions.csv").write_text(f"student,lesson,due,days\n{extensions}\n")
    if due:
        with Book(course.gradebook) as book:
            book.gradebook.update_or_create_assignment(LESSON, duedate=due)
    grade(course)
    return course


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"due": "2026-11-15 00:00:00"},
        {"due": "2026-11-15 00:00:00", "late": ("complete",)},
        {"due": "2026-11-15 00:00:00", "late": ("complete",), "extensions": "complete,*,,7"},
        {"extensions": "complete,*,,7"},
    ],
    ids=["no due date", "in time", "late", "late with an extension", "an extension"],
)
def test_they_are_what_nbgraders_own_way_makes(tmp_path, monkeypatch, options):
    quick, insert = [], FirstRows.insert
    monkeypatch.setattr(FirstRows, "insert", lambda *a: quick.append(insert(*a)) or quick[-1])
    ours = rows(graded(tmp_path / "ours", **options))
    special = {*options.get("late", ()), *(["complete"] if "extensions" in options else [])}
    assert sum(quick) == len(STUDENTS) - len(special)
    monkeypatch.setattr(FirstRows, "insert", lambda *_: False)
    assert ours == rows(graded(tmp_path / "theirs", **options))
    assert len(ours["grades"]) == len(STUDENTS) * GRADED
    assert len(ours["submissions"]) == len(STUDENTS)
