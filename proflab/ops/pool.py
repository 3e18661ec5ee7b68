"""Pooling: the largest, or the mean, of each window."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.conv import Pair, output_size, padded, pair, window
from proflab.ops.parts import cached_parts
from proflab.tensor import Tensor

__all__ = ["adaptive_avg_pool2d", "avg_pool2d", "max_pool2d"]


def _out(shape, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil: bool) -> Pair:
    """Return the result's height and width. ceil: a window may hang over if it starts inside."""
    if len(shape) not in (3, 4):
        raise ValueError("the input has not three or four dimensions")
    sides = []
    for n, k, s, p, d in zip(shape[-2:], kernel, stride, padding, dilation, strict=True):
        if 2 * p > k:
            raise ValueError(f"a padding of {p} is more than half of a window of {k}")
        size = output_size(n, k, s, p, d)
        if ceil and (size - 1) * s + d * (k - 1) + 1 < n + 2 * p and size * s < n + p:
            size += 1
        sides.append(size)
    return sides[0], sides[1]


def _bordered(input, out: Pair, kernel, stride, padding, dilation, value: float) -> np.ndarray:
    """Return the padded input, longer still where windows hang over the end."""
    need = [s * (o - 1) + d * (k - 1) + 1
            for o, k, s, d in zip(out, kernel, stride, dilation, strict=True)]  # fmt: skip
    p, q = padding
    h, w = input.shape[-2:]
    if need[0] <= h + 2 * p and need[1] <= w + 2 * q:
        return padded(input, padding, value)
    size = (max(need[0], h + 2 * p), max(need[1], w + 2 * q))
    result = np.full((*input.shape[:-2], *size), value, input.dtype)
    result[..., p : p + h, q : q + w] = input
    return result


def _planes(images: np.ndarray) -> np.ndarray:
    """Return (…, h, w) as (n, h, w)."""
    return images.reshape(math.prod(images.shape[:-2]), *images.shape[-2:])


def _combs(images: np.ndarray, stride: int) -> list[np.ndarray]:
    """Return every stride-th column of images from the first, from the second, …, as copies.

    What a window covers are neighbours there: numpy is twice as fast with them.
    """
    return [np.ascontiguousarray(images[..., i::stride]) for i in range(stride)]


def _teeth(combs, i: int, j: int, out: Pair, stride: Pair, dilation: Pair) -> np.ndarray:
    """Return what the place (i, j) of every window covers."""
    first, comb = divmod(j * dilation[1], stride[1])
    _, rows, _ = window(i, 0, out, stride, dilation)
    return combs[comb][:, rows, first : first + out[1]]


