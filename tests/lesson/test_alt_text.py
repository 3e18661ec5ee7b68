"""What a picture shows, in words: what its lines do, where they cross, which bar is the largest."""

import doctest
import math

import pytest

from proflab.lesson import alt_text, plot
from proflab.lesson.alt_text import bars_in_words, line_in_words, lines_in_words, parts_in_words

SHOW = "{:.4g}".format


def line(points, log=""):
    return line_in_words(points, SHOW, SHOW, log)


def over(xs, f):
    return [(x, f(x)) for x in xs]


SIZES = [2**n for n in range(11)]


@pytest.mark.parametrize(
    ("points", "log", "said"),
    [
        (over(SIZES, lambda n: 3 * n), "xy", "rises from 3 at 1 to 3072 at 1024"),
        (over(SIZES, lambda n: 1 / n), "xy", "falls from 1 at 1 to 0.0009766 at 1024"),
        (over(SIZES, lambda n: 7.0), "", "stays at 7 from 1 to 1024"),
        (over(range(1, 8), lambda n: 100 + n % 2), "", "stays between 100 and 101 from 1 to 7"),
        # A roofline: it rises, and from the ridge on it is level.
        (
            over(SIZES, lambda n: min(n, 16)),
            "xy",
            "rises from 1 at 1 to 16 at 16, then stays near it, 16 at 1024",
        ),
        # A cache: level up to its size, and slower beyond it.
        (over(SIZES, lambda n: 2 if n <= 64 else 2 * n / 64), "xy", "stays near 2 up to 64, then"),
        (over(range(-3, 4), lambda n: -n * n), "", "rises from -9 at -3 to 0 at 0, then falls to"),
        (over(range(-3, 4), lambda n: n * n), "", "falls from 9 at -3 to 0 at 0, then rises to 9"),
        ([(1, 1), (2, 9), (3, 2), (4, 8)], "", "goes up and down from 1 at 1 to 8 at 4, lowest 1"),
        ([(1, 1), (2, 2.99), (3, 2.95), (4, 5)], "", "rises from 1 at 1 to 5 at 4"),  # a ripple
        ([(3, 1.5)], "", "is 1.5 at 3"),
        ([(1, math.nan), (2, 4), (3, math.inf), (4, 8)], "", "rises from 4 at 2 to 8 at 4"),
        ([], "", ""),
        ([(4, 1), (1, 4)], "", "falls from 4 at 1 to 1 at 4"),  # from left to right
        ([(1, 0), (2, 10), (3, 100)], "y", "rises from 10 at 2 to 100 at 3"),
    ],
)
def test_what_a_line_does(points, log, said):
    assert line(points, log).startswith(said)


def test_a_ridge_is_where_the_axis_shows_it():
    """By the same points a logarithmic axis shows a ridge, and a linear one a long flat part."""
    roof = over(SIZES, lambda n: min(n, 64))
    assert "to 64 at 64, then stays" in line(roof, "xy")
    assert "to 64 at 64, then stays" in line(roof)


def test_lines_that_cross_are_told_with_the_place():
    lines = {"a": over(SIZES, lambda n: n), "b": over(SIZES, lambda n: 100)}
    assert lines_in_words(lines, SHOW, SHOW, "xy").endswith(". a passes b near 100")
    back = {"b": lines["b"], "a": lines["a"]}
    assert lines_in_words(back, SHOW, SHOW, "xy").endswith(". a passes b near 100")


def test_two_lines_that_never_cross_are_told_so_and_three_are_not():
    lines = {"a": [(1, 1), (2, 2)], "b": [(1, 3), (2, 4)]}
    assert lines_in_words(lines, SHOW, SHOW).endswith("b lies above a throughout")
    assert " above " not in lines_in_words(lines | {"c": [(1, 9), (2, 9)]}, SHOW, SHOW)
    apart = {"a": [(1, 1), (2, 2)], "b": [(3, 3), (4, 4)]}
    assert " above " not in lines_in_words(apart, SHOW, SHOW)


def test_many_lines_that_cross_fill_three_sentences_at_most():
    lines = {f"l{k}": [(0, k), (1, 9 - k)] for k in range(8)}
    assert lines_in_words(lines, SHOW, SHOW).count(" passes ") == 3


def test_bars_name_the_largest_and_how_far_it_is_from_the_smallest():
    assert bars_in_words({"a": 1, "b": 5000}, SHOW) == (
        "The largest is b, 5000, and 5,000 times the smallest, a"
    )
    assert bars_in_words({"a": 0, "b": 2}, SHOW) == "The largest is b, 2, and a the smallest"
    assert bars_in_words({"a": 2}, SHOW) == bars_in_words({"a": 2, "b": 2}, SHOW) == ""
    assert parts_in_words({"A": {"x": 1}, "B": {"x": 2, "y": 1}}) == "The largest part of each is x"


def test_what_is_drawn_is_said_of_the_lessons_own_functions():
    shares = {"A": {"conv": 3.0, "linear": 1.0}, "B": {"linear": 2.0}}
    alt = plot.shares(shares, unit="FLOPs").alt
    assert "The largest part is conv in A, and linear in B. A, 4: conv 75.0%" in alt
    alt = plot.bars({"a": 10, "b": 40}, title="Two", unit="ms").alt
    assert alt == "Two (ms). The largest is b, 40, and 4 times the smallest, a. a 10; b 40"


def test_the_examples_hold():
    result = doctest.testmod(alt_text)
    assert result.attempted >= 6 and not result.failed
