"""Dropout: zeros at random places."""

from __future__ import annotations

import numpy as np

from proflab.creation import generator
from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.tensor import Tensor, bool_
from proflab.tensor_methods import become

__all__ = ["dropout", "dropout2d"]


@register
class _Dropout(Op):
    """Each element 0 with probability p, else divided by 1 - p. Keeps where it let through.

    shared: how many of the first dimensions choose; the others all share their choice."""

    name = "dropout"
    extras = True

    def shape(self, input, p, shared):
        return MetaArray(input.shape, input.dtype), MetaArray(self.chosen(input, shared), bool_)

    @staticmethod
    def chosen(input, shared):
        if shared is None:
            return input.shape
        return (*input.shape[:shared], *(1,) * (len(input.shape) - shared))

    def forward(self, input, p, shared):
        mask = generator().random(self.chosen(input, shared), np.float32) >= p
        return input * self.scale(mask, p, input.dtype), mask

    @staticmethod
    def scale(mask, p, dtype):
        return mask * dtype.type(1 / (1 - p) if p < 1 else 0)

    def save_for_backward(self, need, out, input, p, shared):
        return (out[1],)

    def backward(self, node, grad, p, shared):
        # grad: (…) · mask: (…), or 1 where the choice is shared → (…)
        (mask,) = node.saved
        return (grad * self.scale(mask, p, grad.dtype),)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return the input, in training each element 0 with probability p, else over 1 - p."""
    return _dropped(input, p, None, training, inplace)


def dropout2d(input: Tensor, p=0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return the input with `dropout` of whole channels of (batch, channels, h, w)."""
    return _dropped(input, p, 2, training, inplace)


def _dropped(input: Tensor, p: float, shared, training: bool, inplace: bool) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is {p}, not between 0 and 1 (input shape: {input.shape})")
    out = apply(_Dropout, (input,), p=float(p), shared=shared) if training and p else input
    return become(input, out) if inplace else out
