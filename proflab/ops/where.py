"""Choosing between elements: the larger, the smaller, by a condition, by a mask, within bounds."""

from __future__ import annotations

import numpy as np

from proflab.creation import as_tensor
from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.arithmetic import Binary, as_operand
from proflab.ops.convert import common_dtype, to_float
from proflab.shapes import broadcast, unbroadcast
from proflab.tensor import Tensor
from proflab.tensor_methods import in_place, method

__all__ = ["clamp", "clip", "masked_fill", "maximum", "minimum", "where"]


class _Extremum(Binary):
    """The larger, or the smaller, of two tensors; where they are equal each gets half."""

    choose: np.ufunc
    better: np.ufunc

    def forward(self, input, other):
        return self.choose(input, other)

    def save_for_backward(self, need, out, input, other):
        return input, other

    def backward(self, node, grad):
        # grad: the broadcast shape · input, other: their shapes → each operand's shape
        input, other = node.saved
        share = self.better(input, other) + 0.5 * (input == other)
        share = share.astype(grad.dtype)
        return (
            unbroadcast(grad * share, node.shape(0)) if node.need[0] else None,
            unbroadcast(grad * (1 - share), node.shape(1)) if node.need[1] else None,
        )


@register
class _Maximum(_Extremum):
    name = "maximum"
    choose, better = np.maximum, np.greater


@register
class _Minimum(_Extremum):
    name = "minimum"
    choose, better = np.minimum, np.less


@register
class _Where(Op):
    """input where the condition holds, other elsewhere"""

    name = "where"

    def shape(self, condition, input, other):
        return MetaArray(broadcast(condition.shape, input.shape, other.shape), input.dtype)

    def forward(self, condition, input, other):
        return np.where(condition, input, other)

    def save_for_backward(self, need, out, condition, input, other):
        return (condition,)

    def backward(self, node, grad):
        # grad: the broadcast shape · condition: its shape → None, each operand's shape
        (condition,) = node.saved
        zero = grad.dtype.type(0)
        return (
            None,
            unbroadcast(np.where(condition, grad, zero), node.shape(1)) if node.need[1] else None,
            unbroadcast(np.where(condition, zero, grad), node.shape(2)) if node.need[2] else None,
        )


@register
class _MaskedFill(Op):
    """A value wherever the mask, which broadcasts to the input, is True"""

    name = "masked_fill"

    def shape(self, input, mask, value):
        if mask.dtype.kind != "b":
            raise TypeError(f"the mask is {mask.dtype}, not bool")
        if broadcast(input.shape, mask.shape) != input.shape:
            raise ValueError("the mask does not broadcast to the input")
        return MetaArray(input.shape, input.dtype)

    def forward(self, input, mask, value):
        out = input.copy()
        np.copyto(out, value, where=mask)
        return out

    def save_for_backward(self, need, out, input, mask, value):
        return (mask,)

    def backward(self, node, grad, value):
        # grad: (…) · mask: broadcasts to it → (…), None
        (mask,) = node.saved
        return np.where(mask, grad.dtype.type(0), grad), None


@register
class _Clamp(Op):
    """No less than min, no more than max"""

    name = "clamp"

    def shape(self, input, min, max):
        return MetaArray(input.shape, input.dtype)

    def forward(self, input, min, max):
        return np.clip(input, min, max)

    def save_for_backward(self, need, out, input, min, max):
        return (input,)

    def backward(self, node, grad, min, max):
        # grad: (…) · input: (…) → (…)
        (input,) = node.saved
        inside = np.ones(input.shape, bool)
        if min is not None:
            inside &= input >= min
        if max is not None:
            inside &= input <= max
        return (grad * inside,)


@method
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """Return the larger of each two elements, broadcast; equal ones share the gradient."""
    return apply(_Maximum, common_dtype(input, as_tensor(other)))


@method
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """Return the smaller of each two elements, broadcast; equal ones share the gradient."""
    return apply(_Minimum, common_dtype(input, as_tensor(other)))


def where(condition: Tensor, input, other) -> Tensor:
    """Return `input` where the condition holds and `other` elsewhere; either may be a number."""
    input = as_operand(input, other) if isinstance(other, Tensor) else as_tensor(input)
    return apply(_Where, (condition, *common_dtype(input, as_operand(other, input))))


@in_place
@method
def masked_fill(input: Tensor, mask: Tensor, value) -> Tensor:
    """Return a copy with the number `value` wherever the mask, which broadcasts, is True."""
    value = value.item() if isinstance(value, Tensor) else value
    return apply(_MaskedFill, (input, mask), value=value)


@in_place
@method
def clamp(input: Tensor, min=None, max=None) -> Tensor:
    """Return the elements, no less than `min` and no more than `max`: numbers or None.

    ValueError if neither is given.
    """
    if min is None and max is None:
        raise ValueError("clamp: neither min nor max is given")
    if float in (type(min), type(max)):
        input = to_float(input)
    return apply(_Clamp, (input,), min=min, max=max)


clip = method(clamp, "clip")


def _where(input: Tensor, condition: Tensor, other) -> Tensor:
    """Return this tensor where the condition holds and `other` elsewhere."""
    return where(condition, input, other)


method(_where, "where")
