"""Concept questions from a hand-in to feedback, report and export."""

import csv
import html
import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from concept_course import (
    LESSON,
    RIGHT,
    SLIP,
    WHY,
    cell_of,
    concept_course,
    hand_in,
    released,
    shown_letter,
)
from grading_course import command
from mini_course import make_course

from proflab_classroom.questions.answers import concept_points, read_answers
from proflab_classroom.questions.concept_items import class_items
from proflab_course.build.command import build
from proflab_course.cli import main
from proflab_course.course.layout import Course
from proflab_course.export.code_for_comparison import write_code
from proflab_course.grading.command import grade_class
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.run.subprocess_runner import SubprocessRunner
from proflab_course.report.lesson_page import read_summary

SEED = 3
SNOOP = """\
import gc, inspect, sys
found = [repr(globals()), repr(sys._getframe().f_back and sys._getframe().f_back.f_globals)]
frame = inspect.currentframe()
while frame:
    found += [repr(frame.f_globals), repr(frame.f_locals)]
    frame = frame.f_back
found += [each for each in gc.get_objects() if isinstance(each, str)]
print("\\n".join(map(str, found)))
concept_01_1 = "A"
"""


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class of six, of which one had a release without questions, built with a seed."""
    root = tmp_path_factory.mktemp("class")
    old = make_course(tmp_path_factory.mktemp("old"))
    build(old, [LESSON], audit="static")
    course = concept_course(root)
    (root / "private").mkdir()
    (root / "private/course.toml").write_text("[course]\nconcept_points = 1\n")
    build(course, audit="static", seed=SEED)
    notebook = released(course)
    letters = {
        name: shown_letter(notebook, name.removeprefix("concept_"), option)
        for name, option in zip(
            RIGHT, ["12 m²", "is four times as large", "one side that stays"], strict=True
        )
    }
    hand_in(course, "right", **letters)
    hand_in(course, "slip", concept_01_1=shown_letter(notebook, "01_1", "7 m²").lower())
    hand_in(course, "open")
    hand_in(course, "empty", **dict.fromkeys(("area", "circle"), "x = 1"))
    known = {letters["concept_01_1"], shown_letter(notebook, "01_1", "7 m²")}
    other = min({*"ABCD"} - known)  # wrong in whatever order the course's secret has drawn
    hand_in(course, "snoop", concept_01_1=SNOOP.replace('= "A"', f'= "{other}"'))
    hand_in(course, "odd", concept_01_1="concept_01_1 = ['A']", concept_01_2="concept_01_2 = D")
    hand_in(course, "old", nbformat.read(old.release(LESSON), as_version=4))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        grade_class(course, LESSON, SubprocessRunner(), progress=False)
    return course


def graded_notebook(course, student):
    path = course.graded_folder(student, LESSON) / f"{LESSON}.ipynb"
    return nbformat.read(path, as_version=4)


@pytest.mark.proves("answers to concept questions are kept in the letters of the file")
def test_answers_are_kept_in_the_letters_of_the_file_whatever_the_class_saw(graded):
    answers = read_answers(graded, LESSON)
    assert answers["right"] == {"01_1": "C", "01_2": "D", "01_A": "B"}
    assert answers["slip"] == {"01_1": "A"}
    assert not {"open", "empty", "odd", "old"} & answers.keys()


def test_an_answer_earns_nothing_of_the_lessons_points(graded):
    with Book(graded.gradebook) as book:
        scores = {name: row["auto"] for name, row in book.scores(LESSON).items()}
    assert {scores[name] for name in ("right", "slip", "open", "odd", "snoop", "old")} == {100}
    assert scores["empty"] == 0
    assert concept_points(graded, LESSON) == {"right": 3, "slip": 0, "snoop": 0}


def test_a_hand_in_of_a_release_without_questions_is_graded_and_told_nothing_of_them(graded):
    with Book(graded.gradebook) as book:
        outcomes = book.outcomes(LESSON)
    assert "concept" not in outcomes["old"].sentence
    assert outcomes["old"].status in ("graded", "older release")
    assert {outcomes[name].status for name in ("right", "open", "odd")} == {"graded"}


def test_a_notebook_that_prints_all_it_sees_finds_no_key(graded):
    notebook = graded_notebook(graded, "snoop")
    cell = cell_of(notebook, "concept_01")
    printed = "".join(o.get("text", "") for o in cell.outputs)
    assert "linear" not in printed and len(printed) > 1_000
    assert SLIP not in printed and WHY not in printed and "mistakes=" not in printed


def copied(course, tmp_path):
    return Course(shutil.copytree(course.root, tmp_path / "course"))


def nbgrader(course, name, *options):
    done = command(course, "nbgrader", name, LESSON, "--force", *options)
    assert done.returncode == 0, done.stderr


def feedback(course, tmp_path, *options):
    nbgrader(copied(course, tmp_path), "generate_feedback", *options)
    pages = (tmp_path / "course/feedback").glob(f"*/{LESSON}/*.html")
    return {page.parents[1].name: as_text(page) for page in pages}


def as_text(page: Path) -> str:
    return html.unescape(re.sub(r"<[^>]*>", " ", page.read_text("utf-8")))


@pytest.mark.whole
def test_feedback_says_answered_and_the_points_and_no_more(graded, tmp_path):
    pages = feedback(graded, tmp_path)
    assert "3 of 3 concept points" in pages["right"]
    assert "0 of 3 concept points" in pages["open"]
    assert SLIP not in pages["slip"] and WHY not in pages["slip"]
    assert re.findall(r"^ *(\d\d\.\w): answered$", pages["slip"], re.MULTILINE) == ["01.1"]
    assert len(re.findall(r"^ *\d\d\.\w: not answered$", pages["slip"], re.MULTILINE)) == 2
    assert "another answer is right" not in pages["slip"]
    assert "❌ an answer" not in pages["open"]


@pytest.mark.whole
def test_where_the_instructor_explains_it_says_slip_and_reason(graded, tmp_path):
    pages = feedback(graded, tmp_path, f"--HideHidden.explain={LESSON}")
    assert "❌ another answer is right" in pages["slip"] and SLIP in pages["slip"]
    assert WHY in pages["slip"] and WHY in pages["right"] and WHY in pages["open"]
    assert pages["right"].count("✅ right") == 3 and "✅ right" not in pages["slip"]


def test_the_report_counts_no_question_as_an_exercise(graded):
    summary = read_summary(graded, LESSON)
    assert [each.name for each in summary.exercises] == ["area", "circle"]
    assert not any(SLIP in each.sentence for each in summary.misconceptions)
    assert not any("concept" in case.cell for s in summary.students for case in s.failed)


def test_points_are_exported_into_a_column_of_their_own(graded, tmp_path, monkeypatch, capsys):
    rows = "Student,ID,SIS User ID,SIS Login ID,Section,Concepts (1)\nPoints Possible,,,,,3\n"
    everyone = ("right", "slip", "open", "empty", "snoop", "odd", "old")
    rows += "".join(f"{name},{name},{name},{name},A,\n" for name in everyone)
    (tmp_path / "canvas.csv").write_text(rows)
    monkeypatch.chdir(graded.root)
    words = ["export", "01", "--concepts", "--canvas", str(tmp_path / "canvas.csv")]
    assert main([*words, "--column", "Concepts (1)"]) == 0
    with (tmp_path / "canvas_01_concepts_filled.csv").open() as file:
        filled = {row[0]: row[-1] for row in csv.reader(file)}
    assert [float(filled[name]) for name in ("right", "slip", "old")] == [3, 0, 0]


def test_code_for_a_comparison_has_no_answers(graded, tmp_path):
    write_code(graded, LESSON, tmp_path / "code")
    assert "concept_01_1" not in (tmp_path / "code/right.py").read_text()


@pytest.mark.whole
def test_a_regrade_after_a_build_without_the_questions_file_reads_the_same(graded, tmp_path):
    course = copied(graded, tmp_path)
    shutil.rmtree(course.root / "modules")
    before = read_answers(course, LESSON)
    grade_class(course, LESSON, SubprocessRunner(), regrade=True, progress=False)
    assert read_answers(course, LESSON) == before and before["slip"] == {"01_1": "A"}


@pytest.mark.whole
def test_stock_autograde_takes_them(graded, tmp_path):
    course = copied(graded, tmp_path)
    nbgrader(course, "autograde", "--student=right", "--SandboxedExecute.isolation=none")
    with Book(course.gradebook) as book:
        assert book.scores(LESSON)["right"]["auto"] == 100


@pytest.mark.whole
def test_nbgrader_alone_makes_the_same_release(graded, tmp_path):
    course = copied(graded, tmp_path)
    path = course.release(LESSON)
    ours = path.read_bytes()
    nbgrader(course, "generate_assignment")
    assert json.loads(path.read_bytes()) == json.loads(ours)


def test_report_and_table_have_the_letters_that_the_class_saw(graded, monkeypatch):
    notebook = released(graded)
    items = {each.asked.id: each for each in class_items(graded, LESSON)}
    shown = [
        (shown_letter(notebook, name, option.text), option.letter)
        for name, each in items.items()
        for option in each.asked.options
    ]
    assert len(shown) == 12 and all(seen == letter for seen, letter in shown)
    assert (items["01_1"].item.n, items["01_1"].item.right, items["01_2"].item.p) == (3, 1, 1.0)
    monkeypatch.chdir(graded.root)
    assert main(["report", "1", "--csv", "-o", "answers.csv"]) == 0
    with (graded.root / "answers.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert rows["slip"]["01_1"] == shown_letter(notebook, "01_1", "7 m²")
    assert rows["right"]["01_2"] == rows["(key)"]["01_2"] != ""
