"""Compute what a class's answers to the inventory say: gain, its interval, and tests by pair.

Pure functions of numbers; scores are in percent. What is said of one item stands in
items/figures.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

RESAMPLES = 10_000
SEED = 33  # so that the page has the same interval whenever it is made
LEAST_FOR_GAIN = 10  # students with both halves; docs/inventory.md lets people register it
_CHUNK = 500  # resamples at a time, which bounds the memory of a large class

Statistic = Callable[[np.ndarray, np.ndarray], np.ndarray]


def gain_of_means(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the normalized gain of class means along the last axis: (post - pre) / (100 - pre).

    before, after: (…, students) in percent. nan where all were right before.
    Source: R. R. Hake, Am. J. Phys. 66, 64 (1998).

    >>> float(gain_of_means(np.array([20.0, 60.0]), np.array([60.0, 80.0])))
    0.5
    """
    pre, post = np.asarray(before).mean(-1), np.asarray(after).mean(-1)
    missing = np.where(pre < 100, 100 - pre, np.nan)
    return (post - pre) / missing


def mean_of_gains(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the mean of the students' own normalized gains, of those who had below 100 before.

    before, after: (…, students) in percent. nan where nobody had.

    >>> float(mean_of_gains(np.array([20.0, 60.0, 100.0]), np.array([60.0, 80.0, 90.0])))
    0.5
    """
    before, after = np.asarray(before, float), np.asarray(after, float)
    some = before < 100
    gains = np.where(some, (after - before) / np.where(some, 100 - before, 1), 0)
    count = some.sum(-1)
    return gains.sum(-1) / np.where(count > 0, count, np.nan)


def bootstrap_interval(
    statistic: Statistic,
    before: Sequence[float] | np.ndarray,
    after: Sequence[float] | np.ndarray,
    seed: int = SEED,
) -> tuple[float, float]:
    """Return a 95 % interval: the 2.5 and 97.5 percentiles over resamples of students.

    Both scores of a student stay together. The same seed gives the same interval. Resamples in
    which the statistic is not defined are left out; (nan, nan) if all are.
    Source: B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993), 13.3.

    Raises ValueError without students, or if the lists have different lengths.
    """
    pre, post = np.asarray(before, float), np.asarray(after, float)
    if len(pre) == 0 or pre.shape != post.shape:
        raise ValueError(f"{len(pre)} scores before and {len(post)} after belong to no class")
    random, found = np.random.default_rng(seed), []
    for _ in range(RESAMPLES // _CHUNK):
        chosen = random.integers(0, len(pre), size=(_CHUNK, len(pre)))
        found.append(statistic(pre[chosen], post[chosen]))
    values = np.concatenate(found)
    values = values[~np.isnan(values)]
    if not len(values):
        return math.nan, math.nan
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def mcnemar(gained: int, lost: int) -> float:
    """Return the two-sided p of McNemar's exact test.

    gained: students who were wrong before and right after; lost: those who were right and then
    wrong. Without a change, each is as likely as the other. 1 if there are none.
    Source: Q. McNemar, Psychometrika 12, 153 (1947), with the binomial distribution itself.

    >>> mcnemar(5, 0)
    0.0625
    """
    n, fewer = gained + lost, min(gained, lost)
    tail = sum(math.comb(n, k) for k in range(fewer + 1))
    return min(1.0, 2 * tail / 2**n)


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted for there being several, in the same order.

    Source: S. Holm, Scand. J. Statist. 6, 65 (1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    adjusted, most = [0.0] * len(values), 0.0
    for rank, i in enumerate(order):
        most = max(most, min(1.0, (len(values) - rank) * values[i]))
        adjusted[i] = most
    return adjusted
