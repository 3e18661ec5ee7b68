"""Marks of a viva come back into the course."""

import pytest
from grading_course import LESSON, copy_course

from proflab_classroom.viva.marks import VivaMarks, keep_marks, kept_marks, read_marks, told
from proflab_course.cli import main
from proflab_course.course.layout import Course, CourseError


def written(tmp_path, text):
    path = tmp_path / "viva.csv"
    path.write_text(text)
    return path


def test_marks_are_read_and_kept_and_added_to(tmp_path):
    course = Course(tmp_path)
    path = written(tmp_path, "student;q1;q2;q3;q4;remark\nada;1;1;0;1;good\nben;0;;0;1;\ncy;;;;;\n")
    marks = read_marks(path, {"ada", "ben", "cy"})
    assert marks == {
        "ada": VivaMarks("ada", (1, 1, 0, 1)),
        "ben": VivaMarks("ben", (0, None, 0, 1)),
    }
    assert keep_marks(course, "01_small", marks) == 2
    assert keep_marks(course, "01_small", {"ben": VivaMarks("ben", (1, 1, 1, 1))}) == 2
    assert kept_marks(course, "01_small") == marks | {"ben": VivaMarks("ben", (1, 1, 1, 1))}
    assert kept_marks(course, "02_other") == {}
    assert (tmp_path / "private").stat().st_mode & 0o077 == 0


def test_a_mark_may_be_what_a_spreadsheet_made_of_it(tmp_path):
    path = written(tmp_path, "student;q1;q2;q3;q4\nada;1,0;0.0;TRUE;x\n")
    assert read_marks(path, {"ada"})["ada"].marks == (1, 0, 1, 1)


def test_three_of_four_pass():
    passed = [
        VivaMarks("a", marks).passed for marks in ((1, 1, 1, 0), (1, 1, 0, 0), (1, None, 1, 1))
    ]
    assert passed == [True, False, True]
    marks = {"a": VivaMarks("a", (1, 1, 1, 0)), "b": VivaMarks("b", (0, 0, 0, 0))}
    assert told(marks) == "1 of 2 have three questions of four or more; another sheet for b"


@pytest.mark.parametrize(
    "text, problem",
    [
        ("student,q1\nzoe,1\n", "line 2: 'zoe' is no student"),
        ("student,q1\nada,2\n", "line 2: a mark is 0, 1 or empty, not '2'"),
        ("student,q1\nada,1\nada,0\n", "line 3: ada stands in line 2 already: keep one line"),
        ("name,mark\nada,1\n", "line 1: the column student is missing; it needs student, q1"),
        ("", "line 1: the column student is missing"),
    ],
)
def test_what_cannot_be_a_mark_is_refused_with_its_line(tmp_path, text, problem):
    with pytest.raises(CourseError, match=problem):
        read_marks(written(tmp_path, text), {"ada"})


def test_a_student_who_was_marked_and_has_left_stops_nobody_elses_marks(tmp_path, monkeypatch):
    course = copy_course(tmp_path, ["complete"])
    keep_marks(course, LESSON, {"left": VivaMarks("left", (0, 0))})
    path = written(tmp_path, "student,q1,q2\nleft,0,0\ncomplete,1,1\n")
    monkeypatch.chdir(tmp_path)
    assert main(["viva", "01", "--marks", str(path)]) == 0
    assert kept_marks(course, LESSON).keys() == {"left", "complete"}
