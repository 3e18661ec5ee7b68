"""The rules of lesson 08 against scipy, against counting by hand, and on simulated noise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy
from cohort.run import solved


@pytest.fixture(scope="module")
def scope():
    return solved("lesson_08").scope


# ── the rank test ────────────────────────────────────────────────────────────────────────────


@pytest.mark.whole
@pytest.mark.parametrize("sizes", [(1, 1), (1, 20), (3, 3), (5, 5), (7, 4), (12, 9), (20, 20)])
def test_rank_test_equals_scipys_exact_one(scope, sizes):
    rng = np.random.default_rng(sum(sizes))
    for shift in (0.0, 0.5, 3.0):
        a, b = rng.normal(shift, 1, sizes[0]).tolist(), rng.normal(0, 1, sizes[1]).tolist()
        expected = scipy.stats.mannwhitneyu(a, b, method="exact", alternative="two-sided")
        found = scope["rank_test"](a, b)
        assert found["u"] == expected.statistic
        assert found["p"] == pytest.approx(expected.pvalue, rel=1e-12)
        assert found["smaller"] == pytest.approx(1 - found["u"] / math.prod(sizes))


def count_by_hand(a, b):
    """p by looking at every choice: the share whose U is as far from the middle, or further."""

    def u(one, other):
        return sum((x > y) + 0.5 * (x == y) for x in one for y in other)

    pooled, middle = [*a, *b], len(a) * len(b) / 2
    seen, far, ways = abs(u(a, b) - middle), 0, 0
    for chosen in itertools.combinations(range(len(pooled)), len(a)):
        one = [pooled[at] for at in chosen]
        other = [pooled[at] for at in range(len(pooled)) if at not in chosen]
        far, ways = far + (abs(u(one, other) - middle) >= seen), ways + 1
    return far / ways


@pytest.mark.parametrize("seed", range(12))
def test_rank_test_with_ties_equals_counting_every_choice(scope, seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 4, rng.integers(1, 6)).tolist() for _ in "ab")
    assert scope["rank_test"](a, b)["p"] == pytest.approx(count_by_hand(a, b), rel=1e-12)


def test_rank_test_with_ties_equals_scipys_permutations(scope):
    a, b = [1, 2, 2, 3], [2, 3, 4, 4]

    def distance(x, y):
        return abs(scipy.stats.mannwhitneyu(x, y, method="asymptotic").statistic - 8)

    expected = scipy.stats.permutation_test(
        (a, b), distance, n_resamples=np.inf, alternative="greater", vectorized=False
    )
    assert scope["rank_test"](a, b)["p"] == pytest.approx(expected.pvalue)


def test_welch_is_misled_where_ranks_are_not(scope):
    before = [61.0, 48.2, 47.9, 48.5, 48.1, 47.8, 48.4, 49.0, 48.0, 48.3]
    after = [59.2, 46.9, 47.2, 47.0, 46.8, 47.1, 47.3, 46.7, 71.5, 47.0]
    welch = scipy.stats.ttest_ind(before, after, equal_var=False)
    assert welch.statistic == pytest.approx(-0.40, abs=5e-3)
    assert scope["rank_test"](before, after)["p"] == pytest.approx(0.01774, abs=5e-6)
    assert np.mean(before) < np.mean(after)


@pytest.mark.parametrize("calls, overlap_sees, ranks_see", [(30, 0.086, 0.466), (20, 0.048, 0.314)])
def test_overlap_is_nearly_blind(scope, calls, overlap_sees, ranks_see):
    """Two programs 3 % apart, 6 % spread: what lesson 03's rule and ranks tell apart."""
    rng, trials = np.random.default_rng(3), 3000
    slow = 1.03 * np.exp(rng.normal(0, 0.06, (trials, calls)))
    fast = np.exp(rng.normal(0, 0.06, (trials, calls)))
    ranks = (scipy.stats.mannwhitneyu(slow, fast, axis=1, method="asymptotic").pvalue < 0.05).mean()
    ends = [[scope["confidence_interval"](row) for row in rows.tolist()] for rows in (slow, fast)]
    apart = np.mean([a[0] > b[1] or b[0] > a[1] for a, b in zip(*ends, strict=True)])
    assert apart == pytest.approx(overlap_sees, abs=0.02)
    assert ranks == pytest.approx(ranks_see, abs=0.03)


def test_two_intervals_that_just_touch_mean_half_a_percent():
    z = 2 * scipy.stats.norm.ppf(0.975) / math.sqrt(2)
    assert 2 * scipy.stats.norm.sf(z) == pytest.approx(0.0056, abs=1e-4)


# ── intervals, turns, gates ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("calls, percent", [(10, 50), (100, 95), (400, 99), (368, 99), (60, 20)])
def test_percentile_intervals_keep_each_tail_to_its_half(scope, calls, percent):
    low, high = scope["percentile_interval"](list(range(1, calls + 1)), percent)
    below = scipy.stats.binom(calls, percent / 100)
    assert below.cdf(low - 1) <= 0.025 < below.cdf(low)
    assert below.sf(high - 1) <= 0.025 < below.sf(high - 2)


@pytest.mark.parametrize("rounds", [2, 4, 12])
def test_mirrored_turns_cancel_a_steady_drift(scope, rounds):
    order = scope["run_order"](["a", "b", "c"], rounds)
    sums = {name: sum(at for at, n in enumerate(order) if n == name) for name in "abc"}
    assert len(set(sums.values())) == 1 and len(order) == 3 * rounds


@pytest.mark.parametrize("comparisons, rounds", [(1, 12), (40, 16)])
def test_false_alarms_of_a_suite_stay_below_five_percent(scope, comparisons, rounds):
    """Suites of equal programs: the share in which any gate says that something changed."""
    rng, alarms, nights = np.random.default_rng(7), 0, 400
    for _ in range(nights):
        times = np.exp(rng.normal(0, 0.06, (comparisons, 2, rounds))).tolist()
        said = [scope["gate"](a, b, 0.0, comparisons) for a, b in times]
        alarms += any(verdict in ("faster", "slower") for verdict in said)
    assert alarms / nights <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / nights)


def test_without_correction_most_nights_ring(scope):
    rng, alarms, nights = np.random.default_rng(7), 0, 100
    for _ in range(nights):
        times = np.exp(rng.normal(0, 0.06, (40, 2, 9))).tolist()
        alarms += any(scope["gate"](a, b, 0.0) in ("faster", "slower") for a, b in times)
    assert alarms / nights > 0.6


def test_runs_not_calls_hold_the_truth(scope):
    """Runs that differ by 5 % and calls by 1 %: pooled calls promise 95 % and keep far less."""
    rng, held, pooled, trials = np.random.default_rng(2), 0, 0, 300
    for _ in range(trials):
        runs = 10 + 0.5 * rng.normal(size=(8, 1)) + 0.1 * rng.normal(size=(8, 50))
        low, high = scope["runs_interval"](runs.tolist())
        held += low <= 10 <= high
        low, high = scope["confidence_interval"](runs.ravel().tolist())
        pooled += low <= 10 <= high
    assert held / trials > 0.95 and pooled / trials < 0.7
