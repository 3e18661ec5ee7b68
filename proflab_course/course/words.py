"""Format names and numbers for messages and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence

_FEW = 10


def few(names: Sequence[str]) -> str:
    """Return at most ten names, and the number of the others.

    >>> few(["ann", "bo"])
    'ann, bo'
    """
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more


def figure(value: float | None, digits: int = 2, signed: bool = False) -> str:
    """Return a number with so many digits and a real minus sign; a dash for None and NaN.

    signed: with a plus sign, too.

    >>> figure(-0.125), figure(0.5, 1, signed=True), figure(None)
    ('−0.12', '+0.5', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    return f"{value:{'+' if signed else ''}.{digits}f}".replace("-", "−")  # noqa: RUF001
