"""The report's figures on simulated classes, against a computation that shares no code with it."""

import dataclasses
import itertools
import math
import statistics
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from inventory_class import chance, simulated

from proflab_classroom.inventory.gain import (
    bootstrap_interval,
    gain_of_means,
    holm,
    mcnemar,
    mean_of_gains,
)
from proflab_classroom.inventory.items import read_inventory
from proflab_classroom.inventory.page import score, summarise
from proflab_course.course.layout import Course

ITEMS = read_inventory(Course(Path(__file__).parents[2]))
BY_ID = {item.id: item for item in ITEMS}
TOLERANCE = {"rel_tol": 1e-9, "abs_tol": 1e-9}


def same(found, expected):
    if found is None or expected is None:
        return found is expected
    return math.isclose(found, expected, **TOLERANCE)


# ── an independent computation ───────────────────────────────────────────────────────────────


def is_right(half, item):
    return half.letters.get(item.id, "open") == item.key


def items_of(half, numbers):
    """The items of a half's form: A of odd pairs in form 1, B of even ones."""
    letters = {n: "ab"[(n + half.form) % 2] for n in numbers}
    return [BY_ID[f"{n:02}{letter}"] for n, letter in letters.items()]


def points(half, numbers):
    own = items_of(half, numbers)
    return float(Fraction(100 * sum(is_right(half, item) for item in own), len(own)))


def wilson_by_roots(right, n):
    """Shares at which the score statistic is 1.96: the roots of a quadratic equation."""
    z2 = statistics.NormalDist().inv_cdf(0.975) ** 2
    p = right / n
    a, b, c = 1 + z2 / n, -(2 * p + z2 / n), p * p
    middle = -b / (2 * a)
    half = math.sqrt(max(0.0, middle**2 - c / a))
    return max(0.0, middle - half), min(1.0, middle + half)


def resampled(pre, post, of):
    """The percentiles of a statistic of 10,000 resamples, one at a time."""
    random, n, values = np.random.default_rng(33), len(pre), []
    for _ in range(20):
        for chosen in random.integers(0, n, size=(500, n)).tolist():
            value = of([(pre[i], post[i]) for i in chosen])
            if value is not None:
                values.append(value)
    values.sort()

    def quantile(share):
        place = share * (len(values) - 1)
        below = math.floor(place)
        above = min(below + 1, len(values) - 1)
        return values[below] + (place - below) * (values[above] - values[below])

    return quantile(0.025), quantile(0.975)


def hake(pairs):
    pre, post = (statistics.fmean(each) for each in zip(*pairs, strict=True))
    return None if pre == 100 else (post - pre) / (100 - pre)


def mean_gain(pairs):
    gains = [(post - pre) / (100 - pre) for pre, post in pairs if pre < 100]
    return statistics.fmean(gains) if gains else None


def binomial(gained, lost):
    """The two-sided p, by adding what is at most as likely as what was seen."""
    n = gained + lost
    ways = [math.comb(n, k) for k in range(n + 1)]
    return float(Fraction(sum(w for w in ways if w <= ways[gained]), 2**n))


def holm_by_definition(values):
    m = len(values)
    rank = {i: r for r, i in enumerate(sorted(range(m), key=lambda i: (values[i], i)))}
    each = lambda i: min(1.0, (m - rank[i]) * values[i])  # noqa: E731
    return [max(each(j) for j in range(m) if rank[j] <= rank[i]) for i in range(m)]


CLASSES = [(12, 0.5, 1), (37, 1.2, 2), (60, 0.0, 3), (60, 2.5, 4)]


@pytest.fixture(params=CLASSES, ids=lambda c: f"{c[0]} students, growth {c[1]}", scope="module")
def taught(request):
    halves = simulated(ITEMS, *request.param)
    return halves, summarise(ITEMS, halves)


def test_items_before_and_after(taught):
    halves, report = taught
    for row, when in itertools.product(report.items, ("before", "after")):
        found, item = getattr(row, when), row.item
        theirs = [h for h in halves if h.half == when and item in items_of(h, range(1, 13))]
        right = [is_right(half, item) for half in theirs]
        assert found.n == len(theirs)
        assert same(found.p, statistics.fmean(right))
        assert all(map(same, found.interval, wilson_by_roots(sum(right), len(right))))
        others = [n for n in range(1, 13) if n != item.pair]
        rest = [points(half, others) for half in theirs]
        expected = None
        if len(theirs) >= 20 and 0 < sum(right) < len(right):
            expected = statistics.correlation([float(r) for r in right], rest)
        assert same(found.r, expected)
        for letter in "ABCD":
            chosen = [half.letters.get(item.id) == letter for half in theirs]
            assert same(found.share(letter), statistics.fmean(chosen))
        for said, wanted in ((found.sure_right, True), (found.sure_wrong, False)):
            answered = [h for h in theirs if item.id in h.letters and item.id in h.sure]
            sure = [h.sure[item.id] for h in answered if is_right(h, item) is wanted]
            assert same(said, statistics.fmean(sure) if sure else None)


def test_gain_with_its_intervals(taught):
    halves, report = taught
    before = {h.student: points(h, range(1, 13)) for h in halves if h.half == "before"}
    after = {h.student: points(h, range(1, 13)) for h in halves if h.half == "after"}
    both = sorted(before.keys() & after.keys())
    assert report.both == len(both)
    assert report.one == len(before.keys() ^ after.keys())
    assert same(report.means["before"], statistics.fmean(before.values()))
    assert same(report.means["after"], statistics.fmean(after.values()))
    if len(both) < 10:
        assert report.gain is None
        return
    pre, post = [before[s] for s in both], [after[s] for s in both]
    assert same(report.gain.of_means, hake(list(zip(pre, post, strict=True))))
    assert same(report.gain.of_students, mean_gain(list(zip(pre, post, strict=True))))
    assert all(map(same, report.gain.of_means_interval, resampled(pre, post, hake)))
    assert all(map(same, report.gain.of_students_interval, resampled(pre, post, mean_gain)))


