"""Rows of several recorded passes of a model, put together.

What may not enter: a FLOP, a byte or a time that does not stand in a row already.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

Row = dict[str, Any]
Pass = tuple[float, list[Row]]  # its ms, and its rows


def median_rows(passes: Sequence[Pass]) -> list[Row]:
    """Return the rows of a pass, in order, each with its median self_ms over all passes."""
    rows = zip(*(rows for _, rows in passes), strict=True)
    return [same[0] | {"self_ms": median(row["self_ms"] for row in same)} for same in rows]
