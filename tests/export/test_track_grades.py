"""Sum up a track's lessons: sum, maximum and percent, on the page and in exported grades."""

import csv
import html
import io
import os
import re

import nbformat
import pytest
from grading_course import take_warm_runner
from handed_in import filled
from shop_course import declare_privately, make_shop

from proflab_course.build.command import build
from proflab_course.build.prepare import prepare
from proflab_course.cli import main
from proflab_course.course.notebook import read_notebook
from proflab_course.grading.records.gradebook import Book

GRADES = """\
Identifier,Full name,Username,Grade,Maximum Grade
Participant 1,Ada,ada,,300
Participant 2,Bo,bo,,300
"""
OURS = """
[track.ours]
title = "Ours"
text = "A day, by the clock."
hours = 8
weight = "minutes"
essays = ["01_shop"]
01_shop = ["tax", "total"]
02_cart = ["cart"]
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A day's course, graded: Ada has all but the tax, and 5 of 10 for her essay; Bo no cart."""
    course = make_shop(tmp_path_factory.mktemp("day"))
    declare_privately(course, 'use = "day"')
    build(course, audit="static")
    whole = {lesson.name: lesson for lesson in prepare(course).whole}

    def hand_in(student, name, essay="", **cells):
        notebook = filled(read_notebook(course.release(name), name), whole[name])
        for cell in notebook.cells:
            grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
            cell.source = cells.get(grade_id, cell.source)
            cell.source = essay if essay and grade_id == "essay_shop" else cell.source
        path = course.root / f"submitted/{student}/{name}/{name}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)

    hand_in("ada", "01_shop", "The buyer.", tax="def tax(price):\n    return price / 8")
    hand_in("ada", "02_cart")
    hand_in("bo", "01_shop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.environ["PATH"])  # whoever opens a gradebook changes it
        patch.chdir(course.root)
        take_warm_runner(patch)
        assert main(["grade", "01", "--no-sandbox"]) == main(["grade", "02", "--no-sandbox"]) == 0
    with Book(course.gradebook) as book, book.transaction() as gradebook:
        gradebook.find_grade("essay_shop", "01_shop", "01_shop", "ada").manual_score = 5
    return course


def export(course, monkeypatch, *words):
    monkeypatch.chdir(course.root)
    (course.root / "grades.csv").write_text(GRADES)
    filled = course.root / "grades_filled.csv"
    if words[0] == "term":
        words, filled = (*words, "--column", "Grade"), course.root / "grades_term_filled.csv"
    assert main(["export", words[0], "--moodle", "grades.csv", *words[1:]]) == 0
    rows = csv.DictReader(io.StringIO(filled.read_text()))
    return {row["Username"]: row["Grade"] for row in rows}


@pytest.mark.proves
def test_grades_from_0_to_100(course, monkeypatch):
    declare_privately(course, 'use = "day"')
    assert export(course, monkeypatch, "01") == {"ada": "5", "bo": "70"}
    assert export(course, monkeypatch, "01", "--percent") == {"ada": "6.25", "bo": "87.5"}
    without = export(course, monkeypatch, "01", "--percent", "--without-essay")
    assert without == {"ada": "0", "bo": "100"}


def test_all_lessons_together(course, monkeypatch):
    declare_privately(course, 'use = "day"')
    assert export(course, monkeypatch, "term") == {"ada": "105", "bo": "70"}
    assert export(course, monkeypatch, "term", "--percent") == {"ada": "58.33", "bo": "38.89"}


def page(course, monkeypatch):
    monkeypatch.chdir(course.root)
    assert main(["report"]) == 0
    text = (course.root / "reports/term.html").read_text()
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", text)))


def test_the_page_has_the_tracks_title_lessons_sum_maximum_and_percent(course, monkeypatch):
    declare_privately(course, 'use = "day"')
    text = page(course, monkeypatch)
    assert "A day: results" in text and "Student 01 02 Sum Percent Trend" in text
    assert "ada 5 100 105 58" in text and "bo 70 – 70 39" in text
    assert "Maximum 80 100 180 100" in text


def test_lessons_may_weigh_by_their_minutes(course, monkeypatch, capsys):
    declare_privately(course, f'use = "ours"\n{OURS}')
    text = page(course, monkeypatch)
    assert "by their minutes: 01 35, 02 5" in text and "bo 70 – 70 77" in text
    assert export(course, monkeypatch, "term", "--percent")["ada"] == "17.97"
    assert main(["export", "term", "--moodle", "grades.csv"]) == 2
    assert 'the track says weight = "minutes", and points have none' in capsys.readouterr().err


def test_a_lesson_that_the_track_has_not_is_no_column(course, monkeypatch):
    declare_privately(course, 'use = "hour"')
    text = page(course, monkeypatch)
    assert "Student 01 Sum" in text and "Graded, but not in the track: 02_cart." in text
