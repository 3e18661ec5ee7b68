"""Figures of questions, against scipy and on simulated classes whose abilities are known."""

import math
import random

import pytest
import scipy

from proflab_classroom.items.figures import (
    MEND,
    Figures,
    figures_of,
    normalized_gain,
    point_biserial,
    wilson,
)


@pytest.mark.parametrize(("right", "n"), [(0, 1), (1, 1), (0, 7), (3, 10), (149, 300), (300, 300)])
def test_the_interval_is_that_of_scipy(right, n):
    theirs = scipy.stats.binomtest(right, n).proportion_ci(0.95, "wilson")
    assert wilson(right, n) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_interval_holds_the_share_and_stays_between_0_and_1():
    for n in range(1, 60):
        for right in range(n + 1):
            low, high = wilson(right, n)
            assert 0 <= low <= right / n <= high <= 1
    assert wilson(0, 0) == (0, 1)


@pytest.mark.parametrize(("right", "n"), [(-1, 3), (4, 3), (1, 0)])
def test_no_share_is_refused(right, n):
    with pytest.raises(ValueError, match="no share"):
        wilson(right, n)


def simulated(seed, students, discrimination, difficulty, guessing=0.25):
    """A class by the 3-parameter model: right or not, and points that grow with ability."""
    drawn = random.Random(seed)  # noqa: S311
    for _ in range(students):
        ability = drawn.gauss(0, 1)
        known = 1 / (1 + math.exp(-discrimination * (ability - difficulty)))
        right = drawn.random() < guessing + (1 - guessing) * known
        yield right, min(100.0, max(0.0, 70 + 15 * ability + drawn.gauss(0, 8)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("students", [20, 60, 300])
def test_the_discrimination_is_that_of_scipy(seed, students):
    items, points = zip(*simulated(seed, students, 1.5, 0.0), strict=True)
    theirs = scipy.stats.pointbiserialr(items, points).statistic
    assert point_biserial(items, points) == pytest.approx(theirs, abs=1e-12)


def test_a_good_question_tells_who_knows_more_and_a_bad_one_does_not():
    sharp = figures_of(letters(simulated(1, 400, 3.0, 0.0)), "B")
    blunt = figures_of(letters(simulated(2, 400, 0.0, 0.0)), "B")
    turned = figures_of(letters(simulated(3, 400, -3.0, 0.0)), "B")
    assert sharp.r > 0.4 and abs(blunt.r) < 0.12 and turned.r < -0.4
    assert not sharp.flags and turned.flags == [MEND]


def letters(answers):
    return [("B" if right else "D", points) for right, points in answers]


def test_the_interval_holds_the_true_share_in_about_95_of_100_classes():
    # P(right) of this question is 0.25 + 0.75 · E[logistic(N(0, 1))] = 0.625.
    held = 0
    for seed in range(400):
        right = sum(right for right, _ in simulated(seed, 60, 1.0, 0.0))
        low, high = wilson(right, 60)
        held += low <= 0.625 <= high
    assert 0.92 <= held / 400 <= 0.98


def test_what_has_no_spread_has_no_discrimination():
    assert point_biserial([1, 1, 1], [1.0, 2.0, 3.0]) is None
    assert point_biserial([0, 1, 1], [0.1, 0.1, 0.1]) is None
    assert point_biserial([0, 1, 1], [0.0, 5e-324, 5e-324]) is None
    assert point_biserial([], []) is None
    with pytest.raises(ValueError, match="3 answers, but points of 2"):
        point_biserial([0, 1, 1], [1.0, 2.0])


def test_with_few_answers_p_is_shown_and_r_is_not():
    answers = letters(simulated(4, 19, 3.0, 0.0))
    assert figures_of(answers, "B").r is None and figures_of(answers, "B").p is not None
    assert figures_of([*answers, ("A", 0.0)], "B").r is not None
    nobody = figures_of([], "B")
    assert (nobody.n, nobody.p, nobody.r, nobody.flags) == (0, None, None, [])


@pytest.mark.parametrize(
    ("counts", "r", "said"),
    [
        ({"A": 19, "B": 0}, None, ""),
        ({"A": 20, "B": 0}, None, "fewer are right"),
        ({"A": 76, "B": 24}, 0.5, "fewer are right than by guessing"),
        ({"A": 75, "B": 25}, 0.5, ""),
        ({"A": 5, "B": 95}, 0.5, ""),
        ({"A": 4, "B": 96}, 0.5, "nearly all"),
        ({"A": 25, "B": 25}, 0.09, MEND),
        ({"A": 25, "B": 25}, 0.1, ""),
        ({"A": 25, "B": 24}, 0.0, ""),
    ],
)
def test_the_limits_of_the_flags(counts, r, said):
    flags = Figures(counts, "B", r).flags
    assert said in " ".join(flags) and bool(flags) == bool(said)


def test_the_gain_is_the_part_of_what_was_missing():
    assert normalized_gain(0.4, 0.7) == pytest.approx(0.5)
    assert normalized_gain(0.5, 0.25) == -0.5
    assert normalized_gain(1.0, 1.0) is None
