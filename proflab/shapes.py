"""Shapes without data: what a meta tensor holds where a real one holds a numpy array.

A `MetaArray` answers `shape`, `dtype`, `strides`, `base` and `nbytes` as an ndarray would, so that
whatever only asks about these works on both. Nothing here may allocate memory for elements.
"""

from __future__ import annotations

import math

import numpy as np

Shape = tuple[int, ...]


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

    def view(self, shape: Shape, strides: Shape | None) -> MetaArray:
        """Another look at the same storage."""
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


def contiguous_strides(shape: Shape, itemsize: int) -> Shape:
    """Strides in bytes of a row-major array."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def broadcast(*shapes: Shape) -> Shape:
    """The shape that the given ones broadcast to; ValueError if they do not."""
    first = shapes[0]
    for other in shapes[1:]:
        if other != first:
            break
    else:
        return first
    result = [1] * max(map(len, shapes))
    for shape in shapes:
        for i in range(-len(shape), 0):
            if shape[i] != 1:
                if result[i] not in (1, shape[i]):
                    raise ValueError("the shapes do not broadcast")
                result[i] = shape[i]
    return tuple(result)


def unbroadcast(grad: np.ndarray, shape: Shape) -> np.ndarray:
    """Sum a gradient over the axes along which an input of this shape was broadcast."""
    if grad.shape == shape:
        return grad
    extra = grad.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, n in enumerate(shape) if n == 1 and grad.shape[i + extra] != 1
    )
    return grad.sum(axis=axes, keepdims=True).reshape(shape)


def normalize_dim(dim: int, ndim: int) -> int:
    """A dimension counted from the front; ValueError if the tensor has no such dimension."""
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise ValueError(f"there is no dimension {dim} in a tensor of {ndim} dimensions")
    return dim + ndim if dim < 0 else dim


def resolve_shape(shape: Shape, size: int) -> Shape:
    """Replace the one -1 in a shape that has to hold `size` elements."""
    if -1 not in shape:
        if math.prod(shape) != size:
            raise ValueError(f"{size} elements do not fit the shape {shape}")
        return shape
    known = math.prod(n for n in shape if n != -1)
    if shape.count(-1) > 1 or known == 0 or size % known:
        raise ValueError(f"{size} elements do not fit the shape {shape}")
    return tuple(size // known if n == -1 else n for n in shape)


def view_strides(array: MetaArray, shape: Shape) -> Shape | None:
    """Strides with which `array` can be seen as `shape` without a copy; None if it cannot.

    Old dimensions that lie in memory as one run may be divided anew, others may not.
    """
    itemsize = array.dtype.itemsize
    if array._strides is None or array.size == 0:
        return contiguous_strides(shape, itemsize)
    old = [(n, s) for n, s in zip(array.shape, array._strides, strict=True) if n != 1]
    runs: list[list[int]] = []  # [elements, stride of the innermost]
    for n, stride in old:
        if runs and runs[-1][1] == n * stride:
            runs[-1] = [runs[-1][0] * n, stride]
        else:
            runs.append([n, stride])
    strides, left, step = [], 1, itemsize
    for n in reversed(shape):
        if n != 1 and left == 1 and runs:
            left, step = runs.pop()
        if left % n:
            return None
        strides.append(step)
        step, left = step * n, left // n
    return tuple(reversed(strides)) if left == 1 and not runs else None
