"""Stand for the gate in test cells of lesson 08, so that a slip in it costs points once."""

import statistics
from collections.abc import Sequence


def by_medians(
    before: Sequence[float], after: Sequence[float], tolerance: float, comparisons: int = 1
) -> str:
    """Return a verdict by two medians, "same", "faster" or "slower".

    Raises ValueError for no times, lists of different lengths and a tolerance below 0.
    """
    if not len(before) or len(before) != len(after) or tolerance < 0:  # arrays are right, too
        raise ValueError("two lists of times, as long as each other, and a tolerance from 0 on")
    speedup = statistics.median(before) / statistics.median(after)
    if 1 / (1 + tolerance) <= speedup <= 1 + tolerance:
        return "same"
    return "faster" if speedup > 1 else "slower"
