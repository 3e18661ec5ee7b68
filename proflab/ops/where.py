"""Choosing between elements: the larger, the smaller, by a condition, by a mask, within bounds."""

from __future__ import annotations

import numpy as np

from proflab.creation import as_tensor
from proflab.dispatch import Op, apply, register
from proflab.ops.arithmetic import Binary, common_dtype
from proflab.shapes import MetaArray, broadcast, unbroadcast
from proflab.tensor import Tensor


class Extremum(Binary):
    """The larger, or the smaller, of two tensors; where they are equal each gets half."""

    def keep(self, need, out, input, other):
        return input, other

    def backward(self, node, grad):
        input, other = node.saved
        share = self.better(input, other) + 0.5 * (input == other)
        share = share.astype(grad.dtype)
        return (
            unbroadcast(grad * share, node.shape(0)) if node.need[0] else None,
            unbroadcast(grad * (1 - share), node.shape(1)) if node.need[1] else None,
        )


@register
class Maximum(Extremum):
    name = "maximum"
    better = staticmethod(np.greater)

    def forward(self, input, other):
        return np.maximum(input, other)


@register
class Minimum(Extremum):
    name = "minimum"
    better = staticmethod(np.less)

    def forward(self, input, other):
        return np.minimum(input, other)


@register
class Where(Op):
    """input where the condition holds, other elsewhere"""

    name = "where"

    def shape(self, condition, input, other):
        return MetaArray(broadcast(condition.shape, input.shape, other.shape), input.dtype)

    def forward(self, condition, input, other):
        return np.where(condition, input, other)

    def keep(self, need, out, condition, input, other):
        return (condition,)

    def backward(self, node, grad):
        (condition,) = node.saved
        zero = grad.dtype.type(0)
        return (
            None,
            unbroadcast(np.where(condition, grad, zero), node.shape(1)) if node.need[1] else None,
            unbroadcast(np.where(condition, zero, grad), node.shape(2)) if node.need[2] else None,
        )


@register
class MaskedFill(Op):
    """A value wherever the mask, which broadcasts to the input, is True"""

    name = "masked_fill"

    def shape(self, input, mask, value):
        if mask.dtype.kind != "b":
            raise TypeError(f"the mask is {mask.dtype}, not bool")
        if broadcast(input.shape, mask.shape) != input.shape:
            raise ValueError("the mask does not broadcast to the input")
        return MetaArray(input.shape, input.dtype)

    def forward(self, input, mask, value):
        if mask.dtype.kind != "b":
            raise TypeError(f"the mask is {mask.dtype}, not bool")
        out = input.copy()
        np.copyto(out, value, where=mask)
        return out

    def keep(self, need, out, input, mask, value):
        return (mask,)

    def backward(self, node, grad, value):
        (mask,) = node.saved
        return np.where(mask, grad.dtype.type(0), grad), None


@register
class Clamp(Op):
    """No less than min, no more than max"""

    name = "clamp"

    def shape(self, input, min, max):
        return MetaArray(input.shape, input.dtype)

    def forward(self, input, min, max):
        return np.clip(input, min, max)

    def keep(self, need, out, input, min, max):
        return (input,)

    def backward(self, node, grad, min, max):
        (input,) = node.saved
        inside = np.ones(input.shape, bool)
        if min is not None:
            inside &= input >= min
        if max is not None:
            inside &= input <= max
        return (grad * inside,)


def maximum(input: Tensor, other: Tensor) -> Tensor:
    return apply(Maximum, common_dtype(input, as_tensor(other)))


def minimum(input: Tensor, other: Tensor) -> Tensor:
    return apply(Minimum, common_dtype(input, as_tensor(other)))


def where(condition: Tensor, input, other) -> Tensor:
    """input where the condition holds, other elsewhere; either may be a number."""
    if not isinstance(input, Tensor):
        dtype = other.dtype if isinstance(other, Tensor) else None
        input = as_tensor(input, dtype)
    if not isinstance(other, Tensor):
        other = as_tensor(other, input.dtype)
    return apply(Where, (condition, *common_dtype(input, other)))


def masked_fill(input: Tensor, mask: Tensor, value) -> Tensor:
    """A copy with `value` wherever the mask is True."""
    value = value.item() if isinstance(value, Tensor) else value
    return apply(MaskedFill, (input, mask), value=value)


def clamp(input: Tensor, min=None, max=None) -> Tensor:
    """No less than min, no more than max; numbers or None."""
    if min is None and max is None:
        raise ValueError("clamp: neither min nor max is given")
    return apply(Clamp, (input,), min=min, max=max)


clip = clamp
