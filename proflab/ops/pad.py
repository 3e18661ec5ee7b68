"""Padding: a constant around the last dimensions."""

from __future__ import annotations

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.tensor import Tensor

__all__ = ["pad"]


@register
class _Pad(Op):
    """A constant around the last dimensions; `widths` is a (before, after) a dimension"""

    name = "pad"

    def shape(self, input, widths, value):
        return MetaArray(_padded(input.shape, widths), input.dtype)

    def forward(self, input, widths, value):
        # np.pad takes as long to begin as a race charges for three ops.
        shape = _padded(input.shape, widths)
        out = np.full(shape, value, input.dtype)
        inner = [slice(max(0, a), n - max(0, b)) for n, (a, b) in _zip(shape, widths)]
        kept = [slice(max(0, -a), max(0, n + min(0, b))) for n, (a, b) in _zip(input.shape, widths)]
        out[tuple(inner)] = input[tuple(kept)]
        return out

    def backward(self, node, grad, widths, value):
        # grad: (n + before + after, …) → (n, …)
        shape = node.shape(0)
        kept = tuple(slice(max(0, a), max(0, a) + n) for n, (a, b) in _zip(shape, widths))
        if all(a >= 0 and b >= 0 for a, b in widths):
            return (grad[kept],)
        back = [(-a, -b) for a, b in widths]
        return (self.forward(grad, back, 0),)


def _padded(shape, widths):
    for dim, (size, (a, b)) in enumerate(_zip(shape, widths)):
        if (cut := max(0, -a) + max(0, -b)) > size:
            raise ValueError(f"{cut} numbers cannot be cut from dimension {dim} of size {size}")
    return tuple(n + a + b for n, (a, b) in _zip(shape, widths))


def _zip(shape, widths):
    return zip(shape, widths, strict=True)


def pad(input: Tensor, pad, mode: str = "constant", value: float | None = None) -> Tensor:
    """Return the input with a constant around its last dimensions.

    pad: (left, right, top, bottom, …), from the last dimension on; negative numbers cut off
    """
    if mode != "constant":
        raise ValueError(f"pad: mode {mode!r} is not there, only 'constant'")
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise ValueError(f"pad: {tuple(pad)} does not fit a tensor of shape {input.shape}")
    pairs = [(int(a), int(b)) for a, b in zip(pad[::2], pad[1::2], strict=True)][::-1]
    widths = [(0, 0)] * (input.ndim - len(pairs)) + pairs
    return apply(_Pad, (input,), widths=tuple(widths), value=value or 0)
