"""Support for measuring a machine: interleaving, thread counts, array sizes.

What may not enter: a FLOP, a byte or a rate that a student is to work out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import numpy as np

from proflab.lesson.blas import blas_threads, threads_in_words
from proflab.lesson.blas import on_threads as on_threads
from proflab.lesson.demo import demo_size, progress_bar
from proflab.lesson.hardware import Cache
from proflab.lesson.machine import TICK, NotHere, too_coarse

Rates = tuple[float, float, float]
_SECONDS = 12.0  # after which `in_turns` begins no round


def in_turns(
    measure: Callable[..., float], cases: dict[str, Sequence], rounds: int | None = None
) -> dict[str, Rates]:
    """Measure each case once a round, in turns: {name: (lowest, median, highest)} of the results.

    cases: name → arguments of `measure`. rounds: 7 where it is not given, and 2 where demos are
    small; after 12 seconds there are no more, but at least two. In turns, so that a slow minute of
    the machine is a slow minute for all of them.

    >>> in_turns(pow, {"squared": (3.0, 2), "cubed": (3.0, 3)}, rounds=2)
    {'squared': (9.0, 9.0, 9.0), 'cubed': (27.0, 27.0, 27.0)}
    """
    found: dict[str, list[float]] = {name: [] for name in cases}
    began = time.perf_counter()
    for count in progress_bar(range(rounds or demo_size(7, 2))):
        if count < 2 or time.perf_counter() - began < _SECONDS:
            for name, arguments in cases.items():
                try:
                    found[name].append(measure(*arguments))
                except ZeroDivisionError as error:
                    raise NotHere(too_coarse() or str(error)) from None
    return {name: (min(v), median(v), max(v)) for name, v in found.items()}


def best_time(work: Callable[[], object], repeats: int) -> float:
    """Return the seconds of the fastest of `repeats` calls of work(), a tick of the clock at least.

    >>> from proflab.lesson import doubles
    >>> clock = doubles.Clock()
    >>> work = doubles.Model(clock, ms=[500.0, 250.0, 750.0])
    >>> clock.run(best_time, work, repeats=3)
    0.25
    """
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return max(min(times), TICK)


# ── threads ──────────────────────────────────────────────────────────────────────────────────


def thread_counts() -> list[int]:
    """Return 1, and the threads of numpy's matrix products, where known and more.

    >>> thread_counts()[0]
    1
    """
    return sorted({1, blas_threads() or 1})


def called(threads: int) -> str:
    """Return "1 thread", "2 threads", or that the number of numpy's threads is not known."""
    return threads_in_words(None if blas_threads() is None else threads)


def copy_on(
    threads: int, copy: Callable[[np.ndarray, np.ndarray], None] = np.copyto
) -> Callable[[np.ndarray, np.ndarray], None]:
    """Return a copy like `copy`, in as many pieces side by side as there are threads.

    numpy lets other threads run while it copies or computes, so ordinary Python threads do.

    >>> destination = np.zeros(5)
    >>> copy_on(2)(destination, np.arange(5.0))
    >>> destination.tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    if threads == 1:
        return copy
    others = ThreadPoolExecutor(threads - 1)  # for as long as the copy that uses it

    def copy_in_pieces(destination: np.ndarray, source: np.ndarray) -> None:
        first, *rest = zip(
            *(np.array_split(array, threads) for array in (destination, source)), strict=True
        )
        waiting = [others.submit(copy, *piece) for piece in rest]
        copy(*first)  # this thread does its part, too
        for done in waiting:
            done.result()

    return copy_in_pieces


# ── caches ───────────────────────────────────────────────────────────────────────────────────


def beyond_caches(caches: Sequence[Cache], largest: int) -> int:
    """Return a working set that no cache holds: the bytes of a copy's source and destination.

    Each of the two has 4 times the last cache's size, as STREAM asks of each array. The working
    set has at least 64 MB and at most `largest` bytes.
    Source: https://www.cs.virginia.edu/stream/ref.html, "Adjust the problem size".

    >>> beyond_caches([Cache(3, 32 * 2**20)], largest=2**30) // 2**20
    256
    """
    last = max([cache.size for cache in caches], default=2**25)
    return min(largest, max(2**26, 8 * last) // 2**20 * 2**20)


def drops(
    points: Sequence[tuple[float, float, float, float]], caches: Sequence[Cache]
) -> list[tuple[Cache, float, float, bool]]:
    """Compare what working sets inside each cache reach with those that have left it.

    points: (bytes, lowest, median, highest rate). A set is inside a cache when it fills at most
    half of it and is larger than the cache before; it has left when it is at least twice as large,
    and not larger than the next one. For each cache with sets on both sides: the cache, the median
    inside, that outside, and whether the slowest inside is faster than the fastest outside.

    >>> small, large = (8_000, 9e9, 10e9, 11e9), (128_000, 3e9, 4e9, 5e9)
    >>> drops([small, large], [Cache(1, 32 * 1024)])
    [(Cache(level=1, size=32768, shared_by=None), 10000000000.0, 4000000000.0, True)]
    """
    result: list[tuple[Cache, float, float, bool]] = []
    sizes = [0, *(cache.size for cache in caches), math.inf]
    for before, cache, after in zip(sizes, caches, sizes[2:], strict=False):
        inside = [p for p in points if before < p[0] <= cache.size / 2]
        outside = [p for p in points if 2 * cache.size <= p[0] <= after]
        if inside and outside:
            drop = min(p[1] for p in inside) > max(p[3] for p in outside)
            fast, slow = (median(p[2] for p in side) for side in (inside, outside))
            result.append((cache, fast, slow, drop))
    return result
