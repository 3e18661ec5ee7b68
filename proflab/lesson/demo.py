"""Sizes of demo cells: PROFLAB_DEMO=small in the environment makes them less, not different.

What may not enter: anything that an exercise or a test cell needs.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")


def demo_size(full: T, small: T) -> T:
    """Return `full`, or `small` where PROFLAB_DEMO=small is set: sizes, repeats, models."""
    return small if os.environ.get("PROFLAB_DEMO") == "small" else full


def rounds(full: int, small: int, least: int = 6, seconds: float = 6.0) -> Iterator[int]:
    """Yield 0, 1, 2 …: how often a cell repeats what it measures, with a progress bar.

    As many as demo_size(full, small) says, but on a slow or busy machine no more than begin within
    `seconds`, though never fewer than `least`.
    """
    from tqdm import tqdm

    began = time.monotonic()
    look = {"unit": "round", "leave": False, "file": sys.stdout, "mininterval": 0.5}
    for number in tqdm(range(demo_size(full, small)), **look):
        if number >= least and time.monotonic() - began > seconds:
            return
        yield number
