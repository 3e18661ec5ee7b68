"""CPU seconds that a lesson takes with its own solutions: students' limits are multiples of them.

They are measured where and when they are needed, once a grading: as soon as a hand-in has run out
of time, and on the machine that executed it. A build records none, since it is to be the same on
every machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

# Fifty times what takes less is below the least that a case may take.
_LEAST_SECONDS = 0.04


class SolvedTimes:
    """The seconds of a lesson's cells and of its test cells' blocks; None until measured."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[tuple[str, int], float] | None = None

    def of(self, grade_id: str, block: int = 0) -> float | None:
        """Return the seconds of a cell, or of the slowest statement of a test cell's block."""
        return None if self._seconds is None else self._seconds.get((grade_id, block), 0.0)

    def ensure(self, measure: Callable[[], dict[tuple[str, int], float]]) -> None:
        """Call `measure` unless it is known what it returns; of several threads only one does."""
        with self._lock:
            if self._seconds is None:
                measured = measure()
                self._seconds = {k: s for k, s in measured.items() if s >= _LEAST_SECONDS}
