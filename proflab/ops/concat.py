"""Putting tensors together and taking them apart; repeating, triangles, reversing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.convert import clone, to_dtype
from proflab.ops.indexing import getitem
from proflab.ops.views import (
    expand,
    permute,
    reshape,
    sizes,
    squeeze,
    unless_contiguous,
    unsqueeze,
)
from proflab.shapes import normalize_dim
from proflab.tensor import Tensor
from proflab.tensor_methods import in_place, method, operator

__all__ = [
    "cat", "chunk", "concat", "concatenate", "flip", "hstack", "meshgrid", "narrow",
    "repeat_interleave", "roll", "select", "split", "stack", "tile", "tril", "triu", "unbind",
    "vstack",
]  # fmt: skip


def _cut(dim: int, start: int, stop: int) -> tuple:
    """Return an index that takes start:stop of one dimension, and all of the others."""
    return (slice(None),) * dim + (slice(start, stop),)


@register
class _Cat(Op):
    """Tensors one after the other along a dimension"""

    name = "cat"

    def shape(self, *inputs, dim):
        first = inputs[0].shape
        total = 0
        for array in inputs:
            rest = (*first[:dim], array.shape[dim] if len(array.shape) > dim else 0)
            if array.shape != (*rest, *first[dim + 1 :]):
                raise ValueError(f"the shapes differ in more than dimension {dim}")
            total += array.shape[dim]
        return MetaArray((*first[:dim], total, *first[dim + 1 :]), inputs[0].dtype)

    def forward(self, *inputs, dim):
        return np.concatenate(inputs, axis=dim)

    def backward(self, node, grad, dim):
        # grad: (…, n1 + n2 + …, …) → (…, n1, …), (…, n2, …), …
        grads, start = [], 0
        for (shape, _), need in zip(node.specs, node.need, strict=True):
            stop = start + shape[dim]
            grads.append(grad[_cut(dim, start, stop)] if need else None)
            start = stop
        return tuple(grads)


@register
class _Split(Op):
    """Pieces of the given sizes along a dimension, as views"""

    name = "split"
    view = True
    many = True

    def shape(self, input, sizes, dim):
        if sum(sizes) != input.shape[dim]:
            raise ValueError(f"the sizes {sizes} do not add up to dimension {dim}")
        shape, strides, itemsize = input.shape, input.strides, input.dtype.itemsize
        pieces = []
        for n in sizes:
            piece = (*shape[:dim], n, *shape[dim + 1 :])
            pieces.append(input.view(piece, unless_contiguous(strides, piece, itemsize)))
        return pieces

    def forward(self, input, sizes, dim):
        if sum(sizes) != input.shape[dim]:
            raise ValueError(f"the sizes {sizes} do not add up to dimension {dim}")
        stops = np.cumsum(sizes, dtype=np.int64).tolist()
        return [input[_cut(dim, b - n, b)] for n, b in zip(sizes, stops, strict=True)]

    def backward(self, node, grad, sizes, dim):
        # grad: a list of (…, n1, …), (…, n2, …), …, None for some → (…, n1 + n2 + …, …)
        pieces = [
            np.zeros(shape, dtype) if g is None else g
            for g, (shape, dtype) in zip(grad, node.outputs, strict=True)
        ]
        return (np.concatenate(pieces, axis=dim),)


class _Triangle(Op):
    function: Callable[[np.ndarray, int], np.ndarray]

    def shape(self, input, diagonal):
        if len(input.shape) < 2:
            raise ValueError("a triangle needs two dimensions")
        return MetaArray(input.shape, input.dtype)

    def forward(self, input, diagonal):
        return self.function(input, diagonal)

    def backward(self, node, grad, diagonal):
        # grad: (…, n, m) → (…, n, m)
        return (self.function(grad, diagonal),)


@register
class _Tril(_Triangle):
    """Keep the elements on and below a diagonal; zero the rest"""

    name = "tril"
    function = staticmethod(np.tril)


@register
class _Triu(_Triangle):
    """Keep the elements on and above a diagonal; zero the rest"""

    name = "triu"
    function = staticmethod(np.triu)


@register
class _Flip(Op):
    """The order along some dimensions reversed"""

    name = "flip"

    def shape(self, input, dims):
        return MetaArray(input.shape, input.dtype)

    def forward(self, input, dims):
        # Where the dimension has size 1 the view is contiguous: it would hand out input's memory.
        return np.flip(input, dims).copy()

    def backward(self, node, grad, dims):
        # grad: (…) → (…)
        return (np.flip(grad, dims),)


@register
class _Roll(Op):
    """Elements moved along some dimensions; what leaves at one end enters at the other"""

    name = "roll"

    def shape(self, input, shifts, dims):
        return MetaArray(input.shape, input.dtype)

    def forward(self, input, shifts, dims):
        return np.roll(input, shifts, dims)

    def backward(self, node, grad, shifts, dims):
        # grad: (…) → (…)
        return (np.roll(grad, tuple(-s for s in shifts), dims),)


def _one_dtype(tensors) -> tuple[Tensor, ...]:
    tensors = tuple(tensors)
    if not tensors:
        raise ValueError("cat: there are no tensors to put together")
    dtype = np.result_type(*[x.dtype for x in tensors])
    return tuple(to_dtype(x, dtype) for x in tensors)


def cat(tensors, dim: int = 0) -> Tensor:
    """Return tensors one after the other along a dimension that exists; only it may differ."""
    tensors = _one_dtype(tensors)
    return apply(_Cat, tensors, dim=normalize_dim(dim, max(x.ndim for x in tensors)))


concat = concatenate = cat


def stack(tensors, dim: int = 0) -> Tensor:
    """Return tensors of one shape side by side along a new dimension."""
    tensors = tuple(tensors)
    if len({x.shape for x in tensors}) > 1:
        raise ValueError(f"stack: the shapes {[x.shape for x in tensors]} are not all the same")
    return cat([unsqueeze(x, dim) for x in tensors], dim)


def hstack(tensors) -> Tensor:
    """Return tensors side by side: along dimension 1, or 0 for vectors."""
    tensors = [t.reshape(1) if t.ndim == 0 else t for t in tensors]
    return cat(tensors, 0 if not tensors or tensors[0].ndim == 1 else 1)


def vstack(tensors) -> Tensor:
    """Return tensors one above the other: along dimension 0, vectors as rows."""
    return cat([t.reshape(1, -1) if t.ndim < 2 else t for t in tensors], 0)


@method
def split(tensor: Tensor, split_size_or_sections, dim: int = 0) -> tuple[Tensor, ...]:
    """Return pieces of one size (the last may be smaller), or of the given sizes, as views."""
    dim = normalize_dim(dim, tensor.ndim)
    n, pieces = tensor.shape[dim], split_size_or_sections
    if isinstance(pieces, int):
        if pieces <= 0:
            raise ValueError(f"split: pieces of {pieces} of a tensor of shape {tensor.shape}")
        whole, rest = divmod(n, pieces)
        pieces = [pieces] * whole + [rest] * (rest > 0 or n == 0)
    return apply(_Split, (tensor,), sizes=tuple(pieces), dim=dim)


@method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Return at most `chunks` pieces of equal size as views, the last one smaller if need be."""
    if chunks <= 0:
        raise ValueError(f"chunk: {chunks} pieces of a tensor of shape {input.shape}")
    n = input.shape[normalize_dim(dim, input.ndim)]
    return split(input, max(1, -(-n // chunks)), dim)


@method
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return the slices along a dimension, which is gone, as views."""
    dim = normalize_dim(dim, input.ndim)
    if not input.shape[dim]:
        return ()
    return tuple(squeeze(piece, dim) for piece in split(input, 1, dim))


@operator("__iter__")
def _iter(input: Tensor) -> Iterator[Tensor]:
    return iter(unbind(input, 0)) if len(input) else iter(())  # len refuses a scalar


@method
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return start : start + length along one dimension, as a view."""
    return getitem(input, _cut(normalize_dim(dim, input.ndim), start, start + length))


@method
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return one slice along a dimension, which is gone, as a view."""
    return getitem(input, (slice(None),) * normalize_dim(dim, input.ndim) + (index,))


@in_place
@method
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the lower triangle of the last two dimensions, zeros elsewhere."""
    return apply(_Tril, (input,), diagonal=diagonal)


@in_place
@method
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the upper triangle of the last two dimensions, zeros elsewhere."""
    return apply(_Triu, (input,), diagonal=diagonal)


@method
def flip(input: Tensor, *dims) -> Tensor:
    """Return a copy with the order along some dimensions reversed."""
    return apply(_Flip, (input,), dims=tuple(normalize_dim(d, input.ndim) for d in sizes(dims)))


@method
def roll(input: Tensor, shifts, dims=None) -> Tensor:
    """Return elements moved by `shifts` along `dims`; without dims, in the flattened tensor."""
    if dims is None:
        return reshape(roll(reshape(input, -1), shifts, 0), input.shape)
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    return apply(_Roll, (input,), shifts=shifts, dims=dims)


@method
def repeat(input: Tensor, *repeats) -> Tensor:
    """Return copies of the whole tensor along each dimension: (a, b) to (m·a, n·b)."""
    counts = sizes(repeats)
    if len(counts) < input.ndim:
        raise ValueError(f"repeat: {counts} has fewer dimensions than {input.shape}")
    shape = (1,) * (len(counts) - input.ndim) + input.shape
    # Each dimension n becomes (count, n), by a view; making it one of count · n copies.
    pairs = [m for n in shape for m in (1, n)]
    grown = [m for c, n in zip(counts, shape, strict=True) for m in (c, n)]
    final = tuple(c * n for c, n in zip(counts, shape, strict=True))
    out = reshape(expand(reshape(input, pairs), grown), final)
    return clone(out) if set(counts) <= {1} else out  # never a view: it may be written to


tile = method(repeat, "tile")


@method
def repeat_interleave(input: Tensor, repeats: int, dim: int | None = None) -> Tensor:
    """Return each element `repeats` times in a row, along `dim` or in the flattened tensor."""
    if dim is None:
        input, dim = reshape(input, -1), 0
    dim = normalize_dim(dim, input.ndim)
    shape = list(input.shape)
    grown = [*shape[: dim + 1], repeats, *shape[dim + 1 :]]
    shape[dim] *= repeats
    out = reshape(expand(unsqueeze(input, dim + 1), grown), shape)
    return clone(out) if repeats == 1 else out


def meshgrid(*tensors: Tensor, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Return the coordinates of a grid from those of its axes; indexing "ij" or "xy"."""
    if indexing not in ("ij", "xy"):
        raise ValueError(f"meshgrid: indexing is {indexing!r}, neither 'ij' nor 'xy'")
    tensors = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    shape = [x.numel() for x in tensors]
    grids = [
        expand(reshape(x, [-1 if i == j else 1 for j in range(len(shape))]), shape)
        for i, x in enumerate(tensors)
    ]
    if indexing == "xy":
        order = [1, 0, *range(2, len(shape))]
        grids = [permute(g, order) for g in grids]
    return tuple(grids)
