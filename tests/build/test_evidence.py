"""No copy of the visible answers earns the points of a cell, and no cell gives lines to lose."""

import pytest
from mini_course import FIRST, ROOT, SECOND, changed, make_course
from mini_course import read_lesson as read

from proflab_course.build.command import build
from proflab_course.build.evidence import (
    LEAST,
    copied,
    evidence_mistakes,
    evidence_notes,
    new_values,
)
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_module
from proflab_course.grading.points import share

CELL = "modules/02_second/02_second.py, cell test_volume"


def second(tmp_path, visible: str, hidden: str):
    """The second lesson with these cases."""
    text = changed('expect("a cube", volume(2, 2, 2), 8)', visible, SECOND)
    return read(
        tmp_path, changed('expect("a brick", volume(2, 3, 5), 30)', hidden, text), "02_second"
    )


@pytest.mark.parametrize(
    ("visible", "hidden"),
    [
        ('expect("a cube", volume(2, 2, 2), 8)', 'expect("again", volume(2,2,2), 8.0)'),
        ('expect("a cube", volume(2, 2, 2), 8)', 'expect_between("again", volume(2, 2, 2), 7, 9)'),
        ('v = volume(2, 2, 2)\nexpect("a", v, 8)', 'expect("b", v, 8)'),
        ('v = volume(2, 2, 2)\nexpect("a", v, 8)', 'v = volume(2, 2, 2)\nexpect("b", v, 8)'),
        ('expect_table(volume, ("a", (1, 1, 1), 1))', 'expect_table(volume, ("b", (1, 1, 1), 1))'),
        (
            'expect_raises("a", lambda: volume(0, 1, 1), ValueError)',
            'expect_raises("b", lambda: volume(0, 1, 1), ValueError)',
        ),
    ],
)
def test_a_hidden_case_that_a_visible_one_answers_is_refused(tmp_path, visible, hidden):
    (sentence,) = evidence_mistakes(second(tmp_path, visible, hidden))
    assert sentence.startswith(f"{CELL}: `") and "what a visible case asks" in sentence


@pytest.mark.parametrize(
    ("visible", "hidden"),
    [
        ('expect("a cube", volume(2, 2, 2), 8)', 'expect("another", volume(2, 4, 1), 8)'),
        ('v = volume(2, 2, 2)\nexpect("a", v, 8)', 'v = volume(2, 4, 1)\nexpect("b", v, 8)'),
        (
            'n = 2\nv = volume(n, 2, 2)\nexpect("a", v, 8)',
            'n = 2 - 0\nv = volume(n, 2, 2)\nexpect("b", v, 8)',
        ),
        ('expect("a", seen, 8)', 'volume(9, 9, 9)\nexpect("b", seen, 8)'),
        ('expect("a", seen, 8)', 'expect("b", seen, 9)'),
    ],
)
def test_another_question_or_another_answer_is_none(tmp_path, visible, hidden):
    assert list(evidence_mistakes(second(tmp_path, visible, hidden))) == []


def test_the_build_refuses_a_hidden_case_that_is_no_evidence(tmp_path):
    text = changed("volume(2, 3, 5), 30)", "volume(2, 2, 2), 8)", SECOND)
    course = make_course(tmp_path, {"01_first": FIRST, "02_second": text})
    with pytest.raises(
        CourseError, match="asks, with the same answer: give 'a brick' other inputs"
    ):
        build(course, ["2"], audit="static")


def test_hidden_values_that_no_visible_case_shows_are_counted(tmp_path):
    hidden = """expect("shown", volume(2, 4, 1), 8)
expect("new", volume(3, 3, 3), 27)
expect("near a shown one", volume(2, 2, 3), 12.5, abs=5)
expect_between("around a shown one", volume(2, 2, 4), 1, 20)
expect_between("new, too", volume(5, 5, 5), 100, 200)
expect_raises("an error", lambda: volume(0, 0, 0), ValueError)"""
    lesson = second(tmp_path, 'expect("a cube", volume(2, 2, 2), 8)', hidden)
    assert new_values(lesson) == {"test_volume": 2} and not list(evidence_notes(lesson))
    few = second(tmp_path, 'expect("a cube", volume(2, 2, 2), 8)', hidden.replace("27", "8"))
    (sentence,) = evidence_notes(few)
    assert sentence.startswith(f"{CELL}: 1 hidden case has a value that no visible case shows")


# Cells of which fewer hidden cases are new.
FEW = {
    # A work log is judged by what its own rows say of each other, so there is nothing to copy.
    "13_faster": dict.fromkeys(("test_work_log", *(f"test_work_log_{n}" for n in range(2, 6))), 0),
}


@pytest.mark.parametrize("name", Course(ROOT).lessons())
def test_copied_answers_earn_little_in_any_lesson(name):
    """With partial credit, at best: each case is answered by the best of the visible answers."""
    lesson = read_module(Course(ROOT).module(name), name)
    points = {cell.name: cell.points for cell in lesson.named("test")}
    assert sum(points[cell] * share(cases) for cell, cases in copied(lesson).items()) <= 35
    few = {cell: n for cell, n in new_values(lesson).items() if n < LEAST}
    assert few == FEW.get(name, {})


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("def area(", "LEAST = 1\n\n\ndef area(", "LEAST = 1"),
        ("def area(", "from math import sqrt\n\n\ndef area(", "from math import sqrt"),
        (
            "    ### BEGIN SOLUTION\n    if min",
            "    n = 1\n    ### BEGIN SOLUTION\n    if min",
            "n = 1",
        ),
    ],
)
def test_the_build_refuses_a_given_line_in_an_exercise(tmp_path, old, new, line):
    course = make_course(tmp_path, {"01_first": changed(old, new)})
    with pytest.raises(CourseError) as error:
        build(course, audit="static")
    assert f"cell area: put `{line}` into a locked cell of its own" in str(error.value)
