"""A class is graded: scores, outcomes, what is graded again, and that nothing is lost."""

import os
import re
import shutil
import sqlite3
import threading

import pytest
import sample_class
from grading_course import (
    LESSON,
    cell,
    command,
    copy_course,
    grade,
    graded_class,
    hand_in,
    solved,
    without_metadata,
)
from parsing import watch_parsing

from proflab_course.cases.reader import split
from proflab_course.course import files as writing
from proflab_course.course.layout import CourseError
from proflab_course.grading import command as grading
from proflab_course.grading import resume
from proflab_course.grading.answer_key import read_key
from proflab_course.grading.records import gradebook
from proflab_course.grading.records.gradebook import Book


@pytest.fixture(scope="module")
def whole_class(once):
    """The sample class, graded once; read only."""
    return graded_class(once)


@pytest.fixture
def course(tmp_path):
    """A course in which one student has handed in everything."""
    return copy_course(tmp_path, ["complete"])


def autograded(course, student):
    return course.root / "autograded" / student / LESSON / f"{LESSON}.ipynb"


@pytest.mark.proves
@pytest.mark.parametrize("student", sample_class.EXPECTED)
def test_the_sample_class_gets_what_it_should(whole_class, student):
    course, rows = whole_class
    status, passed, waits = sample_class.EXPECTED[student]
    key = read_key(course.source(LESSON))
    cells = [each for each in key.cells if each.kind == "test" and not each.is_concept]
    exercises = {each.grade_id: re.sub(r"^test_|_\d$", "", each.grade_id) for each in cells}
    assert set(exercises.values()) == set(sample_class.COMPLETE)
    points = sum(c.points for c in cells if {c.grade_id, exercises[c.grade_id]} & set(passed))
    assert rows[student].status == status
    assert rows[student].score == points
    with Book(course.gradebook) as book:
        assert book.scores(LESSON)[student]["needs_manual"] == waits
    assert autograded(course, student).exists()


def test_submitted_is_what_sample_class_makes():
    made = sample_class.make_files()
    assert {path.split("/")[0] for path in made} == set(sample_class.EXPECTED)
    submitted = sample_class.ROOT / "submitted"
    there = {str(p.relative_to(submitted)) for p in submitted.glob("*/**/*") if p.is_file()}
    assert there == set(made)
    for path, data in made.items():
        assert (submitted / path).read_bytes() == data, "run: python tests/helpers/sample_class.py"


def test_documents_count_the_sample_class_and_name_each_of_it():
    words = {8: "eight", 16: "sixteen"}[len(sample_class.EXPECTED)]
    for page in ("README.md", "submitted/README.md"):
        assert words in (sample_class.ROOT / page).read_text("utf-8"), page
    table = (sample_class.ROOT / "submitted/README.md").read_text("utf-8")
    named = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(named) == sorted(sample_class.EXPECTED)


def test_no_thread_but_the_first_parses(course, monkeypatch):
    """Not even where cells are recognised by what they define, or a notebook is no notebook."""
    hand_in(course, "without", without_metadata(solved()))
    hand_in(course, "wrong", solved(linear_parameters="def linear_parameters(*_): return [0, 'a']"))
    hand_in(course, "broken", solved(linear_parameters="def linear_parameters(:"))
    hand_in(course, "text", b"{")
    monkeypatch.setattr(grading, "read_key", read_key)  # anew, and so are its cells
    split.cache_clear()
    threads = watch_parsing(monkeypatch)
    assert len(grade(course, jobs=2)) == 5
    assert threads == {threading.main_thread()}


def test_what_has_not_changed_is_not_graded_again(course, monkeypatch):
    grade(course)
    before = autograded(course, "complete").stat().st_mtime_ns
    assert not grade(course)["complete"].fresh
    assert autograded(course, "complete").stat().st_mtime_ns == before
    assert grade(course, regrade=True)["complete"].fresh
    hand_in(course, "complete", solved(linear_parameters="pass"))
    assert grade(course)["complete"].score < 100
    monkeypatch.setattr(resume, "harness_fingerprint", lambda: "another harness")
    assert grade(course)["complete"].fresh


def test_a_lost_notebook_is_written_again(course):
    grade(course)
    autograded(course, "complete").unlink()
    assert grade(course)["complete"].fresh
    assert autograded(course, "complete").exists()


def test_only_the_students_who_are_named(course):
    hand_in(course, "second", solved())
    assert set(grade(course, students=["second"])) == {"second"}


