"""Nothing that a student can import passes a test cell in the exercise's place."""

import pytest
from mini_course import FIRST, ROOT, SECOND, changed, make_course

from proflab_course.build.command import build
from proflab_course.build.stand_ins import stand_in_mistakes
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_notebook

CELL = "modules/02_second/02_second.py, cell test_volume"
HELPERS = """
import os
import subprocess
import time


def never_ends(*sides):
    while True:
        pass


def ends_the_process(*sides):
    os._exit(0)


def raises(*sides):
    raise SystemExit


def waits(*sides):
    time.sleep(10**6)


def starts_a_process(*sides):
    subprocess.run(["sleep", "1000000"])


def first_only(*sides):
    return 8


def exact(width, height, depth):
    return width * height * depth
"""


def course_with(place, helpers: str, second: str = SECOND):
    course = make_course(place, {"01_first": FIRST, "02_second": second})
    (course.root / "modules/02_second/helping.py").write_text(helpers)
    return course


@pytest.mark.whole
def test_a_helper_that_passes_is_named_and_one_that_never_ends_stops_nothing(tmp_path):
    course = course_with(tmp_path, HELPERS)
    with pytest.raises(CourseError) as error:
        build(course, ["2"])
    assert str(error.value).splitlines() == [
        f"{CELL}: `helping.exact`, which students can import, passes it in the exercise's place"
    ]
    build(course, ["2"], audit="static")


@pytest.mark.whole
def test_a_helper_is_tried_anew_where_the_set_up_is_used_up(tmp_path):
    cases = """sides = iter([2, 2, 2, 9, 9, 9])
expect("a cube", volume(next(sides), next(sides), next(sides)), 8)"""
    second = changed('expect("a cube", volume(2, 2, 2), 8)', cases, SECOND)
    course = course_with(tmp_path, HELPERS, second)
    with pytest.raises(CourseError, match="cell test_volume: `helping.exact`, which students can"):
        build(course, ["2"])


@pytest.mark.whole
def test_a_costly_set_up_that_fills_what_stands_above_it_is_executed_again(tmp_path):
    cases = """sides = []
sides.extend(2 for _ in range(200_000))
expect("a cube", volume(sides.pop(), sides.pop(), sides.pop()), 8)"""
    second = changed('expect("a cube", volume(2, 2, 2), 8)', cases, SECOND)
    course = course_with(tmp_path, HELPERS, second)
    with pytest.raises(CourseError, match="cell test_volume: `helping.exact`, which students can"):
        build(course, ["2"])


def test_a_helper_is_tried_where_the_grader_holds_a_double(tmp_path):
    hidden = """### BEGIN HIDDEN TESTS
clock = doubles.Clock()
clock.advance(5)
expect("a slab", volume(2, 7, 5), 70)
### END HIDDEN TESTS
"""
    second = changed('expect("a cube"', f'{hidden}expect("a cube"', SECOND)
    second = changed("import expect", "import doubles, expect", second)
    course = course_with(tmp_path, HELPERS, second)
    build(course, ["2"], audit="static")
    lesson = read_notebook(course.source("02_second"), "02_second")
    [[mistake]] = map(list, stand_in_mistakes([(lesson, course.source("02_second").parent)], 1))
    assert "cell test_volume: `helping.exact`" in mistake


@pytest.mark.whole
def test_a_lesson_that_ends_the_search_is_told_and_the_others_are_searched(tmp_path):
    course = course_with(tmp_path, HELPERS)
    build(course, audit="static")
    places = [
        (read_notebook(course.source(n), n), course.source(n).parent) for n in course.lessons()
    ]
    (places[0][1] / "ending.py").write_text("import os\n\nos._exit(0)\n")
    ended, found = stand_in_mistakes(places, 1)
    with pytest.raises(RuntimeError, match="it ended"):
        list(ended)
    assert ["`helping.exact`" in mistake for mistake in found] == [True]


@pytest.mark.whole
def test_helpers_that_pass_nothing_are_no_mistake(tmp_path):
    course = course_with(tmp_path, HELPERS.split("def exact")[0])
    assert build(course, ["2"]) == ["02_second"]


@pytest.mark.soak  # each full build of a lesson does this, too
@pytest.mark.parametrize("name", Course(ROOT).lessons())
def test_no_helper_of_the_course_passes(name):
    lesson = read_notebook(Course(ROOT).source(name), name)
    [found] = stand_in_mistakes([(lesson, Course(ROOT).source(name).parent)], 1)
    assert list(found) == []
