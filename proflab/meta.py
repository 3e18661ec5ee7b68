"""Shapes without data: what a meta tensor holds where a real one holds a numpy array.

A `MetaArray` answers `shape`, `dtype`, `strides`, `base` and `nbytes` as an ndarray would, so that
whatever only asks about these works on both. Nothing here may allocate memory for elements.

(`proflab.meta` is the context manager below, as `proflab.tensor` is torch's function.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from proflab.shapes import Shape, contiguous_strides

_depth = 0  # how many `with meta():` are open


class MetaArray:
    """An array that has a shape, a dtype and strides (in bytes), but no elements."""

    __slots__ = ("shape", "dtype", "_strides", "base")

    def __init__(self, shape: Shape, dtype: np.dtype, strides: Shape | None = None, base=None):
        self.shape = shape
        self.dtype = dtype
        self._strides = strides  # None: contiguous, and computed only when asked for
        self.base = base  # the array whose storage this one looks at; None if it has its own

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def strides(self) -> Shape:
        return self._strides or contiguous_strides(self.shape, self.dtype.itemsize)

    @property
    def is_contiguous(self) -> bool:
        return self._strides is None

    def view(self, shape: Shape, strides: Shape | None) -> MetaArray:
        """Return another look at the same storage; strides None: contiguous."""
        return MetaArray(shape, self.dtype, strides, self if self.base is None else self.base)

    def __repr__(self) -> str:
        return f"MetaArray(shape={self.shape}, dtype={self.dtype})"


Array = np.ndarray | MetaArray


class Storage:
    """A token for the memory behind a tensor: equal for all views of it. `nbytes` is its size."""

    __slots__ = ("root",)

    def __init__(self, array: Array):
        while isinstance(array.base, (np.ndarray, MetaArray)):
            array = array.base
        self.root = array  # kept, so that the identity is not given to another array meanwhile

    @property
    def nbytes(self) -> int:
        return self.root.nbytes

    def __eq__(self, other) -> bool:
        return isinstance(other, Storage) and self.root is other.root

    def __hash__(self) -> int:
        return id(self.root)

    def __repr__(self) -> str:
        return f"Storage({id(self.root):#x}, {self.nbytes} bytes)"


@contextmanager
def meta() -> Iterator[None]:
    """Let every new tensor and parameter have a shape and no data.

    >>> with proflab.meta():
    ...     layer = nn.Linear(100_000, 100_000)
    >>> layer.weight.nbytes  # 40 GB, none of which is there
    40000000000
    """
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def in_meta_context() -> bool:
    """Return True inside `with meta():`."""
    return _depth > 0
