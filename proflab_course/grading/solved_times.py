"""Keep the CPU seconds of a lesson's solved notebook, of which students' limits are multiples.

They are measured at most once in a grading, when a hand-in has run out of time, and on the machine
that executed it. A build records none, since its result is the same on every machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from proflab_course.grading.limits import LEAST_SOLVED_SECONDS


class SolvedTimes:
    """The seconds of a lesson's cells and of its test cells' blocks; None until measured."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[tuple[str, int], float] | None = None

    def of(self, grade_id: str, block: int = 0) -> float | None:
        """Return the seconds of a cell, or of the slowest statement of a test cell's block."""
        return None if self._seconds is None else self._seconds.get((grade_id, block), 0.0)

    def ensure(self, measure: Callable[[], dict[tuple[str, int], float]]) -> None:
        """Call `measure` unless its result is known; of several threads, only one calls it."""
        with self._lock:
            if self._seconds is None:
                measured = measure()
                self._seconds = {k: s for k, s in measured.items() if s >= LEAST_SOLVED_SECONDS}
