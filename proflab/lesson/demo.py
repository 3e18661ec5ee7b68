"""Sizes of demo cells: PROFLAB_DEMO=small in the environment makes them less, not different.

What may not enter: anything that an exercise or a test cell needs.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from proflab.lesson.kernel_record import kernel_shell
from proflab.lesson.machine import can

T = TypeVar("T")


def demo_size(full: T, small: T) -> T:
    """Return `full`, or `small` where PROFLAB_DEMO=small is set: sizes, repeats, models.

    In a browser, where all takes many times as long, `small`, unless PROFLAB_DEMO=full is set.
    """
    asked = os.environ.get("PROFLAB_DEMO", "" if can("processes") else "small")
    return small if asked == "small" else full


def rounds(full: int, small: int, least: int = 6, seconds: float = 6.0) -> Iterator[int]:
    """Yield 0, 1, 2 …: how often a cell repeats what it measures, with a progress bar.

    As many as demo_size(full, small) says, but on a slow or busy machine no more than begin within
    `seconds`, though never fewer than `least`.
    """
    began = time.monotonic()
    for number in progress_bar(range(demo_size(full, small)), unit="round"):
        if number >= least and time.monotonic() - began > seconds:
            return
        yield number


def progress_bar(items: Iterable[T], unit: str = "it") -> Iterator[T]:
    """Yield the items, with a progress bar in a notebook and in a terminal, and nowhere else.

    A notebook shows what goes to stderr on red; so there the bar goes to stdout.
    """
    from tqdm import tqdm

    if not can("threads"):
        tqdm.monitor_interval = 0  # it would say that it has no thread that watches the bar
    in_notebook = kernel_shell() is not None
    look = {"file": sys.stdout} if in_notebook else {"disable": None}
    yield from tqdm(items, unit=unit, leave=False, mininterval=0.5, **look)
