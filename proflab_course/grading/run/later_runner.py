"""Start a runner only when the first plan arrives: a class without changes needs none."""

from __future__ import annotations

import threading
from collections.abc import Callable

from proflab_course.grading.plan import Plan, Result, Runner, Submission


class LaterRunner:
    """Replaces the runner that `make` returns, and calls `make` for the first plan.

    conditions: those of this runner, known before
    """

    def __init__(self, make: Callable[[], Runner], conditions: str = "") -> None:
        self._make, self._lock = make, threading.Lock()
        self.conditions = conditions
        self._made: Runner | None = None

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Execute a plan, as a Runner does; raise CourseError if no runner can be made."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return self._made.run(submission, plan)

    def close(self) -> None:
        """Close the runner, if it was made."""
        if self._made is not None:
            self._made.close()
