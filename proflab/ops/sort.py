"""Order: the places of sorted elements, the k largest, the largest with its place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.indexing import gather
from proflab.ops.reduce import amax, amin, argmax, argmin
from proflab.ops.views import reshape
from proflab.ops.where import maximum, minimum
from proflab.shapes import normalize_dim
from proflab.tensor import Tensor, int64
from proflab.tensor_methods import method

__all__ = ["argsort", "max", "min", "sort", "topk"]


@register
class _Argsort(Op):
    """The places of the elements, in order; equal ones keep theirs"""

    name = "argsort"

    def shape(self, input, dim, descending):
        return MetaArray(input.shape, int64)

    def forward(self, input, dim, descending):
        if descending:  # sorted back to front and read so, too: of equal ones the first stays first
            back = np.argsort(np.flip(input, dim), axis=dim, kind="stable")
            return (input.shape[dim] - 1 - np.flip(back, dim)).astype(int64, copy=False)
        return np.argsort(input, axis=dim, kind="stable").astype(int64, copy=False)


class Ranked(NamedTuple):
    """Result of max, min, sort and topk: the elements, and the indices they came from."""

    values: Tensor
    indices: Tensor


@method
def argsort(input: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Return the places of the elements in order along `dim`, int64; equal ones keep theirs."""
    return apply(_Argsort, (input,), dim=normalize_dim(dim, input.ndim), descending=descending)


@method
def sort(input: Tensor, dim: int = -1, descending: bool = False) -> Ranked:
    """Return (values, indices), in order along a dimension."""
    order = argsort(input, dim, descending)
    return Ranked(gather(input, dim, order), order)


@method
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True) -> Ranked:
    """Return (values, indices) of the k largest, or smallest, along a dimension."""
    dim = normalize_dim(dim, input.ndim)
    if not 0 <= k <= input.shape[dim]:
        raise ValueError(f"topk: {k} of the {input.shape[dim]} in dimension {dim}")
    order = argsort(input, dim, largest)[(slice(None),) * dim + (slice(0, k),)]
    return Ranked(gather(input, dim, order), order)


def _pick(input: Tensor, dim, keepdim: bool, place, best, pairwise) -> Tensor | Ranked:
    """Return torch's max or min: of all, along a dimension with places, or of two tensors."""
    if dim is None:
        return best(input)
    if isinstance(dim, Tensor):
        return pairwise(input, dim)
    places = place(input, dim, True)
    values = gather(input, dim, places)
    if keepdim:
        return Ranked(values, places)
    shape = [n for i, n in enumerate(input.shape) if i != normalize_dim(dim, input.ndim)]
    return Ranked(reshape(values, shape), reshape(places, shape))


@method
def max(input: Tensor, dim=None, keepdim: bool = False) -> Tensor | Ranked:
    """Return the largest; with dim, (values, indices); with a tensor, the larger of each two."""
    return _pick(input, dim, keepdim, argmax, amax, maximum)


@method
def min(input: Tensor, dim=None, keepdim: bool = False) -> Tensor | Ranked:
    """Return the smallest; with dim, (values, indices); with a tensor, the smaller of each two."""
    return _pick(input, dim, keepdim, argmin, amin, minimum)
