"""Elements by their places: slices, gather, scatter, writing into a tensor."""

from __future__ import annotations

from types import EllipsisType

import numpy as np

from proflab import dispatch, graph
from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.convert import to_dtype
from proflab.ops.views import unless_contiguous
from proflab.shapes import broadcast, normalize_dim, unbroadcast
from proflab.tensor import Tensor, bool_, wrap
from proflab.tensor_methods import become, check_writable, in_place, method, operator

__all__ = [
    "gather", "index_select", "masked_select", "nonzero", "scatter", "scatter_add",
]  # fmt: skip


@register
class _Slice(Op):
    """Integers, slices, None and …: a view"""

    name = "getitem"
    view = True

    def shape(self, input, index):
        # numpy works out shape and strides of a view without touching memory, so one that points
        # nowhere will do.
        looks = np.lib.stride_tricks.as_strided(
            np.empty(1, input.dtype), input.shape, input.strides
        )[_with_ellipsis(index)]
        strides = unless_contiguous(looks.strides, looks.shape, input.dtype.itemsize)
        return input.view(looks.shape, strides)

    def forward(self, input, index):
        return input[_with_ellipsis(index)]

    def backward(self, node, grad, index):
        # grad: what the index selects → the input's shape, zero elsewhere
        out = np.zeros(node.shape(0), grad.dtype)
        out[index] = grad  # a slice takes no element twice, as an index of tensors may (`_Index`)
        return (out,)


def _with_ellipsis(index: tuple) -> tuple:
    """Return the index with a … in it, without which numpy turns one element into a copy."""
    return index if any(part is ... for part in index) else (*index, ...)


def _merge(index: tuple, arrays: tuple) -> tuple:
    """Return an index with its tensors, in order, in the places held free by True."""
    left = iter(arrays)
    return tuple(next(left) if part is True else part for part in index)


@register
class _Index(Op):
    """Integers or booleans in tensors among the indices: a copy"""

    name = "index"

    def shape(self, input, *tensors, index):
        if any(t.dtype == bool_ for t in tensors):
            raise ValueError("how many elements a boolean index selects depends on data")
        chosen = broadcast(*[t.shape for t in tensors])
        shape: list[int | None] = []
        places: list[int] = []
        dim = 0
        for part in _expand_ellipsis(index, len(input.shape)):
            if part is None:
                shape.append(1)
            elif part is True or isinstance(part, int):
                places.append(len(shape))
                shape.append(None)
                dim += 1
            else:
                shape.append(len(range(*part.indices(input.shape[dim]))))
                dim += 1
        # Together the tensors stand where the first did, or in front if a slice divides them.
        together = places == list(range(places[0], places[0] + len(places)))
        at = places[0] if together else 0
        rest = [n for n in shape if n is not None]
        at = len([n for n in shape[:at] if n is not None])
        return MetaArray((*rest[:at], *chosen, *rest[at:]), input.dtype)

    def forward(self, input, *tensors, index):
        return input[_merge(index, tensors)]

    def save_for_backward(self, need, out, input, *tensors, index):
        return tensors

    def backward(self, node, grad, index):
        # grad: what the index selects · index tensors → the input's shape, None for each tensor
        out = np.zeros(node.shape(0), grad.dtype)
        np.add.at(out, _merge(index, node.saved), grad)
        return (out, *(None,) * (len(node.need) - 1))


@register
class _IndexPut(Op):
    """A copy of the input with some elements replaced"""

    name = "index_put"

    def shape(self, input, value, *tensors, index):
        return MetaArray(input.shape, input.dtype)

    def forward(self, input, value, *tensors, index):
        out = input.copy()
        out[_merge(index, tensors)] = value
        return out

    def save_for_backward(self, need, out, input, value, *tensors, index):
        return tensors

    def backward(self, node, grad, index):
        # grad: (…) · index tensors → (…), the value's shape, None for each tensor
        index = _merge(index, node.saved)
        grads: list[np.ndarray | None] = [None] * len(node.need)
        if node.need[0]:
            others = grad.copy()
            others[index] = 0
            grads[0] = others
        if node.need[1]:
            grads[1] = unbroadcast(grad[index], node.shape(1))
        return tuple(grads)


def _expand_ellipsis(index: tuple, ndim: int) -> tuple:
    used = sum(part is not None and part is not ... for part in index)
    if used > ndim:
        raise ValueError(f"{used} indices for {ndim} dimensions")
    at = index.index(...) if ... in index else len(index)
    return (*index[:at], *(slice(None),) * (ndim - used), *index[at + 1 :])


def _parse(index) -> tuple[tuple, tuple[Tensor, ...]]:
    """Return the index with True in the place of each tensor, and the tensors."""
    parts: list[bool | int | slice | EllipsisType | None] = []
    tensors: list[Tensor] = []
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, (list, np.ndarray)):
            part = Tensor(part)
        # A tensor of one number is an int, by `__index__` below, unless nobody knows which.
        if isinstance(part, Tensor) and (part.ndim or part.is_meta):
            if part.dtype.kind not in "iub":
                raise TypeError(f"getitem: a {part.dtype} tensor of shape {part.shape} is no index")
            parts.append(True)
            tensors.append(part)
        elif isinstance(part, slice):
            ends = part.start, part.stop, part.step
            parts.append(slice(*(None if n is None else int(n) for n in ends)))
        elif part is None or part is ...:
            parts.append(part)
        elif isinstance(part, (bool, np.bool_)):
            raise TypeError("getitem: a single True or False is no index")
        elif hasattr(part, "__index__"):
            parts.append(part.__index__())
        else:
            raise TypeError(f"getitem: {part!r} is no index")
    return tuple(parts), tuple(tensors)


