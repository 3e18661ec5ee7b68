"""Fewer numbers from many: sum, mean, largest, variance, running sums, places of the largest."""

from __future__ import annotations

import math

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.convert import to_dtype
from proflab.ops.pointwise import sqrt
from proflab.shapes import normalize_dim
from proflab.tensor import Tensor, bool_, int64
from proflab.tensor_methods import method

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "cumsum", "logsumexp", "mean", "norm",
    "prod", "std", "sum", "var",
]  # fmt: skip


def _reduced(shape: tuple, dim: tuple | None, keepdim: bool) -> tuple:
    """Return what is left of a shape after the dimensions `dim` (None: all) were reduced."""
    gone = set(range(len(shape))) if dim is None else {normalize_dim(d, len(shape)) for d in dim}
    if keepdim:
        return tuple(1 if i in gone else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in gone)


def _spread(grad: np.ndarray, shape: tuple, dim: tuple | None, keepdim: bool) -> np.ndarray:
    """Return a reduction's gradient, seen in the shape that was reduced."""
    if not keepdim:
        grad = grad.reshape(_reduced(shape, dim, True))
    return np.broadcast_to(grad, shape)


def _count(input: np.ndarray, result: np.ndarray) -> int:
    """Return how many elements went into each of the result's."""
    return input.size // max(1, result.size)


class _Reduction(Op):
    def shape(self, input, dim, keepdim):
        return MetaArray(_reduced(input.shape, dim, keepdim), input.dtype)


@register
class _Sum(_Reduction):
    name = "sum"

    def forward(self, input, dim, keepdim):
        return input.sum(axis=dim, keepdims=keepdim, dtype=input.dtype)

    def backward(self, node, grad, dim, keepdim):
        # grad: the shape without `dim` → the input's shape
        return (_spread(grad, node.shape(0), dim, keepdim),)


@register
class _Mean(_Reduction):
    name = "mean"
    suppress_warnings = True

    def forward(self, input, dim, keepdim):
        total = input.sum(axis=dim, keepdims=keepdim, dtype=input.dtype)
        return total / _count(input, total)

    def backward(self, node, grad, dim, keepdim):
        # grad: the shape without `dim` → the input's shape
        shape = node.shape(0)
        count = math.prod(shape) // max(1, grad.size)
        return (_spread(grad / max(1, count), shape, dim, keepdim),)


@register
class _Prod(_Reduction):
    name = "prod"

    def forward(self, input, dim, keepdim):
        return input.prod(axis=dim, keepdims=keepdim, dtype=input.dtype)

    def save_for_backward(self, need, out, input, dim, keepdim):
        return (input,)

    def backward(self, node, grad, dim, keepdim):
        # grad: the shape without `dim` · input: its shape → the input's shape
        (input,) = node.saved
        if not input.size:
            return (np.zeros_like(input),)
        # The product of all others, from both sides, so that a zero does no harm.
        flat = input.reshape(1, -1) if dim is None else np.moveaxis(input, dim[0], -1)
        one = np.ones((*flat.shape[:-1], 1), input.dtype)
        left = np.cumprod(np.concatenate([one, flat[..., :-1]], -1), -1)
        right = np.cumprod(np.concatenate([one, flat[..., :0:-1]], -1), -1)[..., ::-1]
        others = left * right
        others = others.reshape(input.shape) if dim is None else np.moveaxis(others, -1, dim[0])
        return (_spread(grad, input.shape, dim, keepdim) * others,)


class _Extreme(_Reduction):
    """The largest or smallest; equal ones share the gradient."""

    def shape(self, input, dim, keepdim):
        if 0 in input.shape and math.prod(_reduced(input.shape, dim, False)):
            raise ValueError("there is no largest or smallest of no elements")
        return super().shape(input, dim, keepdim)

    def save_for_backward(self, need, out, input, dim, keepdim):
        return input, out

    def backward(self, node, grad, dim, keepdim):
        # grad, out: the shape without `dim` · input: its shape → the input's shape
        input, out = node.saved
        hits = input == _spread(out, input.shape, dim, keepdim)
        share = hits / hits.sum(axis=dim, keepdims=True)
        return (_spread(grad, input.shape, dim, keepdim) * share.astype(grad.dtype),)


@register
class _Amax(_Extreme):
    name = "amax"

    def forward(self, input, dim, keepdim):
        return input.max(axis=dim, keepdims=keepdim)


