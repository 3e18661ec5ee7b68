"""Provide what all runners need: fairness between sessions, and the student's environment.

`session.py` carries out a session; each runner confines it in its own file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from proflab_course.grading.limits import Limits
from proflab_course.grading.one_execution import add_execution
from proflab_course.grading.plan import Plan, Result
from proflab_course.grading.run.time_allowance import Allowance, run_through

_LIBRARIES = ("OPENBLAS", "OMP", "MKL", "BLIS", "NUMEXPR")


class SharedLock:
    """A shared/exclusive lock: many sessions at once, or one alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running, self._waiting_alone = 0, 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Run side by side with other sessions; a session that waits to be alone goes first."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting_alone == 0 and self._running >= 0)
            self._running += 1
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Run while no other session runs."""
        with self._changed:
            self._waiting_alone += 1
            self._changed.wait_for(lambda: self._running == 0)
            self._waiting_alone -= 1
            self._running = -1
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._changed:
            self._running = max(0, self._running - 1)
            self._changed.notify_all()


def run_fairly(
    lock: SharedLock, plan: Plan, limits: Limits, session: Callable[[Allowance], Result]
) -> Result:
    """Run a plan's sessions; if other processes kept them waiting, run them again, alone."""
    with lock.shared():
        first = run_through(plan, session, Allowance(limits))
    if not first.hit_wall:
        return first
    with lock.exclusive():
        later = run_through(plan, session, Allowance(limits.alone(), alone=True))
    return add_execution(plan, first, later)


def conditions_of(isolated: bool, limits: Limits) -> str:
    """Return under which conditions a runner executes, of which `keeping_runner.py` takes note."""
    return f"{'isolated' if isolated else 'not isolated'}, {limits}"


def student_environment(home: Path) -> dict[str, str]:
    """Return the environment variables of a student's process; none comes from the instructor."""
    return {
        "HOME": str(home),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "USER": "student",
        "MPLCONFIGDIR": str(home / ".matplotlib"),
        "IPYTHONDIR": str(home / ".ipython"),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        # proflab/lesson/demo.py reads this one, and proflab/lesson/mine.py PROFLAB_MINE.
        "PROFLAB_DEMO": "small",
        # A second thread would spin while the machine is busy, and its time counts.
        **{f"{library}_NUM_THREADS": "1" for library in _LIBRARIES},
        "PROFLAB_MINE": "off",
    }