def test_a_student_without_a_hand_in_is_missing(course):
    (course.root / "submitted" / "absent").mkdir()
    row = grade(course, students=["absent"])["absent"]
    assert (row.status, row.score) == ("missing", 0)
    assert f"there is no {LESSON}.ipynb" in row.sentence


def test_unknown_names_get_a_sentence(course):
    with pytest.raises(CourseError, match="no folder submitted/nobody; there are complete"):
        grade(course, students=["nobody"])
    with pytest.raises(CourseError, match="there is no folder submitted/"):
        grade(course, students=[".."])
    with pytest.raises(CourseError, match="there is no lesson '99_none' in source/"):
        course.lesson("99_none", "source")


@pytest.mark.proves
def test_a_folder_whose_name_cannot_be_kept_stops_nobody_and_is_named(course):
    """A line break, and bytes of an archive that an old Windows made."""
    submitted = course.root / "submitted"
    for name in (b"a\nb", b"lat\xfcin"):
        shutil.copytree(submitted / "complete", submitted / os.fsdecode(name))
    (submitted / "Icon\r").touch()  # as macOS writes into a folder with an icon of its own
    done = command(course, "proflab", "grade", LESSON)
    assert done.returncode == 1
    assert "complete" in done.stdout
    assert r"a folder 'a\nb', which is not graded" in done.stdout
    assert r"a folder 'lat\udcfcin', which is not graded" in done.stdout
    assert "Icon" not in done.stdout
    assert not (course.root / "grading.log").exists()
    with pytest.raises(CourseError, match=r"a folder 'a\\nb', .* so rename it"):
        grade(course, students=["a\nb"])
    with Book(course.gradebook) as book:
        assert {*book.outcomes(LESSON)} == {"complete"}


@pytest.mark.proves
def test_manual_points_survive_a_regrade(course):
    grade(course)
    with Book(course.gradebook) as book, book.transaction() as rows:
        rows.find_grade("essay_parameters", LESSON, LESSON, "complete").manual_score = 7
        rows.find_grade("test_linear_parameters", LESSON, LESSON, "complete").extra_credit = 2
    grade(course, regrade=True)
    with Book(course.gradebook) as book:
        essay = book.gradebook.find_grade("essay_parameters", LESSON, LESSON, "complete")
        assert (essay.manual_score, essay.score) == (7, 7)
        assert essay.needs_manual_grade  # as nbgrader does: is it still right?
        assert book.scores(LESSON)["complete"]["score"] == 109


