"""Other shapes of the same elements. These move nothing: the result looks at the input's memory.

Only `reshape` may have to copy, where the elements do not lie in memory in the order asked for.
"""

from __future__ import annotations

import math

import numpy as np

from proflab.creation import as_tensor
from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.convert import to_dtype
from proflab.shapes import Shape, broadcast, contiguous_strides, normalize_dim, unbroadcast
from proflab.tensor import Tensor
from proflab.tensor_methods import give_property, method, write_into

__all__ = [
    "broadcast_to", "flatten", "moveaxis", "movedim", "permute", "ravel", "reshape", "squeeze",
    "swapaxes", "swapdims", "t", "transpose", "unflatten", "unsqueeze",
]  # fmt: skip


def _resolve_shape(shape: Shape, size: int) -> Shape:
    """Return a shape that has to hold `size` elements, with its one -1 replaced."""
    if -1 not in shape:
        if math.prod(shape) != size:
            raise ValueError(f"{size} elements do not fit the shape {shape}")
        return shape
    known = math.prod(n for n in shape if n != -1)
    if shape.count(-1) > 1 or known == 0 or size % known:
        raise ValueError(f"{size} elements do not fit the shape {shape}")
    return tuple(size // known if n == -1 else n for n in shape)


def _view_strides(array: MetaArray, shape: Shape) -> Shape | None:
    """Return strides by which `array` can be seen as `shape` without a copy; None if it cannot."""
    itemsize = array.dtype.itemsize
    if array.is_contiguous or array.size == 0:
        return contiguous_strides(shape, itemsize)
    old = [(n, s) for n, s in zip(array.shape, array.strides, strict=True) if n != 1]
    # As numpy decides it: dimensions that lie evenly in each other are one run, which may be cut
    # anew. A meta tensor has to say of a reshape what numpy does, a view or a copy.
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


@register
class _Reshape(Op):
    name = "reshape"
    view = True

    def shape(self, input, shape):
        shape = _resolve_shape(shape, input.size)
        strides = _view_strides(input, shape) if type(input) is MetaArray else None
        if strides is None:
            return MetaArray(shape, input.dtype)
        return input.view(shape, unless_contiguous(strides, shape, input.dtype.itemsize))

    def forward(self, input, shape):
        return input.reshape(shape)

    def backward(self, node, grad, shape):
        # grad: the new shape → the old shape
        return (grad.reshape(node.shape(0)),)


@register
class _Permute(Op):
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
        # grad: the new order → the old order
        return (grad.transpose([dims.index(i) for i in range(len(dims))]),)


@register
class _Expand(Op):
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
        # grad: the new shape → the old shape
        return (unbroadcast(grad, node.shape(0)),)


def unless_contiguous(strides, shape, itemsize):
    """Return the strides; None, which stands for contiguous, if they are a row-major array's."""
    expected = contiguous_strides(shape, itemsize)
    same = all(s == e or n == 1 for s, e, n in zip(strides, expected, shape, strict=True))
    return None if same or 0 in shape else strides


def sizes(arguments: tuple) -> tuple[int, ...]:
    """Return sizes given one by one, or as one tuple, as a tuple."""
    if len(arguments) == 1 and not hasattr(arguments[0], "__index__"):
        arguments = tuple(arguments[0])
    return tuple([int(n) for n in arguments])


@method
def reshape(input: Tensor, *shape) -> Tensor:
    """Return the elements in another shape; one size may be -1. A view where it can be one."""
    return apply(_Reshape, (input,), shape=sizes(shape))


@method
def view(input: Tensor, *shape) -> Tensor:
    """Return what reshape returns; ValueError where that would have to copy."""
    shape = sizes(shape)
    if not input.is_contiguous():
        array = input.array
        layout = MetaArray(array.shape, array.dtype, array.strides)
        if _view_strides(layout, _resolve_shape(shape, array.size)) is None:
            raise ValueError(
                f"view: a tensor of shape {input.shape} with strides {array.strides} cannot be "
                f"seen as {shape} without a copy: use reshape"
            )
    return apply(_Reshape, (input,), shape=shape)


@method
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """Return a view in the shape of another tensor."""
    return view(input, other.shape)


@method
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the elements in the shape of another tensor."""
    return reshape(input, other.shape)


@method
def permute(input: Tensor, *dims) -> Tensor:
    """Return a view with the dimensions in another order: permute(2, 0, 1) or ((2, 0, 1))."""
    given = sizes(dims)
    order = tuple(normalize_dim(d, input.ndim) for d in given)
    if sorted(order) != list(range(input.ndim)):
        raise ValueError(f"permute: {given} is no order of the dimensions of {input.shape}")
    return apply(_Permute, (input,), dims=order)


@method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return a view with two dimensions exchanged."""
    ndim = len(input.array.shape)
    a, b = normalize_dim(dim0, ndim), normalize_dim(dim1, ndim)
    order = list(range(ndim))
    if ndim:
        order[a], order[b] = b, a
    return apply(_Permute, (input,), dims=tuple(order))


swapaxes, swapdims = method(transpose, "swapaxes"), method(transpose, "swapdims")


@method
def t(input: Tensor) -> Tensor:
    """Return a matrix transposed, as a view; ValueError for more than two dimensions."""
    if input.ndim > 2:
        raise ValueError(f"t: a tensor of shape {input.shape} has more than two dimensions")
    return transpose(input, 0, 1) if input.ndim == 2 else input


@method
def movedim(input: Tensor, source: int, destination: int) -> Tensor:
    """Return a view with one dimension moved to another place."""
    source, destination = (normalize_dim(d, input.ndim) for d in (source, destination))
    order = [d for d in range(input.ndim) if d != source]
    order.insert(destination, source)
    return permute(input, order)


moveaxis = method(movedim, "moveaxis")


@method
def expand(input: Tensor, *size) -> Tensor:
    """Return a view with dimensions of size 1 repeated; -1 leaves one as it is."""
    size = sizes(size)
    new = len(size) - input.ndim
    if new < 0:
        raise ValueError(f"expand: {size} has fewer dimensions than {input.shape}")
    shape = tuple(input.shape[i - new] if n == -1 and i >= new else n for i, n in enumerate(size))
    if -1 in shape:
        raise ValueError(f"expand: -1 in {size} stands for a dimension that {input.shape} has not")
    return apply(_Expand, (input,), shape=shape)


@method
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Return a view expanded to the shape of another tensor."""
    return expand(input, other.shape)


@method
def broadcast_to(input: Tensor, shape) -> Tensor:
    """Return a view expanded to a shape."""
    return expand(input, shape)


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Return the dimensions from start_dim to end_dim made one."""
    shape = input.array.shape
    if not shape:
        return reshape(input, 1)
    first, last = normalize_dim(start_dim, len(shape)), normalize_dim(end_dim, len(shape))
    if first > last:
        raise ValueError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    if first == last:
        return input
    size = math.prod(shape[first : last + 1])
    return apply(_Reshape, (input,), shape=(*shape[:first], size, *shape[last + 1 :]))


@method
def unflatten(input: Tensor, dim: int, sizes) -> Tensor:
    """Return one dimension divided into several; one of `sizes` may be -1."""
    dim = normalize_dim(dim, input.ndim)
    inner = _resolve_shape(tuple(sizes), input.shape[dim])
    return reshape(input, (*input.shape[:dim], *inner, *input.shape[dim + 1 :]))


@method
def squeeze(input: Tensor, dim=None) -> Tensor:
    """Return a view without the dimensions of size 1, or without those named that have size 1."""
    dims = range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    gone = {normalize_dim(d, input.ndim) for d in dims}
    shape = tuple(n for i, n in enumerate(input.shape) if i not in gone or n != 1)
    return apply(_Reshape, (input,), shape=shape)


@method
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Return a view with a new dimension of size 1 at `dim`."""
    dim = normalize_dim(dim, input.ndim + 1)
    return apply(_Reshape, (input,), shape=(*input.shape[:dim], 1, *input.shape[dim:]))


@method
def ravel(input: Tensor) -> Tensor:
    """Return all elements in one dimension."""
    return flatten(input)


@method
def contiguous(input: Tensor, memory_format=None) -> Tensor:
    """Return a row-major copy; the tensor itself where it is row-major already."""
    return input if input.is_contiguous() else input.clone()


@method
def copy_(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the elements of `src`, which may have to be expanded, into this tensor."""
    src = to_dtype(as_tensor(src), input.dtype)
    return write_into(input, src if src.shape == input.shape else expand(src, input.shape), "copy_")


def _transposed(input: Tensor) -> Tensor:
    """Return a view with the dimensions in reverse order."""
    return permute(input, *reversed(range(input.ndim)))


def _matrix_transposed(input: Tensor) -> Tensor:
    """Return a view with the last two dimensions exchanged."""
    return transpose(input, -2, -1)


give_property("T", _transposed)
give_property("mT", _matrix_transposed)
