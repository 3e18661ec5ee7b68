"""The board of a race: the class's lowest costs, to be seen by the class, and nothing hidden."""

import json
import re
import shutil
import sqlite3

import nbformat
import pytest
from cohort.attacks.racing import SLOW
from grading_course import ROOT, command, new_gradebook, warm_runner
from page_text import text_of
from race_course import HALF, LESSON, PAIRS, course_in, handed

from proflab_course.grading.command import grade_class
from proflab_course.grading.grade_notebook import CaseResult
from proflab_course.grading.own_numbers.program import place_of, write_own
from proflab_course.grading.pages.board import boards, names_shown
from proflab_course.grading.races import COSTS, METADATA
from proflab_course.grading.submissions.read_guesses import ALIAS, read_guesses
from proflab_course.report.lesson_page import read_summary, render

RACE = ("test_rows", "64 rows")
CLASS = {"ada": {}, "ben": {"rows": HALF}, "cem": {"rows": PAIRS, "product": SLOW}, "dan": {}}


def raced(cost, share=0.5, cell="test_rows", label="64 rows", **about):
    return CaseResult(cell, label, about.pop("hidden", False), True, share=share, cost=cost)


def test_costs_within_a_thousandth_share_a_place_and_the_next_place_counts_them():
    costs = {"a": 21.6, "b": 21.61, "c": 21.98, "d": 22.41, "e": 23.05, "f": 23.07, "g": 30.0}
    board = boards({student: [raced(cost)] for student, cost in costs.items()})[RACE]
    assert [(p.number, p.cost, len(p.students)) for p in board.lowest] == [
        (1, 21.6, 2), (3, 21.98, 1), (4, 22.41, 1), (5, 23.05, 2), (7, 30.0, 1),
    ]  # fmt: skip
    assert board.around("e", {}) == (
        "22.41 · 21.98 · 21.6 — you 23.05, place 5 of 7, shared with 1 more"
    )
    named = board.around("g", {"d": "Dot", "c": ""})
    assert named == "23.05 · 22.41 (Dot) · 21.98 — you 30, place 7 of 7"
    assert board.around("a", {}) == "you 21.6, place 1 of 7, shared with 1 more"
    assert board.around("nobody", {}) == ""


def test_aliases_of_one_place_stand_in_no_order_of_their_students():
    board = boards({student: [raced(2.0)] for student in "abc"})[RACE]
    shown = board.lowest[0].who({"a": "Zebra", "b": "Owl", "c": "Bear"})
    assert shown == board.lowest[0].who({"a": "Bear", "b": "Zebra", "c": "Owl"})


def test_what_is_hidden_wrong_or_graded_by_an_older_release_has_no_place():
    wrong = CaseResult("test_rows", "9 rows", True, False)
    found = boards({
        "a": [raced(3.0), raced(1.0, label="9 rows", hidden=True)],
        "wrong elsewhere": [raced(2.0), wrong],
        "older": [CaseResult("test_rows", "64 rows", False, True, share=0.5)],
    })  # fmt: skip
    assert [(name, board.costs) for name, board in found.items()] == [(RACE, {"a": 3.0})]


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("aliases", {"a": "Fox"}),
        ("anonymous", {}),
        ("names", {"a": "Ann A", "b": "b"}),
        ("off", None),
    ],
)
def test_an_instructor_chooses_what_the_class_sees(choice, names):
    assert names_shown(choice, {"a": "Fox"}, {"a": "Ann A", "b": " "}) == names


@pytest.mark.parametrize(
    ("line", "alias"),
    [
        ('race_alias = "Ada"', "Ada"),
        ("race_alias = ' Fast Fox '  # mine", "Fast Fox"),
        ("race_alias = None", None),
        ('race_alias = "  "', None),
        (f'race_alias = "{"x" * 25}"', None),
        ('race_alias = "a" + "b"', None),
    ],
)
def test_an_alias_is_read_from_the_text_of_the_notebook(line, alias):
    found = read_guesses([{"cell_type": "code", "source": f"minutes_06 = 90\n{line}"}])
    assert [g.answer for g in found if g.what == ALIAS] == ([alias] if alias else [])
    assert any(guess.answer == 90 for guess in found)


