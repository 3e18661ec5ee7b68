"""Every track that ships, through every command: built, checked, graded, asked about, exported.

A lesson of each track, with private cases, with numbers drawn for the class or for each student,
and the capstone's program drawn. One student solved everything, another one left one exercise out.
"""

import csv
import os
import shutil
import sys
from contextlib import chdir
from dataclasses import dataclass

import nbformat
import pytest
from handed_in import filled
from linked_course import ROOT, linked_course

from proflab_classroom.questions.concepts_file import read_concepts
from proflab_classroom.questions.exam import MOST_MINUTES, make_exam
from proflab_course.cli import main
from proflab_course.course.answer_cells import ORDERS
from proflab_course.course.notebook import read_module, read_notebook
from proflab_course.course.secret import PLACE
from proflab_course.course.settings import SETTINGS
from proflab_course.grading.answer_key import read_key
from proflab_course.grading.records.gradebook import Book
from proflab_course.tracks.read import Tracks

pytestmark = pytest.mark.proves("a track that leaves functions out, through every command")
sys.path.insert(0, str(ROOT / "docs" / "site"))
ALONE = ["--no-sandbox"] if os.environ.get("PROFLAB_NO_SANDBOX_TESTS") else []
CLASS, STUDENT = "class", "student"  # whom hidden cases are drawn for
PRIVATE = """\
# %% tags=["extend"] nbgrader={{"grade_id": "test_{name}"}}
### BEGIN HIDDEN TESTS
expect("a private one", {call}, {value})
### END HIDDEN TESTS
"""


@dataclass(frozen=True)
class Class:
    """A class: its track, one of its lessons, whom cases are drawn for, and a private case.

    without: the exercise that the second student has left out, of which there is a private case:
    call and value.
    """

    track: str
    lesson: str
    drawn: str
    without: str
    call: str = ""
    value: str = ""


CLASSES = (
    Class(
        "evening", "02_flops", CLASS, "count_flops",
        "count_flops(nn.Linear(3, 7), (1, 3))", "42",
    ),
    Class(
        "week", "03_latency", STUDENT, "confidence_interval",
        "confidence_interval([4.0, 4.0, 4.0, 4.0, 4.0, 4.0])", "(4.0, 4.0)",
    ),
    Class("weeks3", "08_benchmarking", CLASS, "gate"),
    Class(
        "weeks3-serving", "05_profiler", STUDENT, "self_times",
        "self_times([(0, 4), (1, 3)])", "[2.0, 2.0]",
    ),
    Class("term", "01_parameters", CLASS, "gpt2_parameters", "gpt2_parameters(2, 1, 1, 1)", "30"),
    Class("capstone", "13_faster", CLASS, "faster"),
    Class(
        "all", "02_flops", STUDENT, "einsum_flops",
        'einsum_flops("ab,bc->ac", [(2, 5), (5, 3)])', "60",
    ),
)  # fmt: skip
# Those whose pool is made: one for each way to draw cases, with and without a private one, and the
# race. The default track's is in viva/test_pool.py.
POOLS = {"evening", "week", "weeks3", "capstone"}


def test_every_track_that_ships_is_here():
    assert [each.track for each in CLASSES] == [*Tracks.read(ROOT).tracks]


def run(*words):
    assert main([*words]) == 0, words


def as_parameter(each):
    """Return a class as a test's parameter; `make test` has one, and races take minutes."""
    marks = {"evening": (), "capstone": pytest.mark.soak}.get(each.track, pytest.mark.whole)
    return pytest.param(each, id=each.track, marks=marks)


