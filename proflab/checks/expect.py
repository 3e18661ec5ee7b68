"""The three calls of a test cell. Each prints a line when it passes and explains when it fails.

In a notebook they compare where they stand. The grader never runs them: it reads them, evaluates
only what is to be tested in the student's process, and compares outside (`course/test_cells.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proflab.checks.compare import Verdict, compare, compare_between, compare_raised, show
from proflab.checks.values import NotPlainData, to_plain_data

__all__ = ["expect", "expect_between", "expect_raises"]


def expect(
    label: str,
    actual: Any,
    expected: Any,
    *,
    rel: float | None = None,
    abs: float | None = None,
    mistakes: dict[str, Any] | None = None,
) -> None:
    """Check that `actual` is `expected`, exactly or within `rel` or `abs`.

    label: what the case is about; printed whether it passes or fails.
    rel, abs: how far a number may be off, relative to the expected one or in its own unit.
    mistakes: maps the sentence that names a misconception to the value that it leads to.
    Raises AssertionError, which says what was got, what was expected and what that looks like.

    >>> expect("parameters of Linear(3, 2)", 3 * 2 + 2, 8)
    ✅ parameters of Linear(3, 2): 8
    >>> expect("parameters of Linear(3, 2)", 3 * 2, 8, mistakes={"is a bias left out?": 6})
    Traceback (most recent call last):
    proflab.checks.expect.CaseFailed: ❌ parameters of Linear(3, 2): got 6, expected 8 (2 too few)
       is a bias left out?
    """
    _tell(label, compare(actual, expected, rel, abs, mistakes), _shown(actual))


def expect_between(label: str, actual: float, low: float, high: float) -> None:
    """Check that `low <= actual <= high`; raises AssertionError otherwise.

    >>> expect_between("share of the peak", 0.25, 0.0, 1.0)
    ✅ share of the peak: 0.25
    """
    _tell(label, compare_between(actual, low, high), _shown(actual))


def expect_raises(label: str, action: Callable[[], Any], exception: type[Exception]) -> None:
    """Check that `action()` raises `exception`; raises AssertionError otherwise.

    An exercise that is still to be written raises NotImplementedError, which is passed on.

    >>> expect_raises("no such key", lambda: {}["x"], KeyError)
    ✅ no such key: KeyError
    """
    try:
        value = action()
    except Exception as error:
        if isinstance(error, NotImplementedError) and exception is not NotImplementedError:
            raise
        raised, message = [kind.__name__ for kind in type(error).__mro__], _said(error)
    else:
        raised, message = [], _shown(value)
    _tell(label, compare_raised(raised, message, exception.__name__), exception.__name__)


class CaseFailed(AssertionError):
    """A case that does not hold. Jupyter shows its sentence alone: where we raised says nothing."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def passed_line(label: str, shown: str) -> str:
    """Return the line that a passed case prints."""
    return f"✅ {label}: {shown}"


def failed_text(label: str, verdict: Verdict) -> str:
    """Return what a failed case says."""
    hint = f"\n   {verdict.diagnosis}" if verdict.diagnosis else ""
    return f"❌ {label}: {verdict.reason}{hint}"


def _shown(value: Any) -> str:
    """Return the value as text, without asking it how it wants to be shown."""
    try:
        return show(to_plain_data(value))
    except NotPlainData:
        return f"a {type(value).__name__}"


def _said(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def _tell(label: str, verdict: Verdict, shown: str) -> None:
    if not verdict.passed:
        raise CaseFailed(failed_text(label, verdict))
    print(passed_line(label, shown))