def test_late_work_is_penalised_as_nbgrader_is_configured(course):
    folder = course.root / "submitted" / "complete" / LESSON
    (folder / "timestamp.txt").write_text("2026-03-02 10:00:00 UTC\n")
    config = course.root / "jupyter_config.py"
    config.write_text(config.read_text() + '\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    grade(course)
    with Book(course.gradebook) as book, book.transaction() as rows:
        assert rows.find_submission(LESSON, "complete").late_submission_penalty == 0
        rows.update_or_create_assignment(LESSON, duedate="2026-03-01 10:00:00 UTC")
    grade(course, regrade=True)
    with Book(course.gradebook) as book:
        assert book.scores(LESSON)["complete"]["penalty"] == 100
    assert (autograded(course, "complete").parent / "timestamp.txt").exists()


def test_rows_of_one_submission_are_written_together(course, monkeypatch):
    def fail(*_):
        raise RuntimeError("power cut")

    grade(course)
    hand_in(course, "complete", solved(linear_parameters="pass"))
    with monkeypatch.context() as patch:
        patch.setattr(Book, "_write_penalty", fail)
        assert grade(course)["complete"].status == "not graded"
    with Book(course.gradebook) as book:
        assert book.scores(LESSON)["complete"]["auto"] == 100  # the earlier result, whole
        outcome = book.outcomes(LESSON)["complete"]
        assert outcome.status == "not graded"
        assert outcome.cases and all(case.passed for case in outcome.cases)
    assert grade(course)["complete"].score < 100


def test_a_locked_gradebook_gets_a_sentence_and_a_clean_rerun(course, monkeypatch):
    grade(course)
    monkeypatch.setattr(gradebook, "BUSY_SECONDS", 0.1)
    other = sqlite3.connect(course.gradebook)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(CourseError, match="in use by another program: close it .*nothing is lost"):
        grade(course, regrade=True)
    other.rollback()
    other.close()
    assert grade(course, regrade=True)["complete"].score == 100


def test_a_file_that_is_no_gradebook_gets_a_sentence(course):
    course.gradebook.write_text("not a database, but long enough to be taken for one" * 100)
    for _ in range(2):
        with pytest.raises(CourseError, match=r"gradebook.db is no gradebook.* move it away"):
            grade(course)
    course.gradebook.rename(course.root / "away.db")
    assert grade(course)["complete"].score == 100


def test_a_gradebook_of_an_earlier_nbgrader_gets_a_sentence(course):
    with sqlite3.connect(course.gradebook) as connection:
        connection.execute("ALTER TABLE student DROP COLUMN lms_user_id")
    with pytest.raises(
        CourseError, match="is of an earlier nbgrader .*: run `nbgrader db upgrade`"
    ):
        grade(course)
    with sqlite3.connect(course.gradebook) as connection:  # as that command does
        connection.execute("ALTER TABLE student ADD COLUMN lms_user_id VARCHAR(128)")
    assert grade(course)["complete"].score == 100


def test_small_answers_are_one_true_sentence(tmp_path):
    course = copy_course(tmp_path, [])
    done = command(course, "proflab", "grade", "1", "--no-sandbox")
    assert "Nothing was handed in" in done.stdout and "Next:" not in done.stdout
    for number in range(12):
        hand_in(course, f"s{number:02}", b"{")
    done = command(course, "proflab", "grade", "1", "--no-sandbox", "--student", "nobody")
    assert done.returncode == 2
    assert done.stderr.endswith("s07, s08, s09 and 2 more\n") and "s10" not in done.stderr
    done = command(course, "proflab", "grade", "1", "--no-sandbox")
    assert done.stderr == "", "a progress bar in a log"


def test_a_full_disk_gets_a_sentence_and_a_clean_rerun(course, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(writing.os, "fsync", full)
        with pytest.raises(CourseError, match="the disk is full: make room, then run it again"):
            grade(course)
    assert not list(autograded(course, "complete").parent.glob(".*.part"))
    assert grade(course)["complete"].score == 100


def test_a_lesson_whose_cells_change_keeps_the_marks_of_the_others_and_says_so(course):
    assert grade(course)["complete"].score == 100
    path = course.source(LESSON)
    text = path.read_text()
    path.write_text(text.replace('"test_linear_parameters"', '"test_linear_parameters_9"'))
    notes = []
    assert grade(course, notes=notes)["complete"].score == 100
    due = "no due date is known, so nobody is late (private/dates.toml may name one)"
    assert notes == [
        f"{LESSON}: since hand-ins were graded, the lesson has lost test_linear_parameters and "
        "gained test_linear_parameters_9; the gradebook keeps what was earned there, uncounted",
        due,
    ]
    notes.clear()
    assert grade(course, notes=notes)["complete"].score == 100 and notes == [due]


def test_support_files_are_the_lessons_own(course):
    (course.source(LESSON).parent / "built.py").write_text("answer = 42\n")
    folder = course.root / "submitted" / "complete" / LESSON
    (folder / "built.py").write_text("answer = 41\n")
    notebook = solved(linear_parameters="from built import answer\nassert answer == 42\n")
    source = cell(notebook, "linear_parameters").source
    complete = sample_class.textwrap.dedent(sample_class.COMPLETE["linear_parameters"])
    cell(notebook, "linear_parameters").source = source + complete
    hand_in(course, "complete", notebook)
    assert grade(course)["complete"].score == 100
    assert (autograded(course, "complete").parent / "built.py").read_text() == "answer = 42\n"


def test_a_students_module_shadows_nothing(course):
    folder = course.root / "submitted" / "complete" / LESSON
    (folder / "numpy.py").write_text("raise SystemExit\n")
    (folder / "proflab.py").write_text("raise SystemExit\n")
    assert grade(course)["complete"].score == 100


def test_the_command_prints_a_table(course):
    hand_in(course, "broken", b"{")
    done = command(course, "proflab", "grade", "1", "--no-sandbox")
    assert done.returncode == 0, done.stderr
    assert f"Next: proflab report {LESSON}\n" in done.stdout
    assert "complete    100 / 100  graded" in done.stdout
    assert "broken        0 / 100  not a notebook" in done.stdout
    bad = command(course, "proflab", "grade", "nothing")
    assert bad.returncode == 2
    assert bad.stderr == (
        f"proflab grade: there is no lesson 'nothing' in source/ (there is {LESSON})\n"
    )
