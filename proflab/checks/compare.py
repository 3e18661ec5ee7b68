"""One comparison of what a case yielded with what was expected, for `expect` and for the grader.

Both sides are plain data (see `values.py`). Rules that a test author can rely on:

- an expected int or str is met exactly, and an int by whole numbers alone (int, numpy's ints): 4.0
  is none; an expected float within a relative 1e-9 (or `rel`, `abs`), and by whole numbers, too;
- NaN meets nothing, not even NaN; a bool is no number; numpy scalars equal the same numbers;
- a list, a tuple and a one-dimensional array of the same items are the same sequence;
- a dict must have exactly the expected keys, in any order.

A failed comparison says in one sentence where and, when the two differ in a telling way, why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proflab.checks.diagnose import diagnose, is_real
from proflab.checks.values import NotPlainData, to_plain_data

_DEFAULT_REL = 1e-9


@dataclass(frozen=True)
class Verdict:
    """Outcome of a case; if it failed, why (`reason`), and the misconception that it points to.

    share: of a race, the share of the way that it has gone; `reason` then tells its cost
    cost: of a race, the number that the class is compared by
    """

    passed: bool
    reason: str = ""
    diagnosis: str = ""
    share: float | None = field(default=None, repr=False)
    cost: float | None = field(default=None, repr=False)


@dataclass(frozen=True)
class _Rule:
    """Tolerance of a case: how far off a number may be, and if a float may stand for an int."""

    rel: float | None = None
    abs: float | None = None
    floats_are_ints: bool = False

    def meets(self, actual: complex, expected: complex) -> bool:
        exact = self.rel is None and self.abs is None
        if exact and isinstance(expected, int):
            return actual == expected and (isinstance(actual, int) or self.floats_are_ints)
        if actual == expected:
            return True
        rel = _DEFAULT_REL if exact else self.rel or 0.0
        try:
            gap = abs(actual - expected)
            bound = max(rel * abs(expected), self.abs or 0.0)
        except OverflowError:
            return False
        # An infinite bound (expected infinity, say) would accept everything.
        return math.isfinite(bound) and gap <= bound


def compare(
    actual: Any,
    expected: Any,
    rel: float | None = None,
    abs: float | None = None,
    mistakes: dict[str, Any] | None = None,
    flops: bool = False,
) -> Verdict:
    """Return the verdict on `actual` where `expected` was asked for.

    rel, abs: how far a number may be off, relative to the expected one or in its own unit.
    mistakes: maps the sentence that names a misconception to the value that it yields.
    flops: the case counts FLOPs, so that half of it may be multiply-adds.

    >>> compare(2_362_368, 2_362_368).passed
    True
    >>> compare([1, 2, 4], [1, 2, 3]).reason
    'got 4, expected 3 at [2]'
    >>> compare(96, 48, mistakes={"are both directions counted?": 96})
    Verdict(passed=False, reason='got 96, expected 48 (twice)', \
diagnosis='are both directions counted?')
    """
    try:
        actual = to_plain_data(actual)
    except NotPlainData as error:
        return Verdict(False, f"expected {show(expected)}, but {error}")
    difference = _difference(actual, to_plain_data(expected), _Rule(rel, abs), "")
    if difference is None:
        return Verdict(True)
    where, got, wanted, note = difference
    place = f" at {where}" if where else ""
    if note:
        return Verdict(False, note + place)
    diagnosis, amount = diagnose(got, wanted, flops)
    loose = _Rule(rel, abs, floats_are_ints=True)  # a misconception's value may come as 6 or 6.0
    for sentence, value in (mistakes or {}).items():
        if _difference(actual, to_plain_data(value), loose, "") is None:
            diagnosis = sentence
    shown = "got {}, expected {}".format(*_show_two(got, wanted))
    return Verdict(False, shown + (f" ({amount})" if amount else "") + place, diagnosis)


def compare_between(actual: Any, low: float, high: float) -> Verdict:
    """Return the verdict on `actual` where a number in [low, high] was asked for.

    >>> compare_between(0.5, 0.0, 1.0).passed
    True
    >>> compare_between(1.5, 0.0, 1.0).reason
    'got 1.5, expected a number from 0 to 1'
    """
    try:
        actual = to_plain_data(actual)
    except NotPlainData as error:
        return Verdict(False, f"expected a number from {show(low)} to {show(high)}, but {error}")
    if not is_real(actual):
        return Verdict(False, f"got {show(actual)}, which is not a number")
    if low <= actual <= high:
        return Verdict(True)
    bound = low if actual < low else high
    diagnosis, amount = diagnose(actual, bound)
    reason = f"got {show(actual)}, expected a number from {show(low)} to {show(high)}"
    return Verdict(False, reason + (f" ({amount})" if amount else ""), diagnosis)


def compare_raised(raised: list[str], message: str, exception: str) -> Verdict:
    """Return the verdict on what was raised where an `exception` was asked for.

    raised: the names of the exception's classes, its own first; empty if nothing was raised.
    message: what the exception said, or what came back instead of it.

    >>> compare_raised(["KeyError", "LookupError", "Exception"], "'x'", "LookupError").passed
    True
    >>> compare_raised([], "3", "ValueError").reason
    'expected ValueError, but nothing was raised (got 3)'
    """
    # An unwritten exercise raises NotImplementedError, which is a RuntimeError: no answer to one.
    unwritten = raised[:1] == ["NotImplementedError"] and exception != "NotImplementedError"
    if exception in raised and not unwritten:
        return Verdict(True)
    if not raised:
        return Verdict(False, f"expected {exception}, but nothing was raised (got {message})")
    said = f": {message}" if message else ""
    return Verdict(False, f"expected {exception}, but {raised[0]} was raised{said}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool)


def _difference(
    actual: Any, expected: Any, rule: _Rule, where: str
) -> tuple[str, Any, Any, str] | None:
    """Return the first difference: where, what was got, what expected, a note; None if none."""
    if _is_number(expected):
        same = _is_number(actual) and rule.meets(actual, expected)
        return None if same else (where, actual, expected, "")
    if expected is None or isinstance(expected, (bool, str)):
        same = type(actual) is type(expected) and actual == expected
        return None if same else (where, actual, expected, "")
    if isinstance(expected, dict):
        return _dict_difference(actual, expected, rule, where)
    if isinstance(expected, np.ndarray) and expected.ndim > 1:
        if not isinstance(actual, np.ndarray):
            return (where, actual, expected, f"got {show(actual)}, expected an array")
        if actual.shape != expected.shape:
            note = f"got an array of shape {actual.shape}, expected {expected.shape}"
            return (where, actual, expected, note)
    return _sequence_difference(actual, expected, rule, where)


def _sequence_difference(actual, expected, rule, where):
    if not isinstance(actual, (list, tuple, np.ndarray)):
        return (where, actual, expected, "")
    if len(actual) != len(expected):
        note = f"got {len(actual)} items, expected {len(expected)}"
        return (where, actual, expected, f"{note} ({show(actual)} against {show(expected)})")
    if isinstance(actual, np.ndarray):
        actual = actual.tolist()
    if isinstance(expected, np.ndarray):
        expected = expected.tolist()
    for index, (got, wanted) in enumerate(zip(actual, expected, strict=True)):
        found = _difference(got, wanted, rule, f"{where}[{index}]")
        if found:
            return found
    return None


def _dict_difference(actual, expected, rule, where):
    if not isinstance(actual, dict):
        return (where, actual, expected, "")
    missing = [key for key in expected if key not in actual]
    extra = [key for key in actual if key not in expected]
    if missing or extra:
        parts = [f"key {show(key)} is missing" for key in missing[:3]]
        parts += [f"key {show(key)} was not asked for" for key in extra[:3]]
        return (where, actual, expected, " and ".join(parts))
    for key, wanted in expected.items():
        found = _difference(actual[key], wanted, rule, f"{where}[{key!r}]")
        if found:
            return found
    return None


# ── how a value is shown ─────────────────────────────────────────────────────────────────────


def show(value: Any) -> str:
    """Return `value` as a person reads it; what is long is shortened.

    >>> print(show(2362368), show(9.0117187), show([1, 2]))
    2,362,368 9.01172 [1, 2]
    """
    if isinstance(value, (bool, np.bool_)) or value is None:
        return str(value)
    if isinstance(value, (int, np.integer)):
        number = int(value)
        return f"{number:,}" if abs(number) < 10**30 else _show_huge(number)
    if isinstance(value, (float, np.floating)):
        return _show_float(float(value))
    try:
        text = repr(_start(value, [_SHOWN_PARTS]))
    except Exception:  # a huge int inside, or an object whose repr raises
        return f"a {type(value).__name__}"
    return text if len(text) <= 200 else text[:160] + " … " + text[-30:]


def show_passed(value: Any) -> str:
    """Return what stands behind a passed case's label: one line; nothing for a truth value.

    >>> show_passed([7.140000000000001, 1 + 2**-20]), show_passed([0] * 60), show_passed(True)
    ('[7.14, 1.000001]', '[0, 0, 0, 0, 0, 0, 0, 0, …] (60 items)', '')
    """
    if isinstance(value, (bool, np.bool_)):
        return ""
    text = " ".join(show(_rounded(value)).split())
    if len(text) <= _PASSED_TEXT:
        return text
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return f"{_first_items(value)} ({len(value)} items)"
    return text[: _PASSED_TEXT - 2] + " …"


def _first_items(items: Any) -> str:
    """Return the start of a long sequence: as many items as fit into half a line."""
    shown: list[str] = []
    for item in items[:_MOST_ITEMS]:
        text = " ".join(show(_rounded(item)).split())
        if sum(map(len, shown)) + len(text) > _PASSED_TEXT // 2:
            break
        shown.append(text)
    text = ", ".join([*shown, "…"])
    return f"({text})" if isinstance(items, tuple) else f"[{text}]"


class _Number(float):
    """A float inside of a container: its repr has the digits that decide."""

    def __repr__(self) -> str:
        return _show_float(float(self), commas="")


def _rounded(value: Any) -> Any:
    """Return a value whose floats show no more digits than decide."""
    if type(value) in (float, np.float64, np.float32, np.float16):
        return _Number(value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f":
        value = value[:_SHOWN_PARTS].tolist()
    if type(value) in (list, tuple):
        return type(value)(_rounded(item) for item in value[:_SHOWN_PARTS])
    if type(value) is dict:
        return {key: _rounded(item) for key, item in list(value.items())[:_SHOWN_PARTS]}
    return value


def _show_float(value: float, commas: str = ",") -> str:
    """Return six digits; more where they would hide that the number is not a round one."""
    if abs(value) >= 1e6 or not math.isfinite(value):
        return f"{value:{commas}.1f}"
    for digits in range(6, 13):
        text = f"{value:{commas}.{digits}g}"
        figures = sum(map(str.isdigit, text.partition("e")[0].lstrip("-0.")))
        if figures >= digits or math.isclose(float(text.replace(",", "")), value, rel_tol=1e-12):
            break
    return text


_PASSED_TEXT, _MOST_ITEMS = 80, 8  # characters, and items, behind a passed case's label
# Of a value that is shown: parts, characters at each end of a text, numbers of an array.
_SHOWN_PARTS, _SHOWN_TEXT, _SHOWN_CELLS = 400, 400, 1000


class _Text:
    """Stands in a value that is shown for what would be too long: repr gives a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _start(value: Any, parts: list[int]) -> Any:
    """Return what of `value` can be seen where it is shortened: repr of large ones takes long."""
    parts[0] -= 1  # one count for the whole value, however its lists lie in each other
    if isinstance(value, str):
        long = len(value) > 2 * _SHOWN_TEXT
        return value[:_SHOWN_TEXT] + value[-_SHOWN_TEXT:] if long else value
    if isinstance(value, np.ndarray):
        parts[0] -= 20  # about as long a text as so many numbers
        # numpy leaves out the middle of each dimension; of many that leaves too much.
        long = value.size > _SHOWN_CELLS and value.ndim > 2
        return _Text(f"an array of shape {value.shape}") if long else value
    if type(value) not in (list, tuple, dict):
        return value
    kept = []
    for item in value.items() if type(value) is dict else value:
        if parts[0] < (2 if type(value) is dict else 1):  # a pair is a part, too, and stays one
            break
        kept.append(_start(item, parts))
    rest = [_Text("…")] if len(kept) < len(value) else []
    if type(value) is dict:
        return dict(kept) | {each: each for each in rest}
    return type(value)([*kept, *rest])


def _show_huge(value: int) -> str:
    return f"{value:.6e}" if abs(value) < 10**300 else f"an integer of {value.bit_length():,} bits"


def _show_two(got: Any, wanted: Any) -> tuple[str, str]:
    """Return both values as shown; with all their digits when they would look the same."""
    texts = show(got), show(wanted)
    if texts[0] != texts[1]:
        return texts
    return (repr(got), repr(wanted)) if _is_number(wanted) else texts
