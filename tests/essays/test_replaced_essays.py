"""A mark is of the essay that was marked: who hands in another one, or none, is not forgotten."""

import hashlib

import pytest
from essay_class import ESSAY, STUDENTS, fill, rows_of
from grading_course import LESSON, cell, copied, grade, hand_in, solved
from nbformat.v4 import new_code_cell, new_output

from proflab.lesson.first_guess import MIME
from proflab_course.cli import main
from proflab_course.grading.records.gradebook import Book
from proflab_course.report.lesson_page import read_summary
from proflab_course.report.term_page import read_term, render_term

ANCHORS = {"good answer": set(range(1, 11)), "poor answer": {10}}
FIRST, SECOND, *_ = STUDENTS


def essays(*words):
    return main(["essays", "01", *words])


def marked(course, name, items):
    theirs = {row["hand-in"]: items for row in rows_of(course, name)}
    fill(course, name, theirs | ANCHORS)


def another_essay(course, student, text):
    notebook = solved()
    if text:
        cell(notebook, ESSAY).source = text
    hand_in(course, student, notebook)
    grade(course)


def mark_of(course, student):
    with Book(course.gradebook) as book:
        return book.essays(LESSON, ESSAY)[student].mark


def waiting(course):
    return [line.name for line in read_summary(course, LESSON).unmarked]


@pytest.fixture
def course(graded, tmp_path, monkeypatch, capsys):
    """The class of twelve essays, all of which anna has marked with three points."""
    course = copied(graded, tmp_path)
    monkeypatch.chdir(course.root)
    essays("--between", "anna")
    marked(course, "anna", {1, 2, 3})
    assert essays() == 0
    capsys.readouterr()
    return course


@pytest.mark.proves("an essay that is handed in again")
def test_another_essay_waits_for_a_mark_of_its_own(course, capsys):
    another_essay(course, FIRST, "Another text: 48 times.")
    assert essays() == 0
    said = capsys.readouterr().out
    assert f"another essay than before, to be marked anew: {FIRST}" in said
    assert "11 of 12 essays settled\nanna has 1 essay to mark" in said
    [row] = [row for row in rows_of(course, "anna") if row["hand-in"] == FIRST]
    assert row["essay"] == "Another text: 48 times." and "1" not in row.values()
    assert waiting(course) == [FIRST]
    marked(course, "anna", {1, 2, 3})  # the same items again, of the other text
    essays()
    assert "12 of 12 essays settled" in capsys.readouterr().out
    assert (mark_of(course, FIRST), waiting(course)) == (3, [])


def test_the_same_essay_in_another_hand_in_keeps_its_mark_and_waits_for_nobody(course, capsys):
    notebook = solved(linear_parameters="def linear_parameters(n_in, n_out):\n    return 0")
    cell(notebook, ESSAY).source = next(
        row["essay"] for row in rows_of(course, "anna") if row["hand-in"] == FIRST
    )
    hand_in(course, FIRST, notebook)
    grade(course)
    grade(course, regrade=True)
    assert waiting(course) == []
    essays()
    assert "12 of 12 essays settled" in capsys.readouterr().out


def test_another_picture_under_the_same_text_is_another_essay(course):
    def pasted(data):
        notebook = solved()
        cell(notebook, ESSAY).attachments = {"plot.png": {"image/png": data}}
        hand_in(course, FIRST, notebook)
        grade(course)

    pasted("AAAA")
    with Book(course.gradebook) as book:
        book.mark_essay(LESSON, ESSAY, FIRST, 7, "")
    pasted("AAAA")
    assert waiting(course) == []
    pasted("BBBB")
    assert waiting(course) == [FIRST]