@register
class _Amin(_Extreme):
    name = "amin"

    def forward(self, input, dim, keepdim):
        return input.min(axis=dim, keepdims=keepdim)


@register
class _Var(_Reduction):
    """The variance; `correction` is subtracted from the number of elements"""

    name = "var"
    suppress_warnings = True

    def shape(self, input, dim, keepdim, correction=1):
        return super().shape(input, dim, keepdim)

    def forward(self, input, dim, keepdim, correction):
        centred = input - input.mean(axis=dim, keepdims=True) if input.size else input
        total = (centred * centred).sum(axis=dim, keepdims=keepdim)
        # Of one element: nan, as in torch.
        return total / total.dtype.type(max(0, _count(input, total) - correction))

    def save_for_backward(self, need, out, input, dim, keepdim, correction):
        return (input,)

    def backward(self, node, grad, dim, keepdim, correction):
        # grad: the shape without `dim` · input: its shape → the input's shape
        (input,) = node.saved
        scale = 2 / np.maximum(input.dtype.type(_count(input, grad) - correction), 0)
        slope = (input - input.mean(axis=dim, keepdims=True)) * scale if input.size else input
        return (_spread(grad, input.shape, dim, keepdim) * slope,)


@register
class _Logsumexp(_Reduction):
    name = "logsumexp"
    suppress_warnings = True

    def forward(self, input, dim, keepdim):
        top = input.max(axis=dim, keepdims=True)
        top = np.where(np.isfinite(top), top, top.dtype.type(0))  # inf - inf would be nan
        out = np.log(np.exp(input - top).sum(axis=dim, keepdims=True)) + top
        return out if keepdim else out.reshape(_reduced(input.shape, dim, False))

    def save_for_backward(self, need, out, input, dim, keepdim):
        return input, out

    def backward(self, node, grad, dim, keepdim):
        # grad, out: the shape without `dim` · input: its shape → the input's shape
        input, out = node.saved
        share = np.exp(input - _spread(out, input.shape, dim, keepdim))
        return (_spread(grad, input.shape, dim, keepdim) * share,)


@register
class _Cumsum(Op):
    """Sums of everything up to here along one dimension"""

    name = "cumsum"

    def shape(self, input, dim):
        normalize_dim(dim, len(input.shape))
        return MetaArray(input.shape, input.dtype)

    def forward(self, input, dim):
        return np.cumsum(input, axis=dim, dtype=input.dtype)

    def backward(self, node, grad, dim):
        # grad: (…) → (…); what comes later holds what came before
        return (np.flip(np.cumsum(np.flip(grad, dim), axis=dim), dim),)


class _Whether(_Reduction):
    def shape(self, input, dim, keepdim):
        return MetaArray(_reduced(input.shape, dim, keepdim), bool_)


@register
class _Any(_Whether):
    name = "any"

    def forward(self, input, dim, keepdim):
        return input.any(axis=dim, keepdims=keepdim)


@register
class _All(_Whether):
    name = "all"

    def forward(self, input, dim, keepdim):
        return input.all(axis=dim, keepdims=keepdim)


class _Place(_Reduction):
    def shape(self, input, dim, keepdim):
        return MetaArray(_reduced(input.shape, dim, keepdim), int64)


@register
class _Argmax(_Place):
    name = "argmax"

    def forward(self, input, dim, keepdim):
        place = np.argmax(input, axis=None if dim is None else dim[0], keepdims=keepdim)
        return np.asarray(place, int64)


@register
class _Argmin(_Place):
    name = "argmin"

    def forward(self, input, dim, keepdim):
        place = np.argmin(input, axis=None if dim is None else dim[0], keepdims=keepdim)
        return np.asarray(place, int64)


def _dims(dim) -> tuple | None:
    """Return dimensions as a tuple; None, or an empty one, for all."""
    if dim is None or isinstance(dim, int):
        return None if dim is None else (dim,)
    return tuple(dim) or None


def _one_dim(name: str, dim) -> tuple | None:
    """Return the one dimension that an op takes as a tuple, None for all; TypeError for several."""
    dims = _dims(dim)
    if dims is not None and len(dims) > 1:
        raise TypeError(f"{name}: takes one dimension, not {dims}")
    return dims


