"""Tell what this Python has and another may not: threads, processes, psutil, fine clocks.

A Python in a browser has none of them. What may not enter: a measurement.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

WITHOUT_PROCESSES = ("emscripten", "wasi")  # sys.platform of Pythons in a browser
COARSE = 5e-5  # seconds: steps of a clock in which an operation of a small model fits
_MemoryInfo = namedtuple("_MemoryInfo", "rss vms")


class NotHere(Exception):
    """Say in one sentence that a cell needs what this Python does not have.

    In a notebook the cell shows the sentence alone, and Run All goes on.
    """


@cache
def can(what: str) -> bool:
    """Return True if this Python has "threads", or can start other "processes".

    Raises ValueError for anything else.

    >>> can("threads")
    True
    """
    if what == "processes":
        return sys.platform not in WITHOUT_PROCESSES
    if what != "threads":
        raise ValueError(f'threads or processes, not "{what}"')
    thread = threading.Thread(target=int)
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


def need(what: str, shows: str) -> None:
    """Raise NotHere unless this Python has what a cell needs; shows: what the cell shows elsewhere.

    what: as for `can`.
    """
    if not can(what):
        raise NotHere(
            f"This cell needs {what}, which this Python does not have; elsewhere it shows {shows}."
        )


def tick_of(clock: Callable[[], float], most: float = 0.05) -> float:
    """Return the seconds of a clock's smallest step; `most` if it stood still so long.

    What a clock says of itself (time.get_clock_info) is finer than its steps on some systems.
    """
    steps: list[float] = []
    until = time.perf_counter() + most
    now = clock()
    while len(steps) < 5:
        then, now = now, clock()
        if now > then:
            steps.append(now - then)
        elif time.perf_counter() >= until:
            break
    return min(steps, default=most)


def steady(clock: Callable[[], float], finest: float = 1e-4) -> Callable[[], float]:
    """Return the clock, or time.perf_counter where the clock's steps are longer than `finest`.

    time.process_time advances in steps of 1/64 s on Windows.
    """
    return clock if tick_of(clock) <= finest else time.perf_counter


def too_coarse() -> str:
    """Return the sentence on a measurement that took less than a step of the clock.

    Empty where steps are fine. In a page they are 0.1 ms in Chromium, 1 ms in Firefox and Safari.
    """
    if TICK < COARSE:
        return ""
    return (
        f"This Python's clock advances in steps of {TICK * 1e3:.1g} ms, and what this cell "
        "measures takes less."
    )


class _Process:
    """Stand for psutil.Process, by what the system itself tells of a process's memory."""

    def __init__(self, pid: int | None = None) -> None:
        self.pid = os.getpid() if pid is None else pid

    def memory_info(self) -> Any:
        """Return rss and vms in bytes. Raises NotHere where the system tells neither."""
        try:
            pages = Path(f"/proc/{self.pid}/statm").read_text("ascii").split()
            size = os.sysconf("SC_PAGE_SIZE")
        except (OSError, AttributeError, ValueError):
            raise NotHere(
                "A process's memory is not known here: psutil, which reads it, is not installed."
            ) from None
        return _MemoryInfo(int(pages[1]) * size, int(pages[0]) * size)


def __getattr__(name: str) -> Any:
    """Return `psutil`, which takes time to import; where there is none, a stand-in."""
    if name != "psutil":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import psutil
    except ImportError:
        return _STAND_IN
    return psutil


_STAND_IN = SimpleNamespace(Process=_Process)
TICK = tick_of(time.perf_counter)  # seconds