@pytest.fixture(scope="module", params=map(as_parameter, CLASSES))
def taken(request, tmp_path_factory):
    """A class's course, built, with two hand-ins that are graded: (class, course)."""
    each = request.param
    course = linked_course(tmp_path_factory.mktemp(each.track), "source", "release")
    (course.root / "private").mkdir()
    (course.root / PLACE).write_bytes(bytes(range(32)))
    (course.root / "private/tracks.toml").write_text(f'use = "{each.track}"\n')
    if each.drawn == STUDENT:
        (course.root / SETTINGS).write_text('[course]\nvariants = "student"\n')
    if each.call:
        private = PRIVATE.format(name=each.without, call=each.call, value=each.value)
        (course.root / f"private/{each.lesson}.py").write_text(private)
    words = ["build", each.lesson, "--audit", "static"]
    if each.track == "capstone":  # what a race needs is computed where a lesson is executed
        (course.root / "roster.csv").write_text("id\ncleo\n")
        words = ["build", each.lesson, "--per-student", "roster.csv"]
    with chdir(course.root):
        run(*words, *(["--seed", "4711"] if each.drawn == CLASS else []))
        hand_in(course, each)
        run("grade", each.lesson, "--jobs", "1", *ALONE)
        yield each, course


def hand_in(course, each):
    """Hand in the release, solved, as ada; and as ben without one exercise."""
    solved = read_notebook(course.source(each.lesson), each.lesson)
    for student in ("ada", "ben"):
        notebook = filled(read_notebook(course.release(each.lesson), each.lesson), solved)
        for cell in notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
            if student == "ben" and name == each.without:
                cell.source = f"{name} = None"
            if name.startswith("essay"):
                cell.source = "It fits, and it is fast enough: 42."
        place = course.root / "submitted" / student / each.lesson / f"{each.lesson}.ipynb"
        place.parent.mkdir(parents=True)
        nbformat.write(notebook, place)


def test_the_solved_lesson_has_all_points_and_the_other_lost_those_of_its_exercise(taken):
    each, course = taken
    key = read_key(course.source(each.lesson))
    with Book(course.gradebook) as book:
        scores = {s: row["auto"] for s, row in book.scores(each.lesson).items()}
        failed = {case.cell for case in book.outcome(each.lesson, "ben").cases if not case.passed}
    assert scores["ada"] == key.max_score > scores["ben"]
    assert any(cell.startswith(f"test_{each.without}") for cell in failed)


def test_the_build_has_drawn_what_it_should(taken):
    each, course = taken
    key = read_key(course.source(each.lesson))
    public = {
        cell.name: cell.source
        for cell in read_module(course.module(each.lesson), each.lesson).named("test")
    }
    changed = {
        c.grade_id for c in key.cells if public.get(c.grade_id, c.master.source) != c.master.source
    }
    orders = key.metadata.get(ORDERS, {})
    if each.drawn == CLASS and each.track != "capstone":
        assert len(changed) > 1 and {*orders.values()} != {"ABCD"}
    if each.drawn == STUDENT:
        with Book(course.gradebook) as book:
            assert {*book.variants(each.lesson)} == {"ada", "ben"}
    if each.call:
        assert f"test_{each.without}" in changed
    release = course.release(each.lesson).read_text(encoding="utf-8")
    assert "a private one" not in release
    if each.track == "capstone":
        own = course.root / "private/by_student/cleo" / each.lesson / "program.py"
        drawn = {own.read_text(), (course.release(each.lesson).parent / "program.py").read_text()}
        assert len(drawn) == 2


def test_check_says_where_the_student_is(taken, tmp_path, capfd):
    each, course = taken
    place = tmp_path / each.lesson
    shutil.copytree(course.release(each.lesson).parent, place)
    shutil.copy(course.root / f"submitted/ada/{each.lesson}/{each.lesson}.ipynb", place)
    run("check", str(place / f"{each.lesson}.ipynb"))
    assert each.without in capfd.readouterr().out


def test_the_pages_of_lesson_and_term_name_the_students(taken):
    each, course = taken
    run("report", each.lesson)
    run("report")
    for name in (f"{each.lesson}.html", "term.html"):
        page = (course.root / "reports" / name).read_text(encoding="utf-8")
        assert "ada" in page and "ben" in page