@operator("__getitem__")
def getitem(input: Tensor, index) -> Tensor:
    """Return input[index]: integers and slices give a view, tensors among them a copy."""
    index, tensors = _parse(index)
    if tensors:
        return apply(_Index, (input, *tensors), index=index)
    return apply(_Slice, (input,), index=index)


@operator("__setitem__")
def _setitem(input: Tensor, index, value) -> None:
    """Set input[index] = value, in place; RuntimeError for a leaf that requires a gradient."""
    index, tensors = _parse(index)
    if not isinstance(value, Tensor):
        value = Tensor(value, dtype=input.dtype)
    if graph.enabled and (input.requires_grad or value.requires_grad):
        check_writable(input, "setitem")
        value = to_dtype(value, input.dtype)
        become(input, apply(_IndexPut, (input, value, *tensors), index=index))
    elif dispatch.tracer:
        value = to_dtype(value, input.dtype)
        if tensors:  # a tape writes into views alone (lesson/race/tape.py): the whole is written
            changed = apply(_IndexPut, (input, value, *tensors), index=index)
            dispatch.tracer.write(input, changed)
        else:
            dispatch.tracer.write(apply(_Slice, (input,), index=index), value)
    elif isinstance(input.array, np.ndarray):
        if value.is_meta:
            raise RuntimeError(f"setitem: a meta tensor of shape {value.shape} has no data")
        input.array[_merge(index, tuple(t.array for t in tensors))] = value.array


@register
class _Gather(Op):
    """For each place in `index`, the element of the input with that number along `dim`"""

    name = "gather"

    def shape(self, input, index, dim):
        if index.dtype.kind not in "iu":
            raise TypeError(f"the index is {index.dtype}, not of integers")
        if len(index.shape) != len(input.shape):
            raise ValueError("the index has not as many dimensions as the input")
        return MetaArray(index.shape, input.dtype)

    def forward(self, input, index, dim):
        if index.ndim != input.ndim:
            raise ValueError("the index has not as many dimensions as the input")
        return input[_grid(index, dim)]

    def save_for_backward(self, need, out, input, index, dim):
        return (index,)

    def backward(self, node, grad, dim):
        # grad, index: (…, k, …) → the input's shape (…, n, …), None
        (index,) = node.saved
        out = np.zeros(node.shape(0), grad.dtype)
        np.add.at(out, _grid(index, dim), grad)
        return out, None


@register
class _ScatterAdd(Op):
    """A copy of the input to which each element of `src` is added at its place along `dim`"""

    name = "scatter_add"

    def shape(self, input, index, src, dim):
        return MetaArray(input.shape, input.dtype)

    def forward(self, input, index, src, dim):
        out = input.copy()
        np.add.at(out, _grid(index, dim), src[tuple(map(slice, index.shape))])
        return out

    def save_for_backward(self, need, out, input, index, src, dim):
        return (index,)

    def backward(self, node, grad, dim):
        # grad: (…, n, …) · index: (…, k, …) → (…, n, …), None, src's shape
        (index,) = node.saved
        shape = node.shape(2)
        src = None
        if node.need[2]:
            src = np.zeros(shape, grad.dtype)
            src[tuple(map(slice, index.shape))] = grad[_grid(index, dim)]
        return grad, None, src


def _grid(index: np.ndarray, dim: int) -> tuple:
    """Return a full index: `index` along dim, and its own place along all others."""
    grid = list(np.ogrid[tuple(map(slice, index.shape))]) if index.ndim else []
    grid[dim] = index
    return tuple(grid)


@register
class _Nonzero(Op):
    name = "nonzero"

    def shape(self, input):
        raise ValueError("how many elements are not zero depends on data")

    def forward(self, input):
        return np.stack(np.nonzero(input), axis=1).astype(np.int64, copy=False)


@method
def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return, for each place of `index`, the element of `input` with that number along `dim`."""
    return apply(_Gather, (input, index), dim=normalize_dim(dim, input.ndim))


@in_place
@method
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return a copy to which each element of `src` is added at place `index` along `dim`."""
    return apply(_ScatterAdd, (input, index, src), dim=normalize_dim(dim, input.ndim))


@in_place
@method
def scatter(input: Tensor, dim: int, index: Tensor, src) -> Tensor:
    """Return a copy with elements replaced by those of `src`, or a number, along `dim`."""
    dim = normalize_dim(dim, input.ndim)
    grid = [
        wrap(np.arange(n, dtype=np.int64).reshape([-1 if i == d else 1 for i in range(input.ndim)]))
        for d, n in enumerate(index.shape)
    ]
    grid[dim] = index
    if not isinstance(src, Tensor):
        src = wrap(np.asarray(src, input.dtype))
    elif src.shape != index.shape:
        src = src[tuple(slice(n) for n in index.shape)]
    places = (True,) * input.ndim
    return apply(_IndexPut, (input, to_dtype(src, input.dtype), *grid), index=places)


@method
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the slices along `dim` whose numbers stand in `index`."""
    return getitem(input, (slice(None),) * normalize_dim(dim, input.ndim) + (index,))


@method
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements at which the mask is True, in one dimension."""
    return getitem(input, mask)


@method
def nonzero(input: Tensor) -> Tensor:
    """Return the places of all elements that are not zero: (number, dimensions), int64."""
    return apply(_Nonzero, (input,))
