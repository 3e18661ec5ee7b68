"""Marks of a viva are in the class's report, and go into a platform's file."""

import csv

import pytest
from grading_course import LESSON, copy_course, grade

from proflab_course.cli import main
from proflab_course.report.lesson_page import read_summary, render

MARKS = "student,q1,q2,q3,q4\ncomplete,1,1,0,1\nhalf_done,0,1,0,\n"
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,01 Parameters (55),01 viva (56)\n"
    "    Points Possible,,,,,110,4\n"
    "C,101,S1,complete,A,,\n"
    "H,102,S2,half_done,A,,\n"
    "E,103,S3,empty,A,,\n"
)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = copy_course(tmp_path_factory.mktemp("marked"), ["complete", "half_done", "empty"])
    grade(course)
    return course


def test_marks_come_back_into_report_and_export(course, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    assert main(["export", "01", "--canvas", "grades.csv", "--viva"]) == 2
    assert "run `proflab viva 01_parameters --marks FILE`" in capsys.readouterr().err
    (course.root / "viva.csv").write_text(MARKS)
    assert main(["viva", "01", "--marks", "viva.csv"]) == 0
    assert "1 of 2 have three questions of four or more" in capsys.readouterr().out

    page = render(read_summary(course, LESSON))
    assert "viva 3 of 4" in page
    assert "viva 1 of 3" in page
    assert "another sheet for half_done" in page
    public = render(read_summary(course, LESSON, public=True))
    assert "1 of 2 have three questions" in public
    assert "half_done" not in public

    (course.root / "grades.csv").write_text(CANVAS)
    words = ["export", "01", "--canvas", "grades.csv", "--viva"]
    assert main(words) == 0
    rows = list(csv.reader((course.root / "grades_01_viva_filled.csv").read_text().splitlines()))
    found = {row[3]: row[-1] for row in rows[1:]}
    assert float(found["complete"]) == 3
    assert float(found["half_done"]) == 1
