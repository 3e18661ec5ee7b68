"""Format names and numbers for messages and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from proflab.lesson.words import listed as listed
from proflab.lesson.words import shortened as shortened


def few(names: Sequence[str], most: int = 10) -> str:
    """Return at most so many names with commas, and the number of the others.

    >>> few(["ann", "bo"]), few(["ann", "bo", "cy"], 1)
    ('ann, bo', 'ann and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def amount(number: float, what: str) -> str:
    """Return a number with its noun, which takes an s in the plural.

    >>> amount(1, "essay"), amount(2.5, "hour")
    ('1 essay', '2.5 hours')
    """
    return f"{number:g} {what}{'' if number == 1 else 's'}"


def figure(value: float | None, digits: int = 2, signed: bool = False) -> str:
    """Return a number with so many digits and a real minus sign; a dash for None and NaN.

    signed: with a plus sign, too.

    >>> figure(-0.125), figure(0.5, 1, signed=True), figure(None)
    ('−0.12', '+0.5', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    return f"{value:{'+' if signed else ''}.{digits}f}".replace("-", "−")  # noqa: RUF001
