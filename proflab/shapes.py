"""Arithmetic on shapes: broadcasting, strides, dimensions. Tuples of ints in and out."""

from __future__ import annotations

import numpy as np

Shape = tuple[int, ...]


def contiguous_strides(shape: Shape, itemsize: int) -> Shape:
    """Return the strides of a row-major array in bytes: (2, 3) of float32 has (12, 4)."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def broadcast(*shapes: Shape) -> Shape:
    """Return the shape that the given ones broadcast to; raise ValueError if they do not.

    >>> broadcast((4, 1, 3), (5, 1))
    (4, 5, 3)
    """
    if len(set(shapes)) == 1:
        return shapes[0]
    result = [1] * max(map(len, shapes))
    for shape in shapes:
        for i in range(-len(shape), 0):
            if shape[i] != 1:
                if result[i] not in (1, shape[i]):
                    raise ValueError("the shapes do not broadcast")
                result[i] = shape[i]
    return tuple(result)


def unbroadcast(grad: np.ndarray, shape: Shape) -> np.ndarray:
    """Sum a gradient over the axes along which an input of this shape was broadcast.

    >>> unbroadcast(np.ones((4, 3)), (1, 3)).tolist()
    [[4.0, 4.0, 4.0]]
    """
    if grad.shape == shape:
        return grad
    extra = grad.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, n in enumerate(shape) if n == 1 and grad.shape[i + extra] != 1
    )
    return grad.sum(axis=axes, keepdims=True).reshape(shape)


def normalize_dim(dim: int, ndim: int) -> int:
    """Return a dimension counted from the front; raise ValueError if there is no such dimension.

    >>> normalize_dim(-1, 3)
    2
    """
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise ValueError(f"there is no dimension {dim} in a tensor of {ndim} dimensions")
    return dim + ndim if dim < 0 else dim