def test_a_viva_asks_all_its_kinds_of_question(taken, capsys):
    each, course = taken
    run("viva", each.lesson, "--jobs", "1", *ALONE)
    assert "note:" not in capsys.readouterr().out
    index = (course.root / "viva" / each.lesson / "index.csv").read_text().splitlines()
    kinds = {row["student"]: row["kinds"].split() for row in csv.DictReader(index)}
    if each.track == "capstone":
        assert "race" in kinds["ada"]  # its functions return a program, and a log
        return
    assert {"value", "tell", "change"} <= {*kinds["ada"]}


@pytest.mark.whole
def test_a_pool_has_questions_or_is_refused(taken, capsys):
    each, course = taken
    if each.track not in POOLS:
        pytest.skip("another track's pool shows it")
    words = ["viva", each.lesson, "--gift", *ALONE]
    if each.track == "capstone":
        assert main(words) == 2 and "no question could be made" in capsys.readouterr().err
        return
    run(*words)
    text = (course.root / "viva" / each.lesson / f"{each.lesson}.gift.txt").read_text()
    assert text.count("::[html]") >= 1


@pytest.mark.whole
def test_questions_have_the_letters_of_the_release_and_an_examination_takes_its_time(taken):
    each, course = taken
    if orders := read_key(course.source(each.lesson)).metadata.get(ORDERS, {}):
        run("questions", each.lesson, "--qti")
        run("questions", each.lesson)
        key = (course.root / f"reports/{each.lesson[:2]}-key.html").read_text(encoding="utf-8")
        asked = [concept for concept in read_concepts(course, each.lesson) if concept.id in orders]
        assert asked and all(concept.number in key for concept in asked)
    exam = make_exam(course, each.lesson, 1)
    assert exam.minutes <= MOST_MINUTES
    run("questions", each.lesson, "--exam", "--seed", "1")


def test_essays_are_dealt_where_the_track_has_one(taken, capsys):
    each, course = taken
    key = read_key(course.source(each.lesson))
    if any(cell.kind == "manual" for cell in key.cells):
        run("essays", each.lesson, "--between", "anna,bert")
        tables = [*(course.root / "essays" / each.lesson).glob("*.csv")]
        assert {path.stem for path in tables} >= {"anna", "bert"}
    else:
        assert main(["essays", each.lesson, "--between", "anna,bert"]) == 2
        assert "essay" in capsys.readouterr().err


def test_grades_go_into_a_platforms_file(taken):
    each, course = taken
    grades = course.root / "canvas.csv"
    column = f"{each.lesson[:2]} ours (7)"
    grades.write_text(
        f"Student,ID,SIS User ID,SIS Login ID,Section,{column}\n"
        "    Points Possible,,,,,110\nA,1,,ada,X,\nB,2,,ben,X,\n"
    )
    run("export", each.lesson, "--canvas", "canvas.csv", "--column", column, "--without-essay")
    rows = [*csv.DictReader((course.root / "canvas_filled.csv").read_text().splitlines())]
    points = {row["SIS Login ID"]: float(row[column]) for row in rows if row["SIS Login ID"]}
    assert points["ada"] > points["ben"]
    run("export", "term", "--csv", "all.csv")
    run("export", each.lesson, "--code", "code")
    assert {path.stem for path in (course.root / "code").rglob("*.py")} >= {"ada", "ben"}


def test_the_site_shows_the_lesson_as_the_track_has_it(taken, tmp_path):
    from build import audit
    from lessons import lesson_page
    from slides import deck

    each, course = taken
    page = lesson_page(course, each.lesson, [], tmp_path / "extra")
    text = "\n".join(cell.source for cell in page.cells)
    exercises = Tracks.read(course.root).track().exercises[each.lesson]
    assert all(name in text for name in exercises)
    assert deck(course, each.lesson, [])
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / f"{each.lesson}.txt").write_text(text)
    assert [*audit(course, tmp_path / "page")] == []


def test_a_rebuild_is_in_step_with_the_drawn_one(taken, capsys):
    each, course = taken
    if each.track != "term":
        pytest.skip("one class is enough")
    run("build", each.lesson, "--check", "--seed", "4711", "--audit", "static")
    assert "in step" in capsys.readouterr().out