@register
class _MaxPool2d(Op):
    """The largest of each window. Keeps which one it was, in a byte, not the input"""

    name = "max_pool2d"

    def shape(self, input, kernel_size, stride, padding, dilation, ceil_mode):
        out = _out(input.shape, kernel_size, stride, padding, dilation, ceil_mode)
        return MetaArray((*input.shape[:-2], *out), input.dtype)

    def forward(self, input, kernel_size, stride, padding, dilation, ceil_mode):
        size = _out(input.shape, kernel_size, stride, padding, dilation, ceil_mode)
        low = -np.inf if input.dtype.kind == "f" else np.iinfo(input.dtype).min
        planes = _planes(input)
        out = np.empty((len(planes), *size), input.dtype)
        down = [window(i, 0, size, stride, dilation)[1] for i in range(kernel_size[0])]
        across = [window(0, j, size, stride, dilation)[2] for j in range(kernel_size[1])]
        for part in cached_parts(planes.shape, planes.itemsize):
            images = _bordered(planes[part], size, kernel_size, stride, padding, dilation, low)
            # First the largest of a window's rows, then of its columns.
            rows = reduce(np.maximum, (images[:, i] for i in down))
            out[part] = reduce(np.maximum, (rows[..., j] for j in across))
        return out.reshape(*input.shape[:-2], *size)

    def save_for_backward(
        self, need, out, input, kernel_size, stride, padding, dilation, ceil_mode
    ):
        places = math.prod(kernel_size)
        dtype = np.dtype(np.uint8 if places < 256 else np.uint16)
        if type(out) is MetaArray:
            return (MetaArray(out.shape, dtype),)
        size, nowhere = out.shape[-2:], np.iinfo(dtype.type).max
        planes, largest = _planes(input), _planes(out)
        which = np.full(largest.shape, nowhere, dtype)
        for part in cached_parts(planes.shape, planes.itemsize):
            images = _bordered(planes[part], size, kernel_size, stride, padding, dilation, -np.inf)
            combs = _combs(images, stride[1])
            for place in range(places):  # the least, so that the first of equals wins
                i, j = divmod(place, kernel_size[1])
                other = _teeth(combs, i, j, size, stride, dilation) != largest[part]
                # 0 → place, 1 → nowhere, without a branch: -1 is all bits, and so is nowhere
                found = other.astype(dtype)
                np.negative(found, out=found)
                found |= dtype.type(place)
                np.minimum(which[part], found, out=which[part])
        which[which == nowhere] = 0  # nan, which equals nothing
        return (which.reshape(out.shape),)

    def backward(self, node, grad, kernel_size, stride, padding, dilation, ceil_mode):
        # grad: (…, h', w') · which: (…, h', w') → (…, h, w)
        which, grad = _planes(node.saved[0]), _planes(grad)
        shape, size = node.shape(0), grad.shape[-2:]
        (p, q), (h, w) = padding, shape[-2:]
        sides = zip(size, kernel_size, stride, dilation, strict=True)
        span = [s * (o - 1) + d * (k - 1) + 1 for o, k, s, d in sides]
        border = max(span[0], h + 2 * p), -(-max(span[1], w + 2 * q) // stride[1])
        out = np.empty((len(grad), h, w), grad.dtype)
        for part in cached_parts(out.shape, out.itemsize):
            combs = np.zeros((stride[1], len(out[part]), *border), grad.dtype)
            for place in range(math.prod(kernel_size)):
                i, j = divmod(place, kernel_size[1])
                at = _teeth(combs, i, j, size, stride, dilation)
                at += grad[part] * (which[part] == place)
            for i in range(min(w, stride[1])):  # without the border
                columns = out[part][..., i :: stride[1]]
                inside = h, columns.shape[-1]
                columns[...] = _teeth(combs, p, q + i, inside, (1, stride[1]), (1, 1))
        return (out.reshape(shape),)


@register
class _AvgPool2d(Op):
    """The mean of each window. `divisors` says what each sum is divided by"""

    name = "avg_pool2d"

    def shape(self, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor):
        out = _out(input.shape, kernel_size, stride, padding, (1, 1), ceil_mode)
        return MetaArray((*input.shape[:-2], *out), input.dtype)

    @staticmethod
    def counts(shape, size, kernel_size, stride, padding, count_include_pad, divisor):
        """Return what each window's sum is divided by: a number, or a (h, w) array."""
        if divisor is not None:
            return divisor
        sides = []
        for n, o, k, s, p in zip(shape[-2:], size, kernel_size, stride, padding, strict=True):
            start = np.arange(o, dtype=np.int64) * s - p
            stop = np.minimum(start + k, n + p)
            if not count_include_pad:
                start, stop = np.maximum(start, 0), np.minimum(stop, n)
            sides.append(stop - start)
        return np.outer(*sides)

    def forward(self, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor):
        size = _out(input.shape, kernel_size, stride, padding, (1, 1), ceil_mode)
        image = _bordered(input, size, kernel_size, stride, padding, (1, 1), 0)
        out = np.zeros((*input.shape[:-2], *size), input.dtype)
        for i in range(kernel_size[0]):
            for j in range(kernel_size[1]):
                out += image[window(i, j, size, stride, (1, 1))]
        counts = self.counts(
            input.shape, size, kernel_size, stride, padding, count_include_pad, divisor
        )
        out /= np.asarray(counts, out.dtype)
        return out

    def backward(self, node, grad, kernel_size, stride, padding, ceil_mode, count_include_pad,
                 divisor):  # fmt: skip
        # grad: (…, h', w') → (…, h, w)
        shape, size = node.shape(0), grad.shape[-2:]
        counts = self.counts(shape, size, kernel_size, stride, padding, count_include_pad, divisor)
        grad = grad / np.asarray(counts, grad.dtype)
        p, q = padding
        h, w = shape[-2:]
        span = [s * (o - 1) + k for o, k, s in zip(size, kernel_size, stride, strict=True)]
        image = np.zeros(
            (*shape[:-2], max(span[0], h + 2 * p), max(span[1], w + 2 * q)), grad.dtype
        )
        for i in range(kernel_size[0]):
            for j in range(kernel_size[1]):
                image[window(i, j, size, stride, (1, 1))] += grad
        return (image[..., p : p + h, q : q + w],)


@register
class _AdaptiveAvgPool2d(Op):
    """Means over windows chosen so that the result has the size asked for"""

    name = "adaptive_avg_pool2d"

    def shape(self, input, output_size):
        if len(input.shape) not in (3, 4):
            raise ValueError("the input has not three or four dimensions")
        return MetaArray((*input.shape[:-2], *output_size), input.dtype)

    @staticmethod
    def averaging(n: int, out: int, dtype) -> np.ndarray:
        """Return (out, n): row i takes the mean over the i-th of `out` overlapping windows."""
        matrix = np.zeros((out, n), dtype)
        for i in range(out):
            start, stop = i * n // out, -(-(i + 1) * n // out)
            matrix[i, start:stop] = 1 / (stop - start)
        return matrix

    def forward(self, input, output_size):
        if output_size == (1, 1):
            return input.mean(axis=(-2, -1), keepdims=True, dtype=input.dtype)
        rows = self.averaging(input.shape[-2], output_size[0], input.dtype)
        columns = self.averaging(input.shape[-1], output_size[1], input.dtype)
        return rows @ input @ columns.T

    def backward(self, node, grad, output_size):
        # grad: (…, h', w') → (…, h, w)
        shape = node.shape(0)
        if output_size == (1, 1):
            return (np.broadcast_to(grad / max(1, shape[-2] * shape[-1]), shape),)
        rows = self.averaging(shape[-2], output_size[0], grad.dtype)
        columns = self.averaging(shape[-1], output_size[1], grad.dtype)
        return (rows.T @ grad @ columns,)


def max_pool2d(input: Tensor, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
               return_indices=False) -> Tensor:  # fmt: skip
    """Return the largest of each window of (batch, channels, h, w), or without batch.

    Ints or pairs; the stride is the kernel size if left out. ceil_mode: windows may hang over.
    """
    if return_indices:
        raise ValueError("max_pool2d: return_indices=True is not there")
    kernel = pair(kernel_size)
    return apply(
        _MaxPool2d, (input,), kernel_size=kernel, stride=_stride(stride, kernel),
        padding=pair(padding), dilation=pair(dilation), ceil_mode=ceil_mode,
    )  # fmt: skip


def avg_pool2d(input: Tensor, kernel_size, stride=None, padding=0, ceil_mode=False,
               count_include_pad=True, divisor_override=None) -> Tensor:  # fmt: skip
    """Return the mean of each window of (batch, channels, h, w), or without batch.

    Ints or pairs; the stride is the kernel size if left out. ceil_mode: windows may hang over.
    """
    kernel = pair(kernel_size)
    return apply(
        _AvgPool2d, (input,), kernel_size=kernel, stride=_stride(stride, kernel),
        padding=pair(padding), ceil_mode=ceil_mode, count_include_pad=count_include_pad,
        divisor=divisor_override,
    )  # fmt: skip


def _stride(stride, kernel: Pair) -> Pair:
    """Left out, or an empty list as torch also takes it: windows side by side."""
    return kernel if stride is None or stride == [] else pair(stride)


def adaptive_avg_pool2d(input: Tensor, output_size) -> Tensor:
    """Return means over windows, `output_size` of them: an int or a pair, None to keep a side."""
    size = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * 2
    size = tuple(n if o is None else int(o) for o, n in zip(size, input.shape[-2:], strict=True))
    return apply(_AdaptiveAvgPool2d, (input,), output_size=size)
