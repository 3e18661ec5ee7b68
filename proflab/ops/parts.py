"""Parts of an array: what is done in several steps is done to one part after the other."""

from __future__ import annotations

import math

_CACHED = 2**20  # bytes that stay in a core's cache from one step to the next


def cached_parts(shape: tuple[int, ...], itemsize: int) -> list[slice]:
    """Return slices of the first dimension of about a megabyte each, which stay in the cache.

    >>> cached_parts((5, 64, 56, 56), itemsize=4)[:2]
    [slice(0, 1, None), slice(1, 2, None)]
    >>> cached_parts((500, 10, 10), itemsize=4)
    [slice(0, 2621, None)]
    """
    each = math.prod(shape[1:]) * itemsize
    step = max(1, _CACHED // max(1, each))
    return [slice(start, start + step) for start in range(0, shape[0], step)]
