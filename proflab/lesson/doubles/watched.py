"""Ways to exercise a student's Timer (nested, by hand, around a failing body), and a module that
logs its inputs.

What is used, the student's or a double, comes in as an argument; nothing here is right or wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from proflab import nn

Work = Callable[[Any], Any]


def timed(timer: Any, work: Work, calls: int = 1) -> float:
    """Return the elapsed_ms of `with timer as used:` around some calls, after one more outside."""
    with timer as used:
        for _ in range(calls):
            work(0)
    work(0)
    return used.elapsed_ms


def failing(timer: Any, work: Work) -> None:
    """Call work(0) under `with timer:`, and raise a KeyError there."""
    with timer:
        work(0)
        raise KeyError("in the body")


def time_of_failing(timer: Any, work: Work) -> float:
    """Return the elapsed_ms of a timer whose body raised a KeyError."""
    with suppress(KeyError):
        failing(timer, work)
    return timer.elapsed_ms


def nested(timer: Callable[[], Any], work: Work) -> list[float]:
    """Return the elapsed_ms of a timer around three calls, and of one around the second of them."""
    with timer() as outer:
        work(0)
        with timer() as inner:
            work(0)
        work(0)
    return [outer.elapsed_ms, inner.elapsed_ms]


def by_hand(timer: Any, work: Work, *steps: str) -> float:
    """Return the elapsed_ms of a timer told each step, "start" or "stop", with a call after it."""
    for step in steps:
        getattr(timer, step)()
        work(0)
    return timer.elapsed_ms


class Logged(nn.Module):
    """A module that does what `work` does; `seen` lists its inputs.

    >>> model = Logged(lambda x: x + 1)
    >>> model(1), model(4), model.seen
    (2, 5, [1, 4])
    """

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work
        self.seen: list[Any] = []

    def forward(self, x: Any) -> Any:
        """Return work(x), and note x."""
        self.seen.append(x)
        return self.work(x)


def quietly(function: Callable, *arguments: Any) -> Any:
    """Return what function(*arguments) returns; a warning raises.

    >>> quietly(warnings.warn, "hot")
    Traceback (most recent call last):
    UserWarning: hot
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(*arguments)
