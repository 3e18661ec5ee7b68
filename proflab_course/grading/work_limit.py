"""Limit the grader's own work for one hand-in, so that no hand-in keeps it busy for long.

Everything that is read from a student is limited in size, so each step is short; this file adds up
the steps. It measures the thread's CPU time, which a busy machine does not change.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from proflab_course.grading.limits import JUDGE_SECONDS

_here = threading.local()


class TooMuchWork(Exception):
    """The grader gives up on one hand-in."""


@contextmanager
def limited(seconds: float = JUDGE_SECONDS) -> Iterator[None]:
    """Limit the CPU seconds of this thread in the block."""
    _here.most, _here.until = seconds, time.thread_time() + seconds
    try:
        yield
    finally:
        _here.until = None


def check() -> None:
    """Raise TooMuchWork if the block's seconds are used up; call this between steps."""
    until = getattr(_here, "until", None)
    if until is not None and time.thread_time() > until:
        raise TooMuchWork(f"what it holds keeps the grader busy for more than {_here.most:g} s")
