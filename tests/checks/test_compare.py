"""compare: when a value is what was expected, and what a wrong one looks like."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proflab.checks.compare import compare, compare_between, compare_raised, show, show_passed
from proflab.checks.diagnose import diagnose

FINITE = st.floats(allow_nan=False, allow_infinity=False)
HUGE = st.integers(-(10**400), 10**400) | st.sampled_from([10**400, -(10**400), 10**308])
NUMBERS = HUGE | st.floats() | st.booleans() | st.complex_numbers()


@pytest.mark.parametrize(
    "actual, expected",
    [
        (55, 55),
        (np.int8(55), 55),
        (np.array(55), 55),
        (55, 55.0),
        (np.uint64(55), 55.0),
        (np.float32(0.5), 0.5),
        (0.1 + 0.2, 0.3),
        (1 / 3 * (1 + 1e-10), 1 / 3),
        (math.inf, math.inf),
        (1 + 2j, 1 + 2j),
        (np.bool_(True), True),
        ("a", "a"),
        (None, None),
        ([1, (2, 3)], (1, [2, 3])),
        (np.array([1, 2]), [1, 2]),
        ((1, 2.0), np.array([1.0, 2.0])),
        (np.array([1, 2]), (1.0, 2.0)),
        (np.ones((2, 2)), np.ones((2, 2))),
        ({"b": 1, "a": [2]}, {"a": (2,), "b": 1.0}),
        ([], ()),
    ],
)
def test_these_are_the_same(actual, expected):
    assert compare(actual, expected).passed


@pytest.mark.parametrize(
    "actual, expected",
    [
        (54, 55),
        (55.0000001, 55),
        (55.0, 55),
        (0.0, 0),
        (np.float32(55), 55),
        (55 + 0j, 55),
        (np.array([1.0, 2.0]), [1, 2]),
        ({"calls": 3.0}, {"calls": 3}),
        (True, 1),
        (1, True),
        (0, False),
        (np.bool_(True), 1),
        (math.nan, math.nan),
        (math.nan, 1.0),
        (1.0, math.nan),
        (math.inf, -math.inf),
        (1e308, math.inf),
        (math.inf, 1e308),
        ("55", 55),
        (55, "55"),
        (None, 0),
        (0, None),
        ([1, 2], [2, 1]),
        ([1], [1, 2]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": 1}, [("a", 1)]),
        ([[1, 1], [1, 1]], np.ones((2, 2))),
        (np.ones((4,)), np.ones((2, 2))),
        (np.array([True]), [1]),
        ({1}, [1]),
        (object(), 55),
    ],
)
def test_these_are_not(actual, expected):
    verdict = compare(actual, expected)
    assert not verdict.passed
    assert verdict.reason


@given(FINITE)
def test_a_number_is_itself(number):
    assert compare(number, number).passed


@given(st.floats(-1e6, 1e6), st.floats(0, 10), st.floats(1e-3, 1e3))
def test_a_tolerance_is_the_larger_of_both(number, rel, abs_):
    bound = max(rel * abs(number), abs_)
    for sign in (-1, 1):
        assert compare(number + sign * 0.99 * bound, number, rel, abs_).passed
        assert not compare(number + sign * 1.01 * bound, number, rel, abs_).passed


@given(st.integers(), st.integers())
def test_ints_are_met_exactly(left, right):
    assert compare(left, right).passed == (left == right)


A_FLOAT = "a float where a whole number is asked: use // instead of /"


@pytest.mark.parametrize(
    "actual, expected, reason",
    [
        (48.0, 48, "got 48.0, expected 48"),
        (0.0, 0, "got 0.0, expected 0"),
        ([1, 2.0], (1, 2), "got 2.0, expected 2 at [1]"),
        (1e17 + 16, 10**17 + 3, "got 100,000,000,000,000,016.0, expected 100,000,000,000,000,003"),
        (10**400, 10**400 + 1, None),
        (48.5, 48, None),
        (49.0, 48, None),
        (math.inf, 48, None),
        (1e308, 10**400, None),
        (48, 49.0, None),
    ],
)
def test_a_float_is_no_whole_number(actual, expected, reason):
    verdict = compare(actual, expected)
    assert not verdict.passed
    assert (verdict.diagnosis == A_FLOAT) == (reason is not None)
    assert reason in (None, verdict.reason)


def test_a_tolerance_lets_a_float_stand_for_a_whole_number():
    assert compare(48.0, 48, rel=1e-9).passed and compare(48.5, 48, abs=1).passed


def test_a_misconception_is_known_by_its_value_whatever_its_type():
    verdict = compare(40.0, 48, mistakes={"k − 1 additions": 40, "another": 41.0})
    assert verdict.diagnosis == "k − 1 additions"


def test_the_reason_says_where():
    verdict = compare([{"name": "weight", "count": 3}], [{"name": "weight", "count": 4}])
    assert verdict.reason == "got 3, expected 4 at [0]['count']"
    assert compare([1, 2, 3], [1, 2]).reason.startswith("got 3 items, expected 2")
    assert (
        "key 'fits' is missing" in compare({"model_mb": 1.0}, {"model_mb": 1.0, "fits": 1}).reason
    )
    assert "key 'b' was not asked for" in compare({"a": 1, "b": 2}, {"a": 1}).reason
    assert compare(np.ones(3), np.ones((1, 3))).reason == (
        "got an array of shape (3,), expected (1, 3)"
    )
    assert compare({1}, [1]).reason.startswith("expected [1], but a value of type set is not plain")


def test_numbers_that_look_alike_are_shown_in_full():
    assert compare(0.30001, 0.3, abs=0).reason == "got 0.30001, expected 0.3"
    assert compare(0.3000000001, 0.3, abs=0).reason == "got 0.3000000001, expected 0.3"


@pytest.mark.parametrize(
    "actual, expected, hint, amount",
    [
        (8192, 16384, "", "half of it"),
        (16384, 8192, "is something counted two times?", "twice"),
        (32 * 16384, 16384, "", "32 times too many"),
        (16384, 32 * 16384, "", "one part in 32"),
        (1024 * 768, 768, "", "1,024 times too many"),  # of counts that is no matter of KB
        (5, 5000, "", "one part in 1,000"),
        (50, 55, "is a term left out, such as a bias?", "5 too few"),
        (55, 50, "is a term counted that is not there, such as a bias?", "5 too many"),
        (2_359_296, 2_362_368, "is a term left out, such as a bias?", "3,072 too few"),
        (54, 55, "is it off by one?", ""),
        (9.449472, 9.01171875, "10⁶ bytes, where a MB here is 1024² bytes?", ""),
        (9.01171875, 9.449472, "1024² bytes, where 10⁶ were asked for?", ""),
        (8e9 / 1e9, 8e9 / 1024**3, "10⁹ bytes, where a GB here is 1024³ bytes?", ""),
        (8e9 / 1024**3, 8e9 / 1e9, "1024³ bytes, where 10⁹ were asked for?", ""),
        (5000.0, 5.0, "a unit 1000 times too small", "1000 times too much"),
        (0.005, 5.0, "a unit 1000 times too large", "1000 times too little"),
        (5e6, 5.0, "a smaller unit", "a million times too much"),
        (5e-6, 5.0, "a larger unit", "a million times too little"),
        (9.5 * 1024**2, 9.5, "bytes, where MB are asked for?", "1024² times too much"),
        (9.5 / 1024**2, 9.5, "MB, where bytes are asked for?", "1024² times too little"),
        (9.5 * 1024, 9.5, "KB, where MB are asked for?", "1024 times too much"),
        (9.5 / 1024, 9.5, "GB, where MB are asked for?", "1024 times too little"),
        (-5, 5, "is the sign the wrong way round?", ""),
        (None, 5, "is a `return` missing?", ""),
        (True, 1, "a truth value and a number are two things", ""),
        (1, True, "a truth value and a number are two things", ""),
        (True, False, "", ""),
        (0, 5, "", ""),
        (math.nan, 5, "", ""),
        (math.inf, 5, "", ""),
        (17, 5, "", ""),
        ("5", 5, "", ""),
    ],
)
def test_a_wrong_value_is_diagnosed(actual, expected, hint, amount):
    sentence, off_by = diagnose(actual, expected)
    assert sentence.startswith(hint) if hint else sentence == ""
    assert off_by == amount


@given(NUMBERS, NUMBERS)
def test_any_two_numbers_can_be_compared(actual, expected):
    compare(actual, expected, mistakes={"twice": 2}, flops=True)
    compare_between(actual, 0, 1)
    diagnose(actual, expected)


def test_the_lesson_s_own_mistakes_come_first():
    mistakes = {"tied weights are counted twice": 110, "frozen ones are left out": [5]}
    assert compare(110, 55, mistakes=mistakes).diagnosis == "tied weights are counted twice"
    halved = compare(27.5, 55, mistakes=mistakes, flops=True)
    assert halved.diagnosis.startswith("is a factor of 2 left out")
    assert compare(55, 55, mistakes={"never": 55}).passed


def test_between():
    assert compare_between(1, 1, 2).passed and compare_between(np.float32(2), 1, 2).passed
    assert compare_between(1500.0, 1, 2).reason == (
        "got 1,500, expected a number from 1 to 2 (750 times too many)"
    )
    assert compare_between(2000.0, 1, 2).diagnosis.startswith("a unit 1000 times too small")
    for value in (math.nan, None, True, "1", 1j, [1], object()):
        assert not compare_between(value, 0, 2).passed


def test_raised():
    assert compare_raised(["KeyError", "LookupError", "Exception"], "", "LookupError").passed
    assert compare_raised([], "3", "ValueError").reason == (
        "expected ValueError, but nothing was raised (got 3)"
    )
    assert compare_raised(["TypeError"], "no", "ValueError").reason == (
        "expected ValueError, but TypeError was raised: no"
    )


@pytest.mark.parametrize(
    "value, text",
    [
        (2362368, "2,362,368"),
        (np.int64(1000), "1,000"),
        (9.01171875, "9.01172"),
        (1234567.89, "1,234,567.9"),
        (True, "True"),
        (np.bool_(False), "False"),
        (None, "None"),
        (10**40, "1.000000e+40"),
        ("x" * 300, "'" + "x" * 159 + " … " + "x" * 29 + "'"),
    ],
)
def test_values_are_shown_as_a_person_reads_them(value, text):
    assert show(value) == text


@pytest.mark.parametrize(
    "value, text",
    [
        (True, ""),
        (np.bool_(False), ""),
        (1 + 2**-20, "1.000001"),
        (7.140000000000001, "7.14"),
        ([7.140000000000001, 0.1 + 0.2, 1 + 2**-20], "[7.14, 0.3, 1.000001]"),
        (np.array([0.1 + 0.2, 2.0]), "[0.3, 2]"),
        ({"ms": 1 / 3}, "{'ms': 0.333333}"),
        ([0] * 60, "[0, 0, 0, 0, 0, 0, 0, 0, …] (60 items)"),
        (np.zeros((3, 3)), "array([[0., 0., 0.], [0., 0., 0.], [0., 0., 0.]])"),
        (["a" * 30] * 5, f"['{'a' * 30}', …] (5 items)"),
        ("one\ntwo", r"'one\ntwo'"),
        (math.nan, "nan"),
        (-1234.5, "-1,234.5"),
        (0.0, "0"),
    ],
)
def test_a_passed_value_is_one_line_of_the_digits_that_decide(value, text):
    assert show_passed(value) == text


@pytest.mark.parametrize("length", range(392, 400))
def test_a_long_list_in_a_dict_is_shown_up_to_any_end(length):
    """Where the list ends, no room is left for the next entry, or for a part of it."""
    got = {"list": [0] * length, "next": 1, "last": 2}
    assert compare(got, 7).reason.startswith("got {'list': [0, 0, ")


def test_huge_ints_are_compared_and_shown():
    assert compare(10**400, 10**400).passed
    assert not compare(10**400, 10**400 + 1).passed
    assert not compare(10**400, 1.5).passed and not compare(1.5, 10**400).passed
    assert show(10**400) == "an integer of 1,329 bits"
    assert show([10**5000]) == "a list"
