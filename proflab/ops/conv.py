"""Convolution as matrix products over columns.

A column holds what one window of the input covers; the weights times all columns are the result.
The columns of one image are made, used and overwritten by the next one's, so they stay in the
cache, and are never kept for backward: they are made again from the input. Small images are taken
several at a time, since one wide product of matrices is faster than many narrow ones.
"""

from __future__ import annotations

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.matmul import one_dtype
from proflab.ops.pad import pad as pad_tensor
from proflab.tensor import Tensor

__all__ = ["conv1d", "conv2d"]

Pair = tuple[int, int]
_WIDE = 512  # columns from which on a product is about as fast as it gets


def output_size(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Return how many windows fit along one side; ValueError if none does."""
    span = dilation * (kernel - 1) + 1
    if size + 2 * padding < span:
        raise ValueError(f"a window of {span} does not fit into {size} with padding {padding}")
    return (size + 2 * padding - span) // stride + 1


def padded(input: np.ndarray, padding: Pair, value: float = 0) -> np.ndarray:
    """Return a copy with a border around the last two dimensions; the input itself without one."""
    p, q = padding
    if not (p or q):
        return input
    h, w = input.shape[-2:]
    out = np.full((*input.shape[:-2], h + 2 * p, w + 2 * q), value, input.dtype)
    out[..., p : p + h, q : q + w] = input
    return out


def window(i: int, j: int, out: Pair, stride: Pair, dilation: Pair) -> tuple:
    """Return an index of what the place (i, j) of every window covers in the padded input."""
    top, left = i * dilation[0], j * dilation[1]
    rows = slice(top, top + stride[0] * (out[0] - 1) + 1, stride[0])
    columns = slice(left, left + stride[1] * (out[1] - 1) + 1, stride[1])
    return ..., rows, columns


class _Windows:
    """One convolution's geometry: turns images into columns, and adds up columns to images."""

    def __init__(self, input_shape, weight_shape, stride: Pair, padding: Pair, dilation: Pair):
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.channels, self.size = input_shape[1], tuple(input_shape[2:])
        self.kernel = tuple(weight_shape[2:])
        sides = zip(self.size, self.kernel, stride, padding, dilation, strict=True)
        self.out = tuple(output_size(*side) for side in sides)
        self.places = self.out[0] * self.out[1]
        # Windows of one element each, side by side: the image itself is its columns.
        self.trivial = self.kernel == (1, 1) and stride == (1, 1) and padding == (0, 0)
        self._columns = None

    def parts(self, batch: int) -> list[slice]:
        """Return which images are taken together: as many as make a product wide."""
        step = 1 if self.trivial else max(1, _WIDE // max(1, self.places))
        return [slice(start, min(start + step, batch)) for start in range(0, batch, step)]

    def turns(self, filters: int) -> bool:
        """Return True where grad has a convolution back to the input, of no more channels."""
        sides = zip(self.padding, self.dilation, self.kernel, strict=True)
        fits = all(p <= d * (k - 1) for p, d, k in sides)
        return self.stride == (1, 1) and fits and filters <= self.channels and not self.trivial

    def columns(self, images: np.ndarray) -> np.ndarray:
        """Return (n, channels, h, w) as (channels · kernel size, n · windows), until the next call.

        The buffers are made once: a border stays 0, whatever is written inside it.
        """
        if self.trivial:
            return np.ascontiguousarray(images).reshape(self.channels, -1)
        count = len(images)
        if self._columns is None or self._columns.shape[3] != count:
            self._columns = np.empty((self.channels, *self.kernel, count, *self.out), images.dtype)
            self._bordered = np.zeros(self._bordered_shape(count), images.dtype)
        images = images.swapaxes(0, 1)
        if self.padding != (0, 0):
            self._inside(self._bordered)[...] = images
            images = self._bordered
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                self._columns[:, i, j] = images[window(i, j, self.out, self.stride, self.dilation)]
        return self._columns.reshape(-1, count * self.places)

    def sum_columns(self, columns: np.ndarray, images: np.ndarray) -> None:
        """Write to each place of the images the sum of what was taken from it into columns."""
        if self.trivial:
            images[...] = columns.reshape(images.shape)
            return
        bordered = np.zeros(self._bordered_shape(len(images)), columns.dtype)
        columns = columns.reshape(self.channels, *self.kernel, len(images), *self.out)
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                place = window(i, j, self.out, self.stride, self.dilation)
                bordered[place] += columns[:, i, j]
        images[...] = self._inside(bordered).swapaxes(0, 1)

    def _bordered_shape(self, count: int) -> tuple:
        sides = (n + 2 * p for n, p in zip(self.size, self.padding, strict=True))
        return self.channels, count, *sides

    def _inside(self, bordered: np.ndarray) -> np.ndarray:
        (p, q), (h, w) = self.padding, self.size
        return bordered[..., p : p + h, q : q + w]


@register
class _Conv2d(Op):
    """(batch, channels, h, w) and weights (out channels, channels / groups, kernel h, kernel w)"""

    name = "conv2d"

    def shape(self, input, weight, bias=None, *, stride, padding, dilation, groups):
        self.check(input, weight, bias, groups)
        out = _Windows(input.shape, weight.shape, stride, padding, dilation).out
        return MetaArray((input.shape[0], weight.shape[0], *out), input.dtype)

    @staticmethod
    def check(input, weight, bias, groups) -> None:
        one_dtype(input, weight)
        if len(input.shape) != 4 or len(weight.shape) != 4:
            raise ValueError("the input and the weight need four dimensions each")
        if input.shape[1] != weight.shape[1] * groups:
            raise ValueError(
                f"the input's channels are not {groups} times the weight's second size"
            )
        if weight.shape[0] % groups:
            raise ValueError(f"{groups} groups do not divide the output channels")
        if bias is not None and bias.shape != weight.shape[:1]:
            raise ValueError("the bias's size is not the weight's first")

    def forward(self, input, weight, bias=None, *, stride, padding, dilation, groups):
        self.check(input, weight, bias, groups)
        windows = _Windows(input.shape, weight.shape, stride, padding, dilation)
        batch, filters = input.shape[0], weight.shape[0]
        matrix = weight.reshape(groups, filters // groups, -1)
        out = np.empty((batch, groups, filters // groups, windows.places), input.dtype)
        for part in windows.parts(batch):
            results = out[part]
            columns = windows.columns(input[part])
            columns = columns.reshape(groups, -1, len(results) * windows.places)
            if len(results) == 1:
                np.matmul(matrix, columns, out=results[0])
            else:
                product = (matrix @ columns).reshape(*matrix.shape[:2], len(results), -1)
                results[...] = np.moveaxis(product, 2, 0)
        out = out.reshape(batch, filters, *windows.out)
        if bias is not None:
            out += bias[:, None, None]
        return out

    def save_for_backward(self, need, out, input, weight, bias=None, **settings):
        return input if need[1] else None, weight if need[0] else None

    def backward(self, node, grad, stride, padding, dilation, groups):
        # grad: (b, out, h', w') · input: (b, c, h, w) · weight: (out, c / groups, kh, kw)
        # → input's shape, weight's shape, (out,)
        input, weight = node.saved
        shape, filters = node.shape(0), node.shape(1)
        windows = _Windows(shape, filters, stride, padding, dilation)
        grads = [None] * len(node.need)
        grad = np.ascontiguousarray(grad)
        grad = grad.reshape(shape[0], groups, filters[0] // groups, windows.places)
        matrices = groups, filters[0] // groups, filters[1] * filters[2] * filters[3]
        parts = windows.parts(shape[0])
        side_by_side = [np.moveaxis(grad[part], 0, 2).reshape(*matrices[:2], -1) for part in parts]
        if node.need[0] and windows.turns(filters[0]):
            # With stride 1 it is itself a convolution, of grad with each filter turned around:
            # to fill columns is faster than to add them up.
            border = tuple(
                d * (k - 1) - p for d, k, p in zip(dilation, filters[2:], padding, strict=True)
            )
            turned = weight[..., ::-1, ::-1].reshape(*matrices[:2], *filters[1:]).swapaxes(1, 2)
            turned = turned.reshape(shape[1], matrices[1], *filters[2:])
            images = grad.reshape(shape[0], filters[0], *windows.out)
            settings = {"stride": stride, "dilation": dilation, "groups": groups}
            grads[0] = self.forward(images, turned, padding=border, **settings)
        elif node.need[0]:
            grads[0] = np.empty(shape, grad.dtype)
            matrix = weight.reshape(matrices).swapaxes(1, 2)
            for part, g in zip(parts, side_by_side, strict=True):
                windows.sum_columns(matrix @ g, grads[0][part])
        if node.need[1]:
            total = np.zeros(matrices, grad.dtype)
            for part, g in zip(parts, side_by_side, strict=True):
                columns = windows.columns(input[part]).reshape(groups, matrices[2], -1)
                total += g @ columns.swapaxes(1, 2)
            grads[1] = total.reshape(filters)
        if len(grads) > 2 and node.need[2]:
            grads[2] = grad.sum(axis=(0, 3)).reshape(-1)
        return tuple(grads)


def pair(value) -> Pair:
    """Return an int for both directions, or one for each, as a pair."""
    return (
        (int(value[0]), int(value[-1]))
        if isinstance(value, (tuple, list))
        else (int(value), int(value))
    )


def _same(kernel: Pair, dilation: Pair, stride: Pair) -> list[Pair]:
    """Return what padding="same" adds before and after, for each direction."""
    if stride != (1, 1):
        raise ValueError(f"conv2d: padding='same' needs stride 1, not {stride}")
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return [(n // 2, n - n // 2) for n in total]


def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride=1, padding=0,
           dilation=1, groups: int = 1) -> Tensor:  # fmt: skip
    """Return the cross-correlation of images with filters, plus bias.

    input:   (batch, channels, h, w), or without batch
    weight:  (out channels, channels / groups, kernel h, kernel w)
    bias:    (out channels,)
    stride, padding, dilation: ints or pairs; padding also "same" or "valid"

    Each side of the result is (size + 2·padding - dilation·(kernel - 1) - 1) // stride + 1.

    >>> x, w = proflab.ones(1, 1, 3, 3), proflab.ones(1, 1, 2, 2)
    >>> F.conv2d(x, w)
    Tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    if input.ndim == 3:
        out = conv2d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups)
        return out.squeeze(0)
    stride, dilation = pair(stride), pair(dilation)
    if padding == "same":
        (top, bottom), (left, right) = _same(weight.shape[2:], dilation, stride)
        padding = (top, left)
        if (bottom, right) != padding:  # an even window has no middle: pad it beforehand
            input, padding = pad_tensor(input, (left, right, top, bottom)), (0, 0)
    elif isinstance(padding, str):
        if padding != "valid":
            raise ValueError(f"conv2d: padding {padding!r} is neither 'same' nor 'valid'")
        padding = 0
    inputs = (input, weight) if bias is None else (input, weight, bias)
    return apply(
        _Conv2d, inputs, stride=stride, padding=pair(padding), dilation=dilation, groups=int(groups)
    )


def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride=1, padding=0,
           dilation=1, groups: int = 1) -> Tensor:  # fmt: skip
    """Return the cross-correlation of (batch, channels, length): a conv2d over one row."""
    stride, dilation = pair(stride)[0], pair(dilation)[0]
    if padding == "same":
        (before, after), _ = _same((weight.shape[2], 1), (dilation, 1), (stride, 1))
        input, padding = pad_tensor(input, (before, after)), 0
    elif padding == "valid":
        padding = 0
    out = conv2d(
        input.unsqueeze(-2), weight.unsqueeze(-2), bias, (1, stride), (0, pair(padding)[0]),
        (1, dilation), groups,
    )  # fmt: skip
    return out.squeeze(-2)
