"""A grading that is killed at any moment, and run again, ends as if nothing had happened."""

import random
import signal
import sqlite3
import time

import pytest
from grading_course import LESSON, copy_course, hand_in, solved
from killing import all_end, files, finish, kill_within, left_over, start, tables
from nbgrader import api
from sandboxes import needs_sandbox

from proflab_course.course.layout import CourseError
from proflab_course.grading.lock import only_grading
from proflab_course.grading.records.gradebook import Book

KILLS = 2  # `make soak` kills some hundred times
STUDENTS = ["complete", "forgets_biases", "lost_metadata", "not_json"]


@pytest.mark.proves("a killed grading goes on where it was")
@needs_sandbox
def test_killed_and_run_again_it_ends_like_an_undisturbed_run(tmp_path):
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
    undisturbed, killed = (copy_course(tmp_path / n, STUDENTS) for n in ("undisturbed", "killed"))
    began = time.monotonic()
    finish(undisturbed, "--jobs", "2")
    seconds = time.monotonic() - began
    killed.gradebook.unlink()
    family = []
    for number in range(KILLS):
        family += kill_within(killed, seconds, random.Random(number), "--jobs", "2")
    finish(killed, "--jobs", "2")
    assert tables(killed.gradebook) == tables(undisturbed.gradebook)
    assert files(killed) == files(undisturbed)
    assert left_over(killed) == []
    assert all_end(family)


def test_the_comparison_of_gradebooks_sees_a_difference(tmp_path):
    course = copy_course(tmp_path, [])
    with Book(course.gradebook) as book, book.transaction() as rows:
        rows.add_assignment("one")
        rows.add_student("a")
        rows.add_submission("one", "a")
    before = tables(course.gradebook)
    with sqlite3.connect(course.gradebook) as connection:
        connection.execute("UPDATE submitted_assignment SET id = ?", ("f" * 32,))
    assert tables(course.gradebook) == before
    with sqlite3.connect(course.gradebook) as connection:
        connection.execute("UPDATE submitted_assignment SET assignment_id = ?", ("0" * 32,))
    assert tables(course.gradebook) != before


def test_a_gradebook_is_made_whole_or_not_at_all(tmp_path, monkeypatch):
    course = copy_course(tmp_path, [])
    course.gradebook.unlink()
    with monkeypatch.context() as patch:
        # The tables are there, the course is not.
        patch.setattr(api.Gradebook, "check_course", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Book(course.gradebook)
    assert not course.gradebook.exists()
    with Book(course.gradebook):
        pass
    assert ("alembic_version" in dict(tables(course.gradebook))) and left_over(course) == []


@pytest.mark.whole
def test_a_second_grading_is_told_of_the_first(tmp_path):
    course = copy_course(tmp_path, ["complete"])
    with only_grading(course, LESSON):
        process = start(course, "--no-sandbox")
        said, _ = process.communicate()
    assert process.returncode == 2
    assert said.startswith("proflab grade: another `proflab grade` is running in this course (")
    assert f"{LESSON}, process " in said and said.endswith("nothing is lost\n")
    finish(course, "--no-sandbox")


@pytest.mark.whole
def test_the_lock_ends_with_its_holder(tmp_path):
    course = copy_course(tmp_path, [])
    hand_in(course, "sleeper", solved(linear_parameters="import time\ntime.sleep(300)"))
    process = start(course, "--no-sandbox")
    lock = course.gradebook.with_name("gradebook.db.lock")
    while not lock.exists() or not lock.read_text():
        assert process.poll() is None
        time.sleep(0.05)
    with pytest.raises(CourseError, match="another `proflab grade` is running"):
        with only_grading(course, LESSON):
            pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with only_grading(course, LESSON):
        pass
