"""CPU time as a multiple of the same small piece of work, so that no slow machine decides."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Iterator


def pace() -> float:
    """Return the CPU seconds that a fixed loop takes here and now: about a hundredth of one."""
    started = time.process_time()
    sum(range(1_000_000))
    return time.process_time() - started


@contextlib.contextmanager
def at_most(paces: float) -> Iterator[None]:
    """Fail if the block takes more CPU time than so many loops, those before and after it.

    No garbage is collected in it: how long that takes depends on the tests that ran before.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        before, started = pace(), time.process_time()
        yield
        spent = time.process_time() - started
        slower = max(before, pace())
    finally:
        if collecting:
            gc.enable()
    assert spent < paces * slower, f"{spent / slower:.0f} paces of {1000 * slower:.1f} ms"
