"""A limit on the grader's own work for one hand-in: no student makes it busy for long.

Everything that is read from a student is limited in size, so each step is short; here the steps are
added up. What counts is this thread's CPU time, which a busy machine does not change.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_MOST_SECONDS = 30.0
_here = threading.local()


class TooMuchWork(Exception):
    """The grader gives up on one hand-in."""


@contextmanager
def limited(seconds: float = _MOST_SECONDS) -> Iterator[None]:
    """Let what this thread does in the block use so many CPU seconds."""
    _here.most, _here.until = seconds, time.thread_time() + seconds
    try:
        yield
    finally:
        _here.until = None


def check() -> None:
    """Raise TooMuchWork where the block's seconds are used up; called between steps."""
    until = getattr(_here, "until", None)
    if until is not None and time.thread_time() > until:
        raise TooMuchWork(f"what it holds keeps the grader busy for more than {_here.most:g} s")
