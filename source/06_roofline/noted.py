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

    It is a list: the source's bytes, whether both are one-dimensional and of the same size and
    dtype, whether they share no memory, whether the source is not all 0, and the destination.
    """

    def noted(destination: np.ndarray, source: np.ndarray) -> Any:
        alike = (destination.shape, destination.dtype) == ((source.size,), source.dtype)
        apart = not np.shares_memory(destination, source)
        written = [bool(array.any()) for array in (source, destination)]
        seen.append([source.nbytes, alike and source.ndim == 1, apart, *written])
        return work(destination, source)

    return noted
