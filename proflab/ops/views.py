"""Other shapes of the same elements. These move nothing: the result looks at the input's memory.

Only `reshape` may have to copy, where the elements do not lie in memory in the order asked for.
"""

from __future__ import annotations

import math

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.shapes import (
    MetaArray,
    broadcast,
    contiguous_strides,
    normalize_dim,
    resolve_shape,
    unbroadcast,
    view_strides,
)
from proflab.tensor import Tensor


@register
class Reshape(Op):
    name = "reshape"
    view = True

    def shape(self, input, shape):
        shape = resolve_shape(shape, input.size)
        strides = view_strides(input, shape) if type(input) is MetaArray else None
        if strides is None:
            return MetaArray(shape, input.dtype)
        return input.view(shape, unless_contiguous(strides, shape, input.dtype.itemsize))

    def forward(self, input, shape):
        return input.reshape(shape)

    def backward(self, node, grad, shape):
        return (grad.reshape(node.shape(0)),)


@register
class Permute(Op):
    name = "permute"
    view = True

    def shape(self, input, dims):
        shape, strides = input.shape, input.strides
        new = tuple([shape[d] for d in dims])
        strides = tuple([strides[d] for d in dims])
        return input.view(new, unless_contiguous(strides, new, input.dtype.itemsize))

    def forward(self, input, dims):
        return input.transpose(dims)

    def backward(self, node, grad, dims):
        return (grad.transpose([dims.index(i) for i in range(len(dims))]),)


@register
class Expand(Op):
    name = "expand"
    view = True

    def shape(self, input, shape):
        if broadcast(input.shape, shape) != shape:
            raise ValueError(f"the shape does not expand to {shape}")
        new = len(shape) - len(input.shape)
        strides = (0,) * new + tuple(
            s if n == shape[new + i] else 0
            for i, (n, s) in enumerate(zip(input.shape, input.strides, strict=True))
        )
        return input.view(shape, unless_contiguous(strides, shape, input.dtype.itemsize))

    def forward(self, input, shape):
        return np.broadcast_to(input, shape)

    def backward(self, node, grad, shape):
        return (unbroadcast(grad, node.shape(0)),)


def unless_contiguous(strides, shape, itemsize):
    """None, which stands for contiguous, where the strides are those of a row-major array."""
    expected = contiguous_strides(shape, itemsize)
    same = all(s == e or n == 1 for s, e, n in zip(strides, expected, shape, strict=True))
    return None if same or 0 in shape else strides


def sizes(arguments: tuple) -> tuple[int, ...]:
    """Sizes given one by one, or as one tuple."""
    if len(arguments) == 1 and not hasattr(arguments[0], "__index__"):
        arguments = tuple(arguments[0])
    return tuple([int(n) for n in arguments])


def reshape(input: Tensor, *shape) -> Tensor:
    """The elements in another shape; one size may be -1."""
    return apply(Reshape, (input,), shape=sizes(shape))


def view(input: Tensor, *shape) -> Tensor:
    """As reshape, but ValueError where it would have to copy; a dtype is not taken."""
    shape = sizes(shape)
    if not input.is_contiguous():
        array = input.array
        layout = MetaArray(array.shape, array.dtype, array.strides)
        if view_strides(layout, resolve_shape(shape, array.size)) is None:
            raise ValueError(
                f"view: a tensor of shape {input.shape} with strides {array.strides} cannot be "
                f"seen as {shape} without a copy: use reshape"
            )
    return apply(Reshape, (input,), shape=shape)


def view_as(input: Tensor, other: Tensor) -> Tensor:
    return view(input, other.shape)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    return reshape(input, other.shape)


def permute(input: Tensor, *dims) -> Tensor:
    """The dimensions in another order."""
    given = sizes(dims)
    order = tuple(normalize_dim(d, input.ndim) for d in given)
    if sorted(order) != list(range(input.ndim)):
        raise ValueError(f"permute: {given} is no order of the dimensions of {input.shape}")
    return apply(Permute, (input,), dims=order)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    ndim = len(input.array.shape)
    a, b = normalize_dim(dim0, ndim), normalize_dim(dim1, ndim)
    order = list(range(ndim))
    if ndim:
        order[a], order[b] = b, a
    return apply(Permute, (input,), dims=tuple(order))


swapaxes = swapdims = transpose


def t(input: Tensor) -> Tensor:
    """A matrix transposed."""
    if input.ndim > 2:
        raise ValueError(f"t: a tensor of shape {input.shape} has more than two dimensions")
    return transpose(input, 0, 1) if input.ndim == 2 else input


def movedim(input: Tensor, source: int, destination: int) -> Tensor:
    """One dimension moved to another place."""
    order = [d for d in range(input.ndim) if d != source % input.ndim]
    order.insert(destination % input.ndim, source % input.ndim)
    return permute(input, order)


moveaxis = movedim


def expand(input: Tensor, *size) -> Tensor:
    """Dimensions of size 1 repeated, without copies; -1 leaves one as it is."""
    size = sizes(size)
    new = len(size) - input.ndim
    if new < 0:
        raise ValueError(f"expand: {size} has fewer dimensions than {input.shape}")
    shape = tuple(input.shape[i - new] if n == -1 and i >= new else n for i, n in enumerate(size))
    if -1 in shape:
        raise ValueError(f"expand: -1 in {size} stands for a dimension that {input.shape} has not")
    return apply(Expand, (input,), shape=shape)


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    return expand(input, other.shape)


def broadcast_to(input: Tensor, shape) -> Tensor:
    return expand(input, shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from start_dim to end_dim made one."""
    shape = input.array.shape
    if not shape:
        return reshape(input, 1)
    first, last = normalize_dim(start_dim, len(shape)), normalize_dim(end_dim, len(shape))
    if first > last:
        raise ValueError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    if first == last:
        return input
    size = math.prod(shape[first : last + 1])
    return apply(Reshape, (input,), shape=(*shape[:first], size, *shape[last + 1 :]))


def unflatten(input: Tensor, dim: int, sizes) -> Tensor:
    """One dimension divided into several."""
    dim = normalize_dim(dim, input.ndim)
    inner = resolve_shape(tuple(sizes), input.shape[dim])
    return reshape(input, (*input.shape[:dim], *inner, *input.shape[dim + 1 :]))


def squeeze(input: Tensor, dim=None) -> Tensor:
    """Without the dimensions of size 1, or without those named that have size 1."""
    dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    gone = {normalize_dim(d, input.ndim) for d in dims}
    shape = tuple(n for i, n in enumerate(input.shape) if i not in gone or n != 1)
    return apply(Reshape, (input,), shape=shape)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a new dimension of size 1 at `dim`."""
    dim = normalize_dim(dim, input.ndim + 1)
    return apply(Reshape, (input,), shape=(*input.shape[:dim], 1, *input.shape[dim:]))


def ravel(input: Tensor) -> Tensor:
    return flatten(input)


def contiguous(input: Tensor, memory_format=None) -> Tensor:
    """A row-major copy; itself where it is row-major already."""
    return input if input.is_contiguous() else input.clone()
