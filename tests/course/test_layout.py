"""Lessons by name, number or path: one way for every command that takes one."""

import pytest

from proflab_course.course.layout import Course, CourseError


@pytest.fixture
def course(tmp_path):
    for name in ("01_parameters", "02_flops", "10_cuda_roofline", "10_triton"):
        (tmp_path / "source" / name).mkdir(parents=True)
    (tmp_path / "modules").mkdir()
    return Course(tmp_path)


@pytest.mark.parametrize(
    "given",
    ["01_parameters", "01", "1", "001", "source/01_parameters", "release/01_parameters/",
     "submitted/anna/01_parameters/01_parameters.ipynb", "modules/01_parameters/01_parameters.py"],
)  # fmt: skip
def test_a_lesson_is_known_by_name_number_and_path(course, given):
    assert course.lesson(given, "source") == "01_parameters"


@pytest.mark.parametrize("given", ["7", "parameters", "", "..", "-1", "½", "01_Parameters", "1_"])
def test_any_other_name_gets_a_sentence_that_lists_the_lessons(course, given):
    with pytest.raises(CourseError) as error:
        course.lesson(given, "source")
    there = "01_parameters, 02_flops, 10_cuda_roofline, 10_triton"
    assert str(error.value) == f"there is no lesson {given!r} in source/ (there is {there})"


def test_a_number_of_two_lessons_asks_for_the_name(course):
    with pytest.raises(CourseError, match="'10' may be 10_cuda_roofline or 10_triton: give the n"):
        course.lesson("10", "source")


def test_before_the_first_build_the_sentence_says_so(course):
    with pytest.raises(CourseError, match="no lesson '1' in modules/ .*none yet: run `proflab bui"):
        course.lesson("1")
