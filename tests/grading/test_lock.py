"""The lock that lets one grading run at a time in a course."""

import errno
import fcntl
import os
import platform
import subprocess
import sys
import threading

import pytest

from proflab_course.course.layout import Course, CourseError
from proflab_course.grading.lock import only_grading

HERE = f"process {os.getpid()} on {platform.node()}"


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


def who_is_told(course) -> str:
    """Return what a second grading is told."""
    with pytest.raises(CourseError) as told:
        with only_grading(course, "02_other"):
            pass
    return str(told.value)


def test_a_second_grading_is_told_who_holds_the_course(course):
    with only_grading(course, "01_x"):
        assert who_is_told(course) == (
            f"another `proflab grade` is running in this course (01_x, {HERE}): "
            "let it end or stop it, then run this again; nothing is lost"
        )
        told = []
        thread = threading.Thread(target=lambda: told.append(who_is_told(course)))
        thread.start()
        thread.join()
        assert f"01_x, {HERE}" in told[0]
    file = course.gradebook.with_name("gradebook.db.lock")
    assert file.read_text() == f"01_x, {HERE}"
    with only_grading(course, "02_other"):
        assert file.read_text() == f"02_other, {HERE}"


def test_the_file_of_one_that_was_killed_stops_nobody(course):
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from proflab_course.course.layout import Course\n"
        "from proflab_course.grading.lock import only_grading\n"
        "with only_grading(Course(Path(sys.argv[1])), 'killed'):\n    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, course.root]).returncode == -9
    file = course.gradebook.with_name("gradebook.db.lock")
    assert file.read_text().startswith("killed, process ")
    with only_grading(course, "01_x"):
        assert file.read_text().startswith("01_x")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_a_file_system_knows_no_locks_grading_goes_on(course, number, monkeypatch, capsys):
    def no_locks(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    for lesson in ("01_x", "02_other"):
        with only_grading(course, lesson):
            pass
        [sentence] = capsys.readouterr().err.splitlines()
        assert "has no locks" in sentence and "start only one at a time" in sentence


def test_a_file_that_cannot_be_written_is_named(course):
    (course.root / "gradebook.db.lock").mkdir()
    with pytest.raises(CourseError, match=r"gradebook\.db\.lock cannot be written: .*directory"):
        with only_grading(course, "01_x"):
            pass
