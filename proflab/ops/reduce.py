"""Fewer numbers from many: sum, mean, largest, variance, running sums, places of the largest."""

from __future__ import annotations

import math

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.ops.arithmetic import to
from proflab.ops.pointwise import sqrt
from proflab.shapes import MetaArray, normalize_dim
from proflab.tensor import Tensor, bool_, int64


def reduced(shape: tuple, dim: tuple | None, keepdim: bool) -> tuple:
    """What is left of a shape after the dimensions `dim` (None: all) were reduced."""
    gone = set(range(len(shape))) if dim is None else {normalize_dim(d, len(shape)) for d in dim}
    if keepdim:
        return tuple(1 if i in gone else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in gone)


def spread(grad: np.ndarray, shape: tuple, dim: tuple | None, keepdim: bool) -> np.ndarray:
    """A reduction's gradient, seen in the shape that was reduced."""
    if not keepdim:
        grad = grad.reshape(reduced(shape, dim, True))
    return np.broadcast_to(grad, shape)


def _count(input: np.ndarray, result: np.ndarray) -> int:
    """How many elements went into each of the result's."""
    return input.size // max(1, result.size)


class Reduction(Op):
    def shape(self, input, dim, keepdim):
        return MetaArray(reduced(input.shape, dim, keepdim), input.dtype)


@register
class Sum(Reduction):
    name = "sum"

    def forward(self, input, dim, keepdim):
        return input.sum(axis=dim, keepdims=keepdim, dtype=input.dtype)

    def backward(self, node, grad, dim, keepdim):
        return (spread(grad, node.shape(0), dim, keepdim),)


@register
class Mean(Reduction):
    name = "mean"
    loud = True

    def forward(self, input, dim, keepdim):
        total = input.sum(axis=dim, keepdims=keepdim, dtype=input.dtype)
        return total / _count(input, total)

    def backward(self, node, grad, dim, keepdim):
        shape = node.shape(0)
        count = math.prod(shape) // max(1, grad.size)
        return (spread(grad / max(1, count), shape, dim, keepdim),)


@register
class Prod(Reduction):
    name = "prod"

    def forward(self, input, dim, keepdim):
        return input.prod(axis=dim, keepdims=keepdim, dtype=input.dtype)

    def keep(self, need, out, input, dim, keepdim):
        return (input,)

    def backward(self, node, grad, dim, keepdim):
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
        return (spread(grad, input.shape, dim, keepdim) * others,)


class Extreme(Reduction):
    """The largest or smallest; equal ones share the gradient."""

    def shape(self, input, dim, keepdim):
        if 0 in input.shape and math.prod(reduced(input.shape, dim, False)):
            raise ValueError("there is no largest or smallest of no elements")
        return super().shape(input, dim, keepdim)

    def keep(self, need, out, input, dim, keepdim):
        return input, out

    def backward(self, node, grad, dim, keepdim):
        input, out = node.saved
        hits = input == spread(out, input.shape, dim, keepdim)
        share = hits / hits.sum(axis=dim, keepdims=True)
        return (spread(grad, input.shape, dim, keepdim) * share.astype(grad.dtype),)


@register
class Amax(Extreme):
    name = "amax"

    def forward(self, input, dim, keepdim):
        return input.max(axis=dim, keepdims=keepdim)


@register
class Amin(Extreme):
    name = "amin"

    def forward(self, input, dim, keepdim):
        return input.min(axis=dim, keepdims=keepdim)


@register
class Var(Reduction):
    """The variance; `correction` is subtracted from the number of elements"""

    name = "var"
    loud = True

    def shape(self, input, dim, keepdim, correction):
        return super().shape(input, dim, keepdim)

    def forward(self, input, dim, keepdim, correction):
        centred = input - input.mean(axis=dim, keepdims=True) if input.size else input
        total = (centred * centred).sum(axis=dim, keepdims=keepdim)
        # Of one element: nan, as in torch.
        return total / total.dtype.type(max(0, _count(input, total) - correction))

    def keep(self, need, out, input, dim, keepdim, correction):
        return (input,)

    def backward(self, node, grad, dim, keepdim, correction):
        (input,) = node.saved
        scale = 2 / np.maximum(input.dtype.type(_count(input, grad) - correction), 0)
        slope = (input - input.mean(axis=dim, keepdims=True)) * scale if input.size else input
        return (spread(grad, input.shape, dim, keepdim) * slope,)


@register
class Logsumexp(Reduction):
    name = "logsumexp"
    loud = True

    def forward(self, input, dim, keepdim):
        top = input.max(axis=dim, keepdims=True)
        out = np.log(np.exp(input - top).sum(axis=dim, keepdims=True)) + top
        return out if keepdim else out.reshape(reduced(input.shape, dim, False))

    def keep(self, need, out, input, dim, keepdim):
        return input, out

    def backward(self, node, grad, dim, keepdim):
        input, out = node.saved
        share = np.exp(input - spread(out, input.shape, dim, keepdim))
        return (spread(grad, input.shape, dim, keepdim) * share,)


