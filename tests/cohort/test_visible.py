"""Try `python -m tests.cohort.visible --least` on a small lesson."""

from __future__ import annotations

import textwrap

import pytest

from cohort.run import Solved, all_cases
from cohort.visible import least
from proflab_course.build.in_process import Case
from proflab_course.cases.reader import split

SOLUTION = """
def larger(a, b):
    ### BEGIN SOLUTION
    return max(a, b)
    ### END SOLUTION
"""
FIRST = """
expect("the second", larger(1, 2), 2)
expect_table(
    larger,
    ("the first", (2, 1), 2),
    ("both alike", (3, 3), 3),
    ("negative ones", [(-2, -1), (-1, -2)], ValueError),
)
### BEGIN HIDDEN TESTS
expect("a large one", larger(1, 1000), 1000)
### END HIDDEN TESTS
"""
SECOND = """
seven = larger(7, 0) + 0
expect("by way of a sum", seven, 7)
"""
MUTANTS = {
    "the first": "return a",
    "the second": "return b",
    "the smaller": "return min(a, b)",
    "a sum": "return a + b",
    "nothing": "return None",
    "negative ones are refused": """
        if a < 0 or b < 0:
            raise ValueError("below 0")
        return max(a, b)
    """,
    "up to 100": "return min(100, max(a, b))",
}


def judged(lesson, exercise, code):
    code = "def larger(a, b):\n" + textwrap.indent(textwrap.dedent(code), "    ")
    return [Case(*row) for row in all_cases(lesson, {exercise: code}, None)]


@pytest.fixture
def lesson():
    first = FIRST.replace("[(-2, -1), (-1, -2)], ValueError", "(-2, -7), -2")
    tests = [split(first, "test_larger", 2), split(SECOND, "test_larger_2", 1)]
    made = Solved("lesson_99", "99_small", [], {"larger": SOLUTION}, {"larger": tests}, "")
    vars(made)["scope"] = {"__name__": "__main__"}
    return made


def order(lesson, mutants):
    return [(*added.case, added.mutants) for added in least(lesson, "larger", mutants, judged)]


def test_the_case_that_catches_most_comes_first_and_what_adds_nothing_last(lesson):
    assert order(lesson, MUTANTS) == [
        ("test_larger", "negative ones", (*MUTANTS,)[1:6]),
        ("test_larger", "the second", ("the first",)),
        ("test_larger", "the first", ()),
        ("test_larger", "both alike", ()),
        ("test_larger_2", "by way of a sum", ()),
        ("test_larger_2", "set-up", ()),
    ]
    # What only a hidden case catches is nobody's.
    assert "up to 100" not in str(order(lesson, MUTANTS))


def test_set_up_that_raises_counts_where_it_stands_alone(lesson):
    mutants = {"no zero": "return None if b == 0 else max(a, b)"}
    assert order(lesson, mutants)[0] == ("test_larger_2", "set-up", ("no zero",))


def test_each_tuple_of_a_row_is_a_case(lesson):
    lesson.tests["larger"][:] = [split(FIRST, "test_larger", 2)]
    mutants = {"only the first is checked": "return max(a, b) if a != -2 else 1 / 0"}
    labels = [label for _, label, _ in order(lesson, mutants)]
    assert {"negative ones (1 of 2)", "negative ones (2 of 2)"} < set(labels)
