"""Recognize common slips in a wrong number: its unit, a factor, a bias left out.

Plain numbers in, one question out, for `compare` and thereby for notebooks and the grader alike.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any, TypeGuard

_UNITS = (
    (1024**2 / 10**6, "", "10⁶ bytes, where a MB here is 1024² bytes?"),
    (10**6 / 1024**2, "", "1024² bytes, where 10⁶ were asked for?"),
    (1024**3 / 10**9, "", "10⁹ bytes, where a GB here is 1024³ bytes?"),
    (10**9 / 1024**3, "", "1024³ bytes, where 10⁹ were asked for?"),
    (
        1000.0,
        "1000 times too much",
        "a unit 1000 times too small, such as milliseconds for seconds?",
    ),
    (
        0.001,
        "1000 times too little",
        "a unit 1000 times too large, such as seconds for milliseconds?",
    ),
    (1e6, "a million times too much", "a smaller unit than the one that is asked for?"),
    (1e-6, "a million times too little", "a larger unit than the one that is asked for?"),
    (1024.0, "1024 times too much", "KB, where MB are asked for?"),
    (1024.0**2, "1024² times too much", "bytes, where MB are asked for?"),
    (1 / 1024.0, "1024 times too little", "GB, where MB are asked for?"),
    (1 / 1024.0**2, "1024² times too little", "MB, where bytes are asked for?"),
)


def counts_flops(*words: str) -> bool:
    """Return True if a case counts FLOPs, by what its label, its cell and its mistakes are called.

    >>> counts_flops("a sample", "test_linear_flops"), counts_flops("a layer", "test_record")
    (True, False)
    """
    return any("flop" in word.lower() for word in words)


def diagnose(actual: Any, expected: Any, flops: bool = False) -> tuple[str, str]:
    """Return what the wrong value `actual` looks like, as a question, and by how much it is off.

    The question holds no number of the case, so that a class's answers can be counted by it; both
    are empty when nothing stands out. flops: the numbers are FLOPs, two a multiply-add.

    >>> diagnose(64.0, 64)
    ('a float where a whole number is asked: use // instead of /', '')
    >>> diagnose(25.0, 0.025)
    ('a unit 1000 times too small, such as milliseconds for seconds?', '1000 times too much')
    >>> diagnose(3, 40)
    ('', '')
    """
    if actual is None:
        return "is a `return` missing?", ""
    if isinstance(actual, bool) != isinstance(expected, bool):
        return "a truth value and a number are two things", ""
    if not (is_real(actual) and is_real(expected)):
        return "", ""
    if isinstance(expected, int) and isinstance(actual, float) and _is_nearly(actual, expected):
        return "a float where a whole number is asked: use // instead of /", ""
    if not (is_number(actual) and is_number(expected)) or actual == 0 or expected == 0:
        return "", ""
    if actual == -expected:
        return "is the sign the wrong way round?", ""
    try:
        ratio = float(Fraction(actual) / Fraction(expected))
    except OverflowError:
        return "", ""
    counts = isinstance(actual, int) and isinstance(expected, int)
    for factor, amount, sentence in _UNITS:
        # A count has no unit: one that is 1024 times too large has a size too many, not KB.
        if not counts and math.isclose(ratio, factor, rel_tol=2e-5):
            return sentence, amount
    return _diagnose_ratio(ratio, flops) or _diagnose_bias(actual, expected)


def _diagnose_ratio(ratio: float, flops: bool) -> tuple[str, str] | None:
    """Return what a ratio of actual to expected points to; None if to nothing.

    Of a whole ratio of 3 or more we say how large it is, and guess at nothing: it may be a batch,
    a number of groups or a size, and only the case can know (`mistakes` of `expect`).
    """
    if math.isclose(ratio, 0.5, rel_tol=1e-9):
        slip = "is a factor of 2 left out (a multiply-add is two FLOPs)?" if flops else ""
        return slip, "half of it"
    if math.isclose(ratio, 2.0, rel_tol=1e-9):
        return "is something counted two times?", "twice"
    if 3 <= ratio <= 65536 and math.isclose(ratio, round(ratio), rel_tol=1e-9):
        return "", f"{round(ratio):,} times too many"
    if ratio > 0 and 3 <= 1 / ratio <= 65536 and math.isclose(1 / ratio, round(1 / ratio)):
        return "", f"one part in {round(1 / ratio):,}"
    return None


def _diagnose_bias(actual: float, expected: float) -> tuple[str, str]:
    """Return the mark of absent biases: a layer's weights are a multiple of them."""
    if not (isinstance(actual, int) and isinstance(expected, int)):
        return "", ""
    gap = expected - actual
    if abs(gap) == 1:
        return "is it off by one?", ""
    if gap > 0 and actual % gap == 0:
        return "is a term left out, such as a bias?", f"{gap:,} too few"
    if gap < 0 and expected % -gap == 0:
        return "is a term counted that is not there, such as a bias?", f"{-gap:,} too many"
    return "", ""


def is_real(value: Any) -> bool:
    """Return True if `value` is an int or a float, and no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Return True for a number that a float can hold, also one of numpy's, and no truth value."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _is_nearly(actual: float, expected: int) -> bool:
    if actual == expected or not math.isfinite(actual):
        return actual == expected
    # As fractions: a count may be larger than any float, which abs(…) of floats would not survive.
    return 10**9 * abs(Fraction(actual) - expected) <= abs(expected)