@method
def sum(input: Tensor, dim=None, keepdim: bool = False, *, dtype=None) -> Tensor:
    """Return the sum over some dimensions, or all. Of integers and booleans: int64.

    >>> Tensor([[1.0, 2.0], [3.0, 4.0]]).sum(0)
    Tensor([4., 6.])
    """
    if dtype is None and input.dtype.kind != "f":
        dtype = int64
    input = input if dtype is None else to_dtype(input, dtype)
    return apply(_Sum, (input,), dim=_dims(dim), keepdim=keepdim)


@method
def mean(input: Tensor, dim=None, keepdim: bool = False, *, dtype=None) -> Tensor:
    """Return the mean over some dimensions, or all; TypeError for integers."""
    input = input if dtype is None else to_dtype(input, dtype)
    if input.dtype.kind != "f":
        raise TypeError(
            f"mean: needs floating-point numbers, not {input.dtype} of shape {input.shape}"
        )
    return apply(_Mean, (input,), dim=_dims(dim), keepdim=keepdim)


@method
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the product along one dimension, or of all elements."""
    return apply(_Prod, (input,), dim=_one_dim("prod", dim), keepdim=keepdim)


@method
def amax(input: Tensor, dim=None, keepdim: bool = False) -> Tensor:
    """Return the largest along some dimensions, or of all; equal ones share the gradient."""
    return apply(_Amax, (input,), dim=_dims(dim), keepdim=keepdim)


@method
def amin(input: Tensor, dim=None, keepdim: bool = False) -> Tensor:
    """Return the smallest along some dimensions, or of all; equal ones share the gradient."""
    return apply(_Amin, (input,), dim=_dims(dim), keepdim=keepdim)


@method
def var(input: Tensor, dim=None, unbiased=None, keepdim=False, *, correction=1) -> Tensor:
    """Return the variance, over n - 1 unless `correction` (or unbiased=False) says otherwise."""
    if isinstance(dim, bool):  # torch's old form: var(unbiased)
        dim, unbiased = None, dim
    correction = correction if unbiased is None else int(unbiased)
    return apply(_Var, (input,), dim=_dims(dim), keepdim=keepdim, correction=correction)


@method
def std(input: Tensor, dim=None, unbiased=None, keepdim=False, *, correction=1) -> Tensor:
    """Return the standard deviation, the square root of `var`."""
    return sqrt(var(input, dim, unbiased, keepdim, correction=correction))


@method
def logsumexp(input: Tensor, dim, keepdim: bool = False) -> Tensor:
    """Return log(sum(exp(input))) along some dimensions, without overflow."""
    return apply(_Logsumexp, (input,), dim=_dims(dim), keepdim=keepdim)


@method
def norm(input: Tensor, p=2, dim=None, keepdim: bool = False) -> Tensor:
    """Return sum(|input| ** p) ** (1 / p) over some dimensions, or all."""
    if p in ("fro", 2):
        return sqrt(sum(input * input, dim, keepdim))
    if isinstance(p, str) or p == 0:
        raise ValueError(f"norm: p is {p!r}, neither 'fro' nor a number other than 0")
    if abs(p) == math.inf:
        return (amax if p > 0 else amin)(input.abs(), dim, keepdim)
    return sum(input.abs() ** p, dim, keepdim) ** (1 / p)


@method
def cumsum(input: Tensor, dim: int) -> Tensor:
    """Return the sums of everything up to each place along `dim`; of integers: int64."""
    return apply(_Cumsum, (input if input.dtype.kind == "f" else to_dtype(input, int64),), dim=dim)


@method
def any(input: Tensor, dim=None, keepdim: bool = False) -> Tensor:
    """Return True where any element along some dimensions, or of all, is true."""
    return apply(_Any, (input,), dim=_dims(dim), keepdim=keepdim)


@method
def all(input: Tensor, dim=None, keepdim: bool = False) -> Tensor:
    """Return True where all elements along some dimensions, or of all, are true."""
    return apply(_All, (input,), dim=_dims(dim), keepdim=keepdim)


@method
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the place of the largest (the first of equals), int64; flattened without dim."""
    return apply(_Argmax, (input,), dim=_one_dim("argmax", dim), keepdim=keepdim)


@method
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the place of the smallest (the first of equals), int64; flattened without dim."""
    return apply(_Argmin, (input,), dim=_one_dim("argmin", dim), keepdim=keepdim)
