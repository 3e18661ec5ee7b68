"""A disk that is really full: a sentence, and a rerun that ends as if there had been room."""

import pytest
from chosen import chosen
from grading_course import copy_course, grade
from killing import files, left_over, tables
from small_disks import small_disk

from proflab_course.course.layout import CourseError

STUDENTS = ["complete", "not_json"]
KB = 1024


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path, megabytes=4) as place:
        yield place


@pytest.fixture(scope="module")
def peaceful(tmp_path_factory):
    """The same class where there is room."""
    course = copy_course(tmp_path_factory.mktemp("room"), STUDENTS)
    grade(course)
    return course


# What is left decides what fails: the journal, a support file, the notebook, the database.
@pytest.mark.parametrize("free", chosen([0, 8 * KB, 60 * KB, 180 * KB], {0, 180 * KB}))
def test_a_full_disk_gets_a_sentence_and_a_rerun_is_whole(free, disk, peaceful):
    course = copy_course(disk, STUDENTS)
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4 * KB))
    with ballast.open("r+b") as file:
        file.truncate(ballast.stat().st_size - free)
    with pytest.raises(CourseError, match="disk is full.* make room.* nothing is lost"):
        grade(course)
    ballast.unlink()
    grade(course)
    assert tables(course.gradebook) == tables(peaceful.gradebook)
    assert files(course) == files(peaceful)
    assert left_over(course) == []