def test_pairs(taught):
    halves, report = taught
    two = {h.student: {} for h in halves}
    for half in halves:
        two[half.student][half.half] = half
    both = [each for each in two.values() if len(each) == 2]
    expected = []
    for n in range(1, 13):
        marks = [[is_right(each[w], *items_of(each[w], [n])) for w in each] for each in both]
        expected.append((marks.count([False, True]), marks.count([True, False])))
    assert [(row.gained, row.lost) for row in report.pairs] == expected
    p = [binomial(*each) for each in expected]
    assert all(map(same, [row.p for row in report.pairs], p))
    assert all(map(same, [row.adjusted for row in report.pairs], holm_by_definition(p)))


def test_a_large_class_scores_what_its_abilities_say():
    """The model's chance of a right answer, averaged over the abilities of the simulation."""
    report = summarise(ITEMS, simulated(ITEMS, 1000, 1.5, 5))
    normal = statistics.NormalDist(-0.5, 1)
    abilities = [normal.inv_cdf((i + 0.5) / 400) for i in range(400)]
    for when, more in (("before", 0.0), ("after", 1.5)):
        chances = [chance(a + more, (n - 6.5) / 4) for a in abilities for n in range(1, 13)]
        assert math.isclose(
            report.means[when], 100 * statistics.fmean(chances) * 29 / 30, abs_tol=1
        )
    assert report.gain.of_means_interval[0] > 0.3


def test_a_class_that_learned_nothing_is_not_said_to_gain():
    around = [summarise(ITEMS, simulated(ITEMS, 60, 0.0, seed)).gain for seed in range(10, 20)]
    held = [gain.of_means_interval[0] <= 0 <= gain.of_means_interval[1] for gain in around]
    assert sum(held) >= 8


# ── at the edges ─────────────────────────────────────────────────────────────────────────────


def pairs_of(size):
    halves = simulated(ITEMS, 200, 1, 6)
    count = Counter(half.student for half in halves)
    both = sorted(name for name in count if count[name] == 2)[:size]
    return [half for half in halves if half.student in both]


@pytest.mark.parametrize(("size", "gains"), [(9, False), (10, True)])
def test_below_ten_students_with_both_halves_there_is_no_gain(size, gains):
    report = summarise(ITEMS, pairs_of(size))
    assert (report.gain is not None, bool(report.pairs)) == (gains, gains)
    assert sum(row.before.n for row in report.items) == 12 * size


def test_who_takes_a_form_twice_is_counted_and_not_in_the_gain():
    halves = pairs_of(12)
    form = next(h.form for h in halves if h.student == halves[0].student and h.half == "before")
    twice = [
        dataclasses.replace(h, form=form, letters={}) if h.student == halves[0].student else h
        for h in halves
    ]
    report = summarise(ITEMS, twice)
    assert (report.twice, report.both, report.one) == (1, 11, 0)


def test_pairs_without_lessons_are_left_out_on_both_sides():
    kept = [item for item in ITEMS if item.pair <= 6]
    halves = pairs_of(20)
    report = summarise(kept, halves)
    pre = [points(h, range(1, 7)) for h in halves if h.half == "before"]
    assert same(report.means["before"], statistics.fmean(pre))
    assert [row.pair for row in report.pairs] == [1, 2, 3, 4, 5, 6]
    assert same(score(kept, halves[0]), points(halves[0], range(1, 7)))


def test_scores_of_100_before_have_no_gain_of_their_own():
    pre, post = np.array([100.0, 50.0]), np.array([50.0, 75.0])
    assert mean_of_gains(pre, post) == 0.5
    assert math.isnan(mean_of_gains(pre[:1], post[:1]))
    assert math.isnan(gain_of_means(pre[:1], post[:1]))
    assert all(map(math.isnan, bootstrap_interval(gain_of_means, [100.0], [50.0])))


def test_resamples_without_a_gain_are_left_out():
    low, high = bootstrap_interval(mean_of_gains, [100.0, 50.0], [100.0, 75.0])
    assert (low, high) == (0.5, 0.5)


def test_the_interval_is_the_same_each_time_and_keeps_a_student_s_halves_together():
    pre, post = [10.0, 20.0, 90.0] * 5, [55.0, 60.0, 95.0] * 5  # each has won half
    assert all(math.isclose(each, 0.5) for each in bootstrap_interval(gain_of_means, pre, post))
    post[0] = 10.0
    first = bootstrap_interval(gain_of_means, pre, post)
    assert first == bootstrap_interval(gain_of_means, pre, post)
    assert first != bootstrap_interval(gain_of_means, pre, post, seed=34)
    with pytest.raises(ValueError, match="belong to no class"):
        bootstrap_interval(gain_of_means, pre, post[:3])


def test_mcnemar_and_holm_by_hand():
    assert mcnemar(0, 0) == 1
    assert mcnemar(9, 1) == mcnemar(1, 9) == 22 / 1024
    assert mcnemar(4, 4) == 1
    assert holm([]) == []
    assert holm([0.5, 0.9]) == [1.0, 1.0]