# ── a class that is graded ───────────────────────────────────────────────────────────────────


def hand_in(course, student, alias="None", **functions):
    folder = course.root / "submitted" / student / LESSON
    folder.mkdir(parents=True, exist_ok=True)
    notebook = handed(**functions)
    [cell] = [cell for cell in notebook.cells if "race_alias = None" in cell.source]
    cell.source = cell.source.replace("race_alias = None", f"race_alias = {alias}")
    nbformat.write(notebook, folder / f"{LESSON}.ipynb")


def grade(course):
    rows = grade_class(course, LESSON, warm_runner(), jobs=2, progress=False)
    assert {row.status for row in rows} == {"graded"}


def feedback(course, student):
    done = command(course, "nbgrader", "generate_feedback", LESSON, "--force")
    assert done.returncode == 0, done.stderr
    page = (course.root / "feedback" / student / LESSON / f"{LESSON}.html").read_text("utf-8")
    return text_of(page)


def page_of(course, public=True):
    return text_of(render(read_summary(course, LESSON, public)))


@pytest.fixture
def course(tmp_path):
    course = course_in(tmp_path)
    for name in ("jupyter_config.py", "nbgrader_config.py"):
        shutil.copy(ROOT / name, course.root)
    shutil.copy(new_gradebook(), course.root / "gradebook.db")
    source = nbformat.read(course.source(LESSON), as_version=4)
    source.metadata[COSTS] = [["test_rows", "64 rows", 0.01003], ["test_product", "square", 9.0]]
    nbformat.write(source, course.source(LESSON))
    for student, functions in CLASS.items():
        hand_in(course, student, '"<Fox>"' if student == "ben" else "None", **functions)
    grade(course)
    return course


@pytest.mark.proves
def test_the_class_sees_costs_and_places_and_an_instructor_names(course):
    public, page = page_of(course), page_of(course, public=False)
    assert re.search(r"rows, 64 rows .* 2 of 4 right programs earn full marks", public)
    assert "and nobody is below it" in public and "4 programs are below it, so" in public
    assert "<Fox>" in public and not any(name in public for name in CLASS)
    assert all(f" {name} " in page for name in CLASS)
    assert re.search(r"order, a small product .* Place misses Programs", public)
    assert "9 rows" not in public and "a long middle" not in public
    settings = course.root / "private/course.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('[course]\nboard = "off"\n')
    assert "Place" not in page_of(course) and "earn full marks" in page_of(course)
    settings.write_text('[course]\nboard = "of"\n')
    page = feedback(course, "cem")
    assert "64 rows" in page and "just above yours" not in page


@pytest.mark.whole
def test_a_student_sees_who_is_just_above_until_a_new_hand_in_changes_it(course):
    before = feedback(course, "cem")
    line = r"rows, 64 rows ([\d.]+) \(<Fox>\) · ([\d.]+) — you ([\d.]+), place 4 of 4 ms on T4"
    found = re.search(line, before)
    assert found and float(found[1]) > float(found[2]) and float(found[3]) > float(found[1])
    hand_in(course, "cem")
    grade(course)
    after = feedback(course, "cem")
    assert f"you {found[2]}, place 1 of 4, shared with 2 more" in after


@pytest.mark.whole
def test_who_was_given_another_program_is_not_compared(course):
    races = nbformat.read(course.source(LESSON), as_version=4).metadata[METADATA]
    write_own(place_of(course.root, LESSON, "ben"), {}, races)
    grade(course)
    public = page_of(course)
    assert "2 of 3 right programs" in public and "<Fox>" not in public


@pytest.mark.whole
def test_gradings_of_an_older_release_have_no_board_and_still_report(course):
    with sqlite3.connect(course.gradebook) as book:
        for student, cases in list(book.execute("SELECT student, cases FROM proflab_outcome")):
            old = [{k: v for k, v in each.items() if k != "cost"} for each in json.loads(cases)]
            row = json.dumps(old), student
            book.execute("UPDATE proflab_outcome SET cases = ? WHERE student = ?", row)
    assert "Place " not in page_of(course) and "64 rows" not in page_of(course)
    assert "just above yours" not in feedback(course, "cem")