def test_no_output_of_a_hand_in_says_which_essay_was_marked(course):
    text = "Another text."
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    forged = {"what": "essay", "name": ESSAY, "guess": 1.0, "answer": digest}
    notebook = solved()
    [row] = [row for row in rows_of(course, "anna") if row["hand-in"] == FIRST]
    cell(notebook, ESSAY).source = row["essay"]
    notebook.cells.append(new_code_cell("", outputs=[new_output("display_data", {MIME: forged})]))
    hand_in(course, FIRST, notebook)
    grade(course)
    assert waiting(course) == []
    another_essay(course, FIRST, text)
    assert waiting(course) == [FIRST]


def test_an_essay_that_is_withdrawn_stops_nobody_elses(course, capsys):
    another_essay(course, FIRST, "")
    assert essays() == 0
    said = capsys.readouterr().out
    assert f"dealt, and no essay is there now: {FIRST}" in said
    assert "11 of 11 essays settled" in said and "not taken" not in said
    assert essays("--between", "anna,ben") == 0
    assert FIRST not in [row["hand-in"] for row in rows_of(course, "anna")]
    assert waiting(course) == [FIRST]


def test_a_decision_is_of_the_essays_that_differed(course, capsys):
    essays("--between", "anna,ben", "--overlap", "12")
    marked(course, "ben", {1})
    essays()
    marked(course, "decide", {1, 2, 3, 4, 5})
    essays()
    assert mark_of(course, FIRST) == 5
    another_essay(course, FIRST, "Another text.")
    essays()
    for name, items in (("anna", {1, 2}), ("ben", {1, 2})):
        fill(course, name, {FIRST: items})
    essays()
    assert (mark_of(course, FIRST), mark_of(course, SECOND)) == (2, 5)


@pytest.mark.parametrize("what, column", [("01", "01 Parameters"), ("term", "Term")])
def test_an_export_names_those_whose_mark_is_of_an_earlier_essay(course, capsys, what, column):
    another_essay(course, FIRST, "Another text.")
    (course.root / "grades.csv").write_text(
        f"Student,ID,SIS Login ID,Section,{column} (5)\nA,1,{FIRST},A,\nB,2,{SECOND},A,\n"
    )
    assert main(["export", what, "--canvas", "grades.csv"]) == 0
    told = "whose mark was given before they handed in another essay, or none:"
    assert f"{told}\n  {FIRST}\ngraded" in capsys.readouterr().out
    term = render_term(read_term(course))
    assert f"{LESSON}, <b>{FIRST}</b>: handed in another essay" in term


def test_a_decision_on_the_new_essay_counts_though_one_of_three_has_not_marked_it(course, capsys):
    essays("--between", "anna,ben,cleo", "--overlap", "12")
    for name in ("ben", "cleo"):
        marked(course, name, {1, 2, 3})
    another_essay(course, FIRST, "Another text.")
    essays()
    for name, items in (("anna", {1, 2}), ("ben", {1})):
        fill(course, name, {FIRST: items})
    essays()
    said = capsys.readouterr().out
    assert f"markers differ on {FIRST}" in said
    assert "anna and ben, on 12 essays" in said and "anna and cleo, on 11 essays" in said
    fill(course, "decide", {FIRST: {1, 2, 3, 4}})
    essays()
    assert (mark_of(course, FIRST), waiting(course)) == (4, [])
    assert "marked anew" not in capsys.readouterr().out


def test_an_earlier_table_that_is_put_back_marks_no_other_essay(course, capsys):
    table = course.root / "essays" / LESSON / "anna.csv"
    before = table.read_bytes()
    another_essay(course, FIRST, "Another text.")
    essays()
    table.write_bytes(before)
    for status in (1, 0):  # once it has said so, the row is there anew
        assert essays() == status
        assert (f"the row of {FIRST} shows an earlier essay" in capsys.readouterr().out) == status
        assert waiting(course) == [FIRST]
    fill(course, "anna", {FIRST: {1, 2}})
    assert essays() == 0
    assert (mark_of(course, FIRST), mark_of(course, SECOND), waiting(course)) == (2, 3, [])
