"""Lateness: penalties follow the due date at every run, and a time is read as it was meant."""

import datetime
import re

import pytest
from grading_course import (
    LESSON,
    cell,
    command,
    copied,
    copy_course,
    grade,
    hand_in,
    set_due,
    solved,
)

from proflab_course.course.layout import CourseError
from proflab_course.grading.points import total_points
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.submissions.timestamp import parse_timestamp, read_timestamp

ZERO = '\nc.LateSubmissionPlugin.penalty_method = "zero"\n'


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A graded hand-in of the 2nd of March that has no due date; lateness takes all points."""
    course = copy_course(tmp_path_factory.mktemp("graded"), ["complete"])
    folder = course.root / "submitted" / "complete" / LESSON
    (folder / "timestamp.txt").write_text("2026-03-02 10:00:00 UTC\n")
    config = course.root / "jupyter_config.py"
    config.write_text(config.read_text() + ZERO)
    assert grade(course)["complete"].penalty == 0
    return course


@pytest.fixture
def course(graded, tmp_path):
    """A copy of the graded course, which a test may change."""
    return copied(graded, tmp_path / "course")


def test_a_due_date_that_is_set_or_moved_counts_at_the_next_run(course):
    set_due(course, "2026-03-01 10:00:00 UTC")
    row = grade(course)["complete"]
    assert (row.fresh, row.score, row.penalty) == (False, 100, 100)
    set_due(course, "2026-03-03 10:00:00 UTC")
    assert grade(course)["complete"].penalty == 0
    with Book(course.gradebook) as book:
        assert book.scores(LESSON)["complete"]["score"] == 100


def test_a_due_date_that_is_taken_back_leaves_no_penalty(course):
    set_due(course, "2026-03-01 10:00:00 UTC")
    grade(course)
    set_due(course, None)
    assert grade(course)["complete"].penalty == 0


def test_an_extension_counts(course):
    set_due(course, "2026-03-01 10:00:00 UTC")
    grade(course)
    with Book(course.gradebook) as book, book.transaction() as rows:
        rows.grant_extension(LESSON, "complete", hours=48)
    assert grade(course)["complete"].penalty == 0


@pytest.mark.parametrize(
    "line",
    [
        f"complete,{LESSON},2026-03-02 11:00 UTC,",
        f"complete,{LESSON},2026-03-02 12:00:00 Europe/Zurich,",
        f"complete,{LESSON},,1",
        "complete,*,,1.5",
        f"complete,*,,0.5\ncomplete,{LESSON},,2",
    ],
)
def test_an_extension_in_the_file_counts_at_the_next_run_and_its_end_too(course, line):
    set_due(course, "2026-03-01 10:00:00 UTC")
    path = course.root / "extensions.csv"
    path.write_text(f"student,lesson,due,days\n{line}\n")
    assert grade(course)["complete"].penalty == 0
    path.write_text("student,lesson,due,days\n")
    row = grade(course)["complete"]
    assert (row.fresh, row.penalty) == (False, 100)


def test_an_extension_that_is_too_short_or_anothers_does_not_help(course):
    set_due(course, "2026-03-01 10:00:00 UTC")
    lines = f"complete,{LESSON},,0.9\nsomebody,{LESSON},,9\n"
    (course.root / "extensions.csv").write_text(
        f"student;lesson;due;days\n{lines}".replace(",", ";")
    )
    assert grade(course)["complete"].penalty == 100


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("who,when\n", "line 1: the column student is missing; it needs student, lesson"),
        ("student,lesson\n", "must begin with the line `student,lesson,due,days`"),
        ("student,lesson,days,days\n", "line 1: two columns are called days: rename one"),
        ("student,lesson,due\nx,99_none,2026-01-01\n", "line 2: there is no lesson '99_none'"),
        (
            f"student,lesson,due\nx,{LESSON},03.12.2026\n",
            "line 2: the due date is '03.12.2026', which is not a date in ISO order (is it 3 Dec",
        ),
        (f"student,lesson,days\nx,{LESSON},soon\n", "line 2: 'soon' is not a number of days"),
        (f"student,lesson,due,days\nx,{LESSON},,\n", "line 2: give either a due date or days"),
        (f"student,lesson,days\nx,{LESSON},-2\n", "line 2: -2 days take time away"),
        (f"student,lesson,days\nx,{LESSON},nan\n", "line 2: 'nan' is not a number of days"),
        (
            f"student,lesson,days\nx,{LESSON},2\n\nx,01,3\n",
            f"line 4: x has an extension for {LESSON} already (extensions.csv, line 2)",
        ),
        (
            f"student,lesson,due\nx,{LESSON},2026-12-08 18:00, Europe/Zurich\n",
            "line 2: 'Europe/Zurich' stands beyond the last column",
        ),
    ],
)
def test_a_line_that_is_not_clear_stops_before_anything_is_graded(course, text, said):
    (course.root / "extensions.csv").write_text(text)
    with pytest.raises(CourseError, match=re.escape(said)):
        grade(course)


@pytest.mark.whole
def test_a_student_whom_nobody_knows_is_named_and_the_class_is_graded(course):
    with Book(course.gradebook) as book, book.transaction() as rows:
        rows.update_or_create_student("on_the_roster")
    lines = ["s9999,*,,2", "on_the_roster,*,,2", f"complete,{LESSON},,2"]
    (course.root / "extensions.csv").write_text("\n".join(["student,lesson,due,days", *lines]))
    done = command(course, "proflab", "grade", LESSON, "--no-sandbox")
    assert done.returncode == 1
    [sentence] = done.stderr.splitlines()
    assert "extensions.csv, line 2: s9999 is no student of this course" in sentence
    assert "complete  " in done.stdout


@pytest.mark.parametrize("name", ["01", "1", LESSON])
def test_a_lesson_of_the_file_is_named_as_everywhere(course, name):
    set_due(course, "2026-03-01 10:00:00 UTC")
    (course.root / "extensions.csv").write_text(f"student,lesson,days\ncomplete,{name},30\n")
    assert grade(course)["complete"].penalty == 0


def test_a_day_may_cost_a_share_of_the_points(course):
    config = course.root / "jupyter_config.py"
    plugin = "proflab_course.grading.records.lateness.PenaltyPerDay"
    config.write_text(
        config.read_text().replace(ZERO, "")
        + f'\nc.AssignLatePenalties.plugin_class = "{plugin}"\nc.PenaltyPerDay.per_day = 0.25\n'
    )
    set_due(course, "2026-03-01 09:00:00 UTC")  # 25 hours before: the second day has begun
    assert grade(course)["complete"].penalty == 50
    set_due(course, "2026-02-01 09:00:00 UTC")
    assert grade(course)["complete"].penalty == 100


def test_another_method_counts_and_marks_by_hand_survive(course):
    with Book(course.gradebook) as book, book.transaction() as rows:
        rows.find_grade("essay_parameters", LESSON, LESSON, "complete").manual_score = 7
    set_due(course, "2026-03-01 10:00:00 UTC")
    assert grade(course)["complete"].penalty == 107
    with Book(course.gradebook) as book:  # an export without essays has nobody below 0
        assert total_points(book.scores(LESSON)["complete"], essay=False) == 0
    config = course.root / "jupyter_config.py"
    config.write_text(config.read_text().removesuffix(ZERO))
    assert grade(course)["complete"].penalty == 0
    with Book(course.gradebook) as book:
        assert book.scores(LESSON)["complete"]["manual"] == 7
        assert book.scores(LESSON)["complete"]["score"] == 107


def test_only_the_students_who_are_graded_are_touched(course):
    hand_in(course, "second", solved())
    set_due(course, "2026-03-01 10:00:00 UTC")
    grade(course, students=["second"])
    with Book(course.gradebook) as book:
        assert book.scores(LESSON)["complete"]["penalty"] == 0


def test_the_terminal_shows_the_points_before_and_what_is_taken_off(course):
    set_due(course, "2026-03-01 10:00:00 UTC")
    hand_in(course, "on_time", solved())
    done = command(course, "proflab", "grade", LESSON, "--no-sandbox")
    assert done.returncode == 0, done.stderr
    assert "complete    100 / 100, late: −100  graded" in done.stdout
    assert "on_time     100 / 100              graded" in done.stdout


@pytest.mark.parametrize(
    "text, hour",
    [
        ("2026-12-03 14:30:00 UTC", 14),
        ("2026-12-03 14:30:00.123456 UTC", 14),
        ("2026-12-03 14:30:00", 14),
        ("2026-12-03T14:30Z", 14),
        ("2026-12-03T14:30:00+01:00", 13),
        ("2026-12-03 14:30:00 +0100", 13),
        ("2026-12-03 14:30:00 -05", 19),
        ("2026-12-03 14:30:00 Europe/Zurich", 13),
        ("2026-12-03 9:30 UTC\n", 9),
        ("\ufeff2026-12-03", 0),
    ],
)
def test_iso_dates_and_nbgraders_own_are_read(tmp_path, text, hour):
    (tmp_path / "timestamp.txt").write_text(text, encoding="utf-8")
    handed = read_timestamp(tmp_path)
    assert handed.problem == ""
    assert (handed.at.date(), handed.at.hour) == (datetime.date(2026, 12, 3), hour)


@pytest.mark.parametrize(
    "text, said",
    [
        ("03.12.2026", "timestamp.txt says '03.12.2026', which is not a date in ISO order"),
        ("03/12/2026 14:30", "which is not a date in ISO order"),
        ("12-03-2026", "which is not a date in ISO order"),
        ("yesterday", "which is not a date in ISO order"),
        ("1767225600", "which is not a date in ISO order"),
        ("9" * 150 + "h", "which is not a date in ISO order"),
        ("2026-13-01", "which is not a date of the calendar"),
        ("2026-12-03 25:00", "which is not a date of the calendar"),
        ("0001-01-01 00:00 +14:00", "which is not a date of the calendar"),
        ("2026-12-03 14:30 XYZT", "whose time zone XYZT is not known"),
        ("  \n", "timestamp.txt is empty"),
        ("\x1b[2J", "says '�[2J'"),
    ],
)
def test_what_is_no_time_is_refused_in_a_sentence(text, said):
    handed = parse_timestamp(text)
    assert handed.at is None
    assert said in handed.problem
    assert handed.problem.endswith("write it as 2026-12-03 14:30:00 UTC")


@pytest.mark.proves
def test_a_time_that_cannot_be_read_is_said_and_replaces_an_earlier_one(course):
    set_due(course, "2026-03-01 10:00:00 UTC")
    folder = course.root / "submitted" / "complete" / LESSON
    (folder / "timestamp.txt").write_text("03.12.2026\n")
    row = grade(course)["complete"]
    assert (row.status, row.score, row.penalty) == ("graded", 100, 0)
    assert "timestamp.txt says '03.12.2026'" in row.sentence
    (folder / "timestamp.txt").unlink()
    (folder / "timestamp.txt").mkdir()
    assert "timestamp.txt is not a file that can be read" in grade(course)["complete"].sentence
    (folder / "timestamp.txt").rmdir()
    assert grade(course)["complete"].sentence == ""


def test_a_bad_time_is_said_beside_another_outcome(course):
    folder = course.root / "submitted" / "complete" / LESSON
    (folder / "timestamp.txt").write_text("03.12.2026\n")
    notebook = solved()
    cell(notebook, "test_linear_parameters").source = "10"
    hand_in(course, "complete", notebook)
    row = grade(course)["complete"]
    assert row.status == "tampered"
    assert "was changed" in row.sentence and "03.12.2026" in row.sentence