@register
class Cumsum(Op):
    """Sums of everything up to here along one dimension"""

    name = "cumsum"

    def shape(self, input, dim):
        normalize_dim(dim, len(input.shape))
        return MetaArray(input.shape, input.dtype)

    def forward(self, input, dim):
        return np.cumsum(input, axis=dim, dtype=input.dtype)

    def backward(self, node, grad, dim):
        return (np.flip(np.cumsum(np.flip(grad, dim), axis=dim), dim),)


class Whether(Reduction):
    def shape(self, input, dim, keepdim):
        return MetaArray(reduced(input.shape, dim, keepdim), bool_)


@register
class Any(Whether):
    name = "any"

    def forward(self, input, dim, keepdim):
        return input.any(axis=dim, keepdims=keepdim)


@register
class All(Whether):
    name = "all"

    def forward(self, input, dim, keepdim):
        return input.all(axis=dim, keepdims=keepdim)


class Place(Reduction):
    def shape(self, input, dim, keepdim):
        return MetaArray(reduced(input.shape, dim, keepdim), int64)


@register
class Argmax(Place):
    name = "argmax"

    def forward(self, input, dim, keepdim):
        return np.argmax(input, axis=None if dim is None else dim[0], keepdims=keepdim)


@register
class Argmin(Place):
    name = "argmin"

    def forward(self, input, dim, keepdim):
        return np.argmin(input, axis=None if dim is None else dim[0], keepdims=keepdim)


def dims(dim) -> tuple | None:
    """Dimensions as a tuple; None, or an empty one, for all."""
    if dim is None or isinstance(dim, int):
        return None if dim is None else (dim,)
    return tuple(dim) or None


def sum(input: Tensor, dim=None, keepdim: bool = False, *, dtype=None) -> Tensor:
    """The sum over some dimensions, or all. Of integers and booleans: int64."""
    if dtype is None and input.dtype.kind != "f":
        dtype = int64
    input = input if dtype is None else to(input, dtype)
    return apply(Sum, (input,), dim=dims(dim), keepdim=keepdim)


def mean(input: Tensor, dim=None, keepdim: bool = False, *, dtype=None) -> Tensor:
    """The mean over some dimensions, or all. TypeError for integers."""
    input = input if dtype is None else to(input, dtype)
    if input.dtype.kind != "f":
        raise TypeError(
            f"mean: needs floating-point numbers, not {input.dtype} of shape {input.shape}"
        )
    return apply(Mean, (input,), dim=dims(dim), keepdim=keepdim)


def prod(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return apply(Prod, (input,), dim=dims(dim), keepdim=keepdim)


def amax(input: Tensor, dim=None, keepdim: bool = False) -> Tensor:
    """The largest along some dimensions, or of all."""
    return apply(Amax, (input,), dim=dims(dim), keepdim=keepdim)


def amin(input: Tensor, dim=None, keepdim: bool = False) -> Tensor:
    """The smallest along some dimensions, or of all."""
    return apply(Amin, (input,), dim=dims(dim), keepdim=keepdim)


def var(input: Tensor, dim=None, unbiased=None, keepdim=False, *, correction=1) -> Tensor:
    """The variance, over n - 1 unless `correction` (or unbiased=False) says otherwise."""
    if isinstance(dim, bool):  # torch's old form: var(unbiased)
        dim, unbiased = None, dim
    correction = correction if unbiased is None else int(unbiased)
    return apply(Var, (input,), dim=dims(dim), keepdim=keepdim, correction=correction)


def std(input: Tensor, dim=None, unbiased=None, keepdim=False, *, correction=1) -> Tensor:
    """The square root of `var`."""
    return sqrt(var(input, dim, unbiased, keepdim, correction=correction))


def logsumexp(input: Tensor, dim, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))), without overflow."""
    return apply(Logsumexp, (input,), dim=dims(dim), keepdim=keepdim)


def norm(input: Tensor, p=2, dim=None, keepdim: bool = False) -> Tensor:
    """sum(|input| ** p) ** (1 / p)"""
    if p in ("fro", 2):
        return sqrt(sum(input * input, dim, keepdim))
    if p == math.inf:
        return amax(input.abs(), dim, keepdim)
    return sum(input.abs() ** p, dim, keepdim) ** (1 / p)


def cumsum(input: Tensor, dim: int) -> Tensor:
    return apply(Cumsum, (input if input.dtype.kind == "f" else to(input, int64),), dim=dim)


def any(input: Tensor, dim=None, keepdim: bool = False) -> Tensor:
    return apply(Any, (input,), dim=dims(dim), keepdim=keepdim)


def all(input: Tensor, dim=None, keepdim: bool = False) -> Tensor:
    return apply(All, (input,), dim=dims(dim), keepdim=keepdim)


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the largest stands (the first of equals), as int64."""
    return apply(Argmax, (input,), dim=dims(dim), keepdim=keepdim)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the smallest stands (the first of equals), as int64."""
    return apply(Argmin, (input,), dim=dims(dim), keepdim=keepdim)


def allclose(input: Tensor, other: Tensor, rtol=1e-5, atol=1e-8, equal_nan=False) -> bool:
    """Is every element of one close to that of the other?"""
    return bool(np.allclose(input.detach(), other.detach(), rtol, atol, equal_nan))


def equal(input: Tensor, other: Tensor) -> bool:
    """Same shape, same elements?"""
    return input.shape == other.shape and bool((input == other).all())
