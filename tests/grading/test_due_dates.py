"""The due date by which a class is graded: from the course's file, and shown wherever it counts."""

import re

import pytest
from grading_course import (
    LESSON,
    command,
    copied,
    copy_course,
    grade,
    hand_in,
    set_due,
    solved,
    take_warm_runner,
)

from proflab_course.cli import main
from proflab_course.grading.records.gradebook import Book

ON_MARCH_2 = "2026-03-02 10:00:00 UTC\n"
PENALTY = '[penalty]\n"*" = { per_day = 0.25 }\n'


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Two graded hand-ins of the 2nd of March, without a due date."""
    course = copy_course(tmp_path_factory.mktemp("graded"), ["complete"])
    hand_in(course, "second", solved())
    for student in ("complete", "second"):
        (course.root / "submitted" / student / LESSON / "timestamp.txt").write_text(ON_MARCH_2)
    assert {row.penalty for row in grade(course).values()} == {0}
    return course


@pytest.fixture
def course(graded, tmp_path):
    """A copy of the graded course, which a test may change."""
    return copied(graded, tmp_path / "course")


def write_dates(course, due, rest=PENALTY):
    (course.root / "private").mkdir(exist_ok=True)
    text = f'zone = "Europe/Zurich"\ndue = {{ 01 = "{due}" }}\n{rest}'
    (course.root / "private/dates.toml").write_text(text)


def said(course, capsys, monkeypatch, *words):
    """What a command of the course prints."""
    monkeypatch.chdir(course.root)
    capsys.readouterr()
    assert main([*words]) == 0
    return capsys.readouterr().out


def grading(course, capsys, monkeypatch):
    take_warm_runner(monkeypatch)
    return said(course, capsys, monkeypatch, "grade", "01", "--no-sandbox")


def test_the_file_says_when_a_lesson_is_due_and_what_each_day_costs(course):
    write_dates(course, "2026-03-01 10:00")  # 09:00 in UTC: the second day has begun
    row = grade(course)["complete"]
    assert (row.fresh, row.score, row.penalty) == (False, 100, 50)
    write_dates(course, "2026-03-01 12:00")
    assert grade(course)["complete"].penalty == 25
    write_dates(course, "none")
    assert grade(course)["complete"].penalty == 0


def test_an_extension_of_the_file_counts_for_one_student(course):
    more = f'{PENALTY}[[extension]]\nstudent = "second"\nlesson = "01"\ndays = 2\n'
    write_dates(course, "2026-03-01 10:00", more)
    assert {name: row.penalty for name, row in grade(course).items()} == {
        "complete": 50,
        "second": 0,
    }


def test_an_extension_for_all_lessons_takes_no_time_from_one_that_is_due_later(course):
    more = f'{PENALTY}[[extension]]\nstudent = "second"\nlesson = "*"\ndue = "2026-02-01 10:00"\n'
    write_dates(course, "2026-03-01 12:00", more)
    assert {row.penalty for row in grade(course).values()} == {25}


def test_an_unknown_student_of_the_file_is_named_and_the_class_is_graded(course):
    more = '[[extension]]\nstudent = "s9999"\nlesson = "*"\ndays = 2\n'
    write_dates(course, "2026-03-09 10:00", more)
    done = command(course, "proflab", "grade", LESSON, "--no-sandbox")
    assert done.returncode == 1
    assert "private/dates.toml: extension, number 1: s9999 is no student of this" in done.stderr


def test_grading_shows_the_date_its_zone_and_what_lateness_costs(course, capsys, monkeypatch):
    write_dates(course, "2026-03-01 10:00")
    (course.root / "submitted/second" / LESSON / "timestamp.txt").write_text("2026-02-28 9:00 UTC")
    out = grading(course, capsys, monkeypatch)
    date = "due 2026-03-01 10:00 Europe/Zurich (private/dates.toml)"
    assert f"note: {date}: 1 of 2 hand-ins late\n" in out
    assert "note: lateness costs 25 % of the points for each day that has begun\n" in out
    assert "is this the due date" not in out


def test_a_class_that_is_all_late_is_asked_about_by_the_date_that_nbgrader_read(
    course, capsys, monkeypatch
):
    set_due(course, "03.02.2026 18:00")  # the 3rd of February, or not?
    out = grading(course, capsys, monkeypatch)
    assert "note: due 2026-03-02 18:00 UTC, as nbgrader's gradebook has it: 0 of 2 hand" in out
    set_due(course, "03.01.2026 18:00")
    out = grading(course, capsys, monkeypatch)
    assert "due 2026-03-01 18:00 UTC, as nbgrader's gradebook has it: 2 of 2 hand-ins late" in out
    assert "note: all 2 hand-ins are late: is this the due date that you mean?" in out


@pytest.mark.whole
def test_a_class_of_which_nobody_is_late_is_asked_about_where_lateness_costs(
    course, capsys, monkeypatch
):
    for number in range(3):
        hand_in(course, f"more{number}", solved())
        place = course.root / "submitted" / f"more{number}" / LESSON
        (place / "timestamp.txt").write_text(ON_MARCH_2)
    write_dates(course, "2026-12-03 18:00", "")
    assert "none of" not in grading(course, capsys, monkeypatch)
    write_dates(course, "2026-12-03 18:00")
    assert "note: none of 5 hand-ins is late: is this " in grading(course, capsys, monkeypatch)


def test_without_a_date_grading_says_that_nobody_can_be_late(course, capsys, monkeypatch):
    out = grading(course, capsys, monkeypatch)
    assert "note: no due date is known, so nobody is late (private/dates.toml may name one)" in out


def test_the_page_for_a_class_says_nothing_where_no_date_is_known(course, capsys, monkeypatch):
    said(course, capsys, monkeypatch, "report", "01", "--public")
    assert "due date" not in (course.root / f"reports/{LESSON}.public.html").read_text()
    said(course, capsys, monkeypatch, "report", "01")
    assert "No due date is known" in (course.root / f"reports/{LESSON}.html").read_text()


def test_report_and_term_show_the_date_and_say_if_grading_had_another(course, capsys, monkeypatch):
    write_dates(course, "2026-03-01 10:00")
    grade(course)
    said(course, capsys, monkeypatch, "report", "01")
    said(course, capsys, monkeypatch, "report")
    page = (course.root / f"reports/{LESSON}.html").read_text()
    date = r"[Dd]ue 2026-03-01 10:00 Europe/Zurich \(private/dates.toml\): 2 of 2 hand-ins late"
    assert re.search(date, page) and "All 2 hand-ins are late" in page
    assert re.search(date, (course.root / "reports/term.html").read_text())
    said(course, capsys, monkeypatch, "report", "01", "--public")
    public = (course.root / f"reports/{LESSON}.public.html").read_text()
    assert re.search(date, public) and "that you mean" not in public
    write_dates(course, "2026-03-08 10:00")
    said(course, capsys, monkeypatch, "report", "01")
    page = (course.root / f"reports/{LESSON}.html").read_text()
    assert "Graded when the due date was 2026-03-01 10:00 Europe/Zurich: run `proflab gr" in page


@pytest.mark.proves
def test_feedback_shows_a_student_the_date_and_when_the_hand_in_came(course):
    more = f'{PENALTY}[[extension]]\nstudent = "second"\nlesson = "01"\ndays = 2\n'
    write_dates(course, "2026-03-01 10:00", more)
    grade(course)
    done = command(course, "nbgrader", "generate_feedback", LESSON)
    assert done.returncode == 0, done.stderr
    pages = {
        student: (course.root / "feedback" / student / LESSON / f"{LESSON}.html").read_text()
        for student in ("complete", "second")
    }
    due, came = "Due 2026-03-01 10:00 Europe/Zurich.", "Handed in 2026-03-02 11:00 Europe/Zurich"
    assert f"{due} {came}, 1 day 1 hour late. Lateness costs 25 % of the" in pages["complete"]
    assert "A late hand-in cost 50 of them." in pages["complete"]
    extended = "Due 2026-03-03 10:00 Europe/Zurich, with your extension."
    assert f"{extended} {came}, in time." in pages["second"]


@pytest.mark.whole
def test_nbgraders_own_command_takes_off_what_the_file_says(course):
    write_dates(course, "2026-03-01 10:00")
    done = command(course, "nbgrader", "autograde", LESSON, "--student", "complete", "--force")
    assert done.returncode == 0, done.stderr
    with Book(course.gradebook) as book:
        assert book.scores(LESSON)["complete"]["penalty"] == 50
