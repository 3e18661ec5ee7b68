"""Compute what a question's answers say about the question: difficulty, interval, discrimination.

Pure functions of numbers, which know neither lessons nor students.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from proflab_course.course.answer_cells import LETTERS

Z_95 = 1.959963984540054  # the 97.5 % quantile of the standard normal distribution
LEAST_FOR_R = 20  # answers; with fewer, a correlation says nothing
LEAST_FOR_FLAG = 50  # answers; r is known to ± 0.29 then, and with 20 to ± 0.48
AT_GUESSING, NOTHING_TO_SEE, LOW_R = 0.25, 0.95, 0.1  # two shares of right answers, and an r
MEND = "ask the question again, or mend it"


def wilson(right: int, n: int, z: float = Z_95) -> tuple[float, float]:
    """Return Wilson's score interval of a share, `right` of `n`; (0, 1) of nobody.

    Raises ValueError unless 0 <= right <= n. Source: E. B. Wilson, J. Am. Stat. Assoc. 22 (1927).

    >>> low, high = wilson(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    """
    if not 0 <= right <= n:
        raise ValueError(f"{right} of {n} is no share")
    if n == 0:
        return 0.0, 1.0
    share, wide = right / n, z * z / n
    middle = (share + wide / 2) / (1 + wide)
    half = z / (1 + wide) * math.sqrt(share * (1 - share) / n + wide / (4 * n))
    # At the ends, the interval holds the share itself, which rounding must not deny.
    return min(max(0.0, middle - half), share), max(min(1.0, middle + half), share)


def point_biserial(items: Sequence[bool | int], rest: Sequence[float]) -> float | None:
    """Return the correlation of an item, right or wrong, with the points of the rest.

    items: for each student whether the answer is right; rest: for each the points *without* this
    item. Pearson's r of the two, from -1 to 1; None where one of them has no spread, since r is not
    defined there. Raises ValueError for lists of different lengths.
    Source: F. M. Lord and M. R. Novick, Statistical Theories of Mental Test Scores (1968), 15.5.

    >>> point_biserial([1, 1, 0, 0], [4.0, 3.0, 2.0, 1.0])
    0.8944271909999159
    """
    if len(items) != len(rest):
        raise ValueError(f"{len(items)} answers, but points of {len(rest)} students")
    if len({bool(item) for item in items}) < 2 or len(set(rest)) < 2:
        return None
    n = len(items)
    mean, share = math.fsum(rest) / n, sum(map(bool, items)) / n
    above = math.fsum(points - mean for item, points in zip(items, rest, strict=True) if item)
    squares = math.fsum((points - mean) ** 2 for points in rest)
    if squares == 0:  # a spread too small for a float
        return None
    r = above / math.sqrt(n * share * (1 - share) * squares)
    return max(-1.0, min(1.0, r))


def normalized_gain(before: float, after: float) -> float | None:
    """Return the part of what was missing that was won; None if nothing was missing.

    before, after: shares from 0 to 1. Source: R. R. Hake, Am. J. Phys. 66, 64 (1998).

    >>> normalized_gain(0.5, 0.75)
    0.5
    """
    return None if before >= 1 else (after - before) / (1 - before)


@dataclass(frozen=True)
class Figures:
    """Hold the figures of one question.

    counts: how many chose each letter; key: the right letter; r: the point-biserial correlation
    with the rest, None where there are too few answers, or where it is not defined.
    """

    counts: Mapping[str, int]
    key: str
    r: float | None = None

    @property
    def n(self) -> int:
        """Return the number of answers."""
        return sum(self.counts.values())

    @property
    def right(self) -> int:
        """Return the number of right answers."""
        return self.counts.get(self.key, 0)

    @property
    def p(self) -> float | None:
        """Return the share of right answers, the item's difficulty; None without answers."""
        return self.share(self.key)

    @property
    def interval(self) -> tuple[float, float]:
        """Return Wilson's 95 % interval of p."""
        return wilson(self.right, self.n)

    def share(self, letter: str) -> float | None:
        """Return the share of answers with this letter; None without answers."""
        return self.counts.get(letter, 0) / self.n if self.n else None

    @property
    def flags(self) -> list[str]:
        """Return what is noteworthy about the question, in words; nothing of few answers."""
        found: list[str] = []
        if self.p is None or self.n < LEAST_FOR_R:
            return found
        if self.p < AT_GUESSING:
            found.append("fewer are right than by guessing")
        if self.p > NOTHING_TO_SEE:
            found.append("nearly all are right: it tells nothing")
        if self.r is not None and self.r < LOW_R and self.n >= LEAST_FOR_FLAG:
            found.append(MEND)
        return found


def figures_of(
    answers: Iterable[tuple[str, float]], key: str, letters: Iterable[str] = LETTERS
) -> Figures:
    """Return a question's figures.

    answers: for each student who answered, the letter, and the points *without* this question.
    """
    chosen = list(answers)
    counts = {letter: sum(each == letter for each, _ in chosen) for letter in letters}
    r = None
    if len(chosen) >= LEAST_FOR_R:
        r = point_biserial([each == key for each, _ in chosen], [points for _, points in chosen])
    return Figures(counts, key, r)
