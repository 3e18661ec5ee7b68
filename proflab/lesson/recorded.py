"""Rows of several recorded passes of a model, put together.

What may not enter: a FLOP, a byte or a time that does not stand in a row already.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from proflab.lesson import machine

Row = dict[str, Any]
Pass = tuple[float, list[Row]]  # its ms, and its rows


def median_rows(passes: Sequence[Pass]) -> list[Row]:
    """Return the rows of a pass, in order, each with its median self_ms over all passes.

    Where a clock has longer steps than most ops take, as in a browser, a single time is 0 or a
    step: there it is the mean, and never 0.
    """
    rows = zip(*(rows for _, rows in passes), strict=True)
    return [same[0] | {"self_ms": _typical([row["self_ms"] for row in same])} for same in rows]


def _typical(times_ms: list[float]) -> float:
    if machine.TICK < machine.COARSE:
        return median(times_ms)
    return max(fmean(times_ms), machine.TICK * 1e3 / len(times_ms))
