"""Products and copies that note which arrays they were given: shapes, dtypes, memory.

What may not enter: which arrays are the right ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def noting_kinds(work: Callable, seen: list) -> Callable:
    """Return `work(a, b)` or `work(a, b, out=c)` that first appends the arrays' kinds to `seen`.

    They are a sorted list of (shape, dtype's name), each once.
    """

    def noted(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> Any:
        arrays = (a, b) if out is None else (a, b, out)
        seen.append(sorted({(array.shape, str(array.dtype)) for array in arrays}))
        return work(a, b, out)

    return noted


def noting_copies(work: Callable, seen: list) -> Callable:
    """Return `work(destination, source)` that first appends to `seen` what the arrays are.

    It is a dict: the source's bytes, whether both are one-dimensional and of the same size and
    dtype (alike), share no memory (apart), and whether each was written: no page of it is all 0.
    """

    def noted(destination: np.ndarray, source: np.ndarray) -> Any:
        alike = (destination.shape, destination.dtype) == ((source.size,), source.dtype)
        noted = {
            "bytes": source.nbytes,
            "alike": alike and source.ndim == 1,
            "apart": not np.shares_memory(destination, source),
            "source_written": _written(source),
            "destination_written": _written(destination),
        }
        seen.append(noted)
        return work(destination, source)

    return noted


def _written(array: np.ndarray) -> bool:
    """Return whether each whole page of an array, and the array, has a number that is not 0."""
    numbers = array.ravel()
    in_page = max(1, 4096 // numbers.itemsize)
    pages = numbers[: numbers.size // in_page * in_page].reshape(-1, in_page)
    return bool(numbers.any() and pages.any(axis=1).all())
