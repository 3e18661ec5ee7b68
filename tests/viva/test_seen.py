"""Rule 2: two values differ only if a person sees it."""

import numpy as np
import pytest

from proflab_classroom.viva.seen import Outcome, agree, differ, is_readable, shown

SAME = [
    (8, 8.0),
    (True, 1),
    (2.0, 1.9999999999999902),
    ([1, 2], np.array([1.0, 2.0])),
    ([1, 2], (1, 2)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}),
    (float("nan"), float("nan")),
    ([2.0, 4000.0, 8.0], [2.000000000000001, 4000.0, 8.000000000000004]),
    ("12.0 MB", "12  MB"),
]
DIFFERENT = [
    (8, 9),
    (0.5, 0.5001),
    ([1, 2], [1, 2, 3]),
    ([4000.0, 1.0], [4000.0, 1.001]),
    ({"a": 1}, {"b": 1}),
    ("found", "lost"),
    (None, 0),
    (float("inf"), 1.0),
    ("12.0 MB", "13 MB"),
]
UNCLEAR = [
    (1.00001, 1.00002),  # the fifth digit may be rounded either way
    (50_000_001, 50_000_002),  # all digits of a whole number are seen
    (10**20, 2 * 10**20),  # nobody compares twenty digits
    (0.0, 1e-17),
]


@pytest.mark.parametrize("one, other", SAME)
def test_a_type_and_the_sixteenth_digit_are_not_seen(one, other):
    assert agree(Outcome(one), Outcome(other))
    assert not differ(Outcome(one), Outcome(other))


@pytest.mark.parametrize("one, other", DIFFERENT)
def test_a_leading_digit_a_shape_and_a_word_are_seen(one, other):
    assert differ(Outcome(one), Outcome(other))
    assert not agree(Outcome(one), Outcome(other))


@pytest.mark.parametrize("one, other", UNCLEAR)
def test_what_lies_between_is_neither(one, other):
    assert not agree(Outcome(one), Outcome(other))
    assert not differ(Outcome(one), Outcome(other))


def test_which_error_was_raised_does_not_count_and_an_error_is_no_value():
    assert agree(Outcome(raised="ValueError"), Outcome(raised="TypeError"))
    assert differ(Outcome(raised="ValueError"), Outcome(None))


def test_values_are_printed_for_a_reader():
    assert shown(Outcome(1234567)) == "1,234,567"
    assert shown(Outcome(2.0)) == "2.0"
    assert shown(Outcome(np.array([[1, 2], [3, 4]]))) == "[[1, 2], [3, 4]]"
    assert shown(Outcome({"share": 1 / 3, "n": (1,)})) == "{'share': 0.333333, 'n': (1,)}"
    assert shown(Outcome(2.5e9)) == "2500000000.0"
    assert shown(Outcome(raised="ValueError")) == "it raises ValueError"


def test_a_value_of_more_than_seventy_characters_is_no_option():
    assert is_readable(Outcome("x" * 68))
    assert not is_readable(Outcome("x" * 69))
