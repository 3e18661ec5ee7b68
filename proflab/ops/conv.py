"""Convolution as matrix products over columns.

A column holds what one window of the input covers; the weights times all columns are the result.
They are made a piece at a time, some rows of one image's result or several small images: few enough
to stay in the cache, enough for a fast product. None are kept for backward, which makes its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import as_strided

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.matmul import one_dtype
from proflab.ops.pad import pad as pad_tensor
from proflab.shapes import Shape
from proflab.tensor import Tensor

__all__ = ["conv1d", "conv2d"]

Pair = tuple[int, int]
Sizes = int | tuple[int, ...] | list[int]  # one for all directions, or one for each
_WIDE = 512  # columns from which on a product is about as fast as it gets
_CACHED = 2**18  # numbers that stay in a core's cache: in float32 the bytes that parts.py has


def output_size(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Return how many windows fit along one side; ValueError if none does."""
    if min(stride, dilation) < 1:
        raise ValueError(f"stride {stride} and dilation {dilation} must both be at least 1")
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
        self._columns: np.ndarray | None = None
        self._bordered: np.ndarray | None = None

    def turned(self, batch: int, filters: int) -> _Windows | None:
        """Return grad's windows, one for each place of the input; None where that is no gain.

        With stride 1, the input's gradient is a convolution of grad with each filter turned around.
        To fill columns is faster than to add them up, if there are more of them than filters.
        """
        sides = list(zip(self.padding, self.dilation, self.kernel, strict=True))
        border = tuple(d * (k - 1) - p for p, d, k in sides)
        gain = filters <= min(self.channels, batch * self.places // 2) and not self.trivial
        if not gain or self.stride != (1, 1) or min(border) < 0:
            return None
        shapes = (batch, filters, *self.out), (0, 0, *self.kernel)
        return _Windows(*shapes, self.stride, border, self.dilation)

    def pieces(self, batch: int) -> tuple[list[slice], list[slice]]:
        """Return which images are taken together, and which rows of windows of each at a time.

        A piece is wide enough for a fast product, and larger only if it stays in the cache.
        """
        height, width = self.out
        depth = max(1, self.channels * self.kernel[0] * self.kernel[1])
        wide = _WIDE if self.trivial else max(_WIDE, _CACHED // depth)
        bands = 1 if self.trivial else -(-height // max(1, wide // width))
        return _steps(batch, max(1, _WIDE // self.places)), _steps(height, -(-height // bands))

    def each(self, images: np.ndarray) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield which images, which of their places, and their columns, until the next are made."""
        several, bands = self.pieces(len(images))
        for some in several:
            bordered = self._with_border(images[some])
            for rows in bands:
                yield some, self.places_of(rows), self._columns_of(bordered, rows)

    def places_of(self, rows: slice) -> slice:
        """Return which places these rows of windows are."""
        return slice(rows.start * self.out[1], rows.stop * self.out[1])

    def _with_border(self, images: np.ndarray) -> np.ndarray:
        """Return (n, channels, h, w) as (channels, n, h, w), in a buffer whose border stays 0."""
        images = images.swapaxes(0, 1)
        if self.padding == (0, 0):
            return images
        if self._bordered is None:
            self._bordered = self.zeros(images.shape[1], images.dtype)
        result = self._bordered[:, : images.shape[1]]
        self.inside(result)[...] = images
        return result

    def _columns_of(self, images: np.ndarray, rows: slice) -> np.ndarray:
        """Return (channels · kernel size, n · windows): one copy, from a view with overlaps."""
        if self.trivial and images.shape[1] == 1:
            return images.reshape(self.channels, self.places)
        count, height = images.shape[1], rows.stop - rows.start
        shape = (self.channels, *self.kernel, count, height, self.out[1])
        if self._columns is None or self._columns.size < math.prod(shape):
            self._columns = np.empty(math.prod(shape), images.dtype)
        columns = self._columns[: math.prod(shape)].reshape(shape)
        images = images[:, :, rows.start * self.stride[0] :]
        (plane, image, down, right), (s, t), (d, e) = images.strides, self.stride, self.dilation
        strides = plane, d * down, e * right, image, s * down, t * right
        columns[...] = as_strided(images, shape, strides, writeable=False)
        return columns.reshape(math.prod(shape[:3]), math.prod(shape[3:]))

    def add_columns(self, columns: np.ndarray, images: np.ndarray, rows: slice) -> None:
        """Add columns of these rows of windows to where they lie in images with a border."""
        out = rows.stop - rows.start, self.out[1]
        columns = columns.reshape(self.channels, *self.kernel, images.shape[1], *out)
        images = images[:, :, rows.start * self.stride[0] :]
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                images[window(i, j, out, self.stride, self.dilation)] += columns[:, i, j]

    def zeros(self, count: int, dtype) -> np.ndarray:
        """Return that many images of zeros with their border: (channels, count, h, w)."""
        sides = (n + 2 * p for n, p in zip(self.size, self.padding, strict=True))
        return np.zeros((self.channels, count, *sides), dtype)

    def inside(self, bordered: np.ndarray) -> np.ndarray:
        """Return a view of images without their border."""
        (p, q), (h, w) = self.padding, self.size
        return bordered[..., p : p + h, q : q + w]


def _steps(count: int, step: int) -> list[slice]:
    """Return slices of so many each, the last perhaps shorter; a single empty one of nothing."""
    starts = range(0, max(1, count), step)
    return [slice(start, min(start + step, count)) for start in starts]


def _side_by_side(images: np.ndarray) -> np.ndarray:
    """Return (n, groups, channels, places) as (groups, channels, n · places)."""
    n, groups, channels, places = images.shape
    return np.moveaxis(images, 0, 2).reshape(groups, channels, n * places)


def _products(windows: _Windows, images, groups: int, matrix=None, others=None) -> tuple:
    """Return two products with the columns of all images; None for what is not given.

    matrix: (groups, m, depth), times columns is (n, groups, m, places)
    others: (n, groups, m, places), times columns.T is (groups, m, depth), summed over the pieces
    """
    out = total = None
    if matrix is not None:
        out = np.empty((len(images), *matrix.shape[:2], windows.places), images.dtype)
    for some, places, columns in windows.each(images):
        columns = columns.reshape(groups, len(columns) // groups, columns.shape[1])
        if out is not None:
            results = out[some][..., places]
            if len(results) == 1:
                np.matmul(matrix, columns, out=results[0])
            else:
                in_rows = np.moveaxis(results, 0, 2)  # (groups, m, n, places)
                in_rows[...] = (matrix @ columns).reshape(in_rows.shape)
        if others is not None:
            product = _times_transposed(_side_by_side(others[some][..., places]), columns)
            total = product if total is None else np.add(total, product, out=total)
    return out, total


def _times_transposed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a @ b.T; of few rows times many, BLAS is faster if it turns the few around."""
    if a.shape[1] <= 128 and a.shape[1] < b.shape[1]:
        return (b @ a.swapaxes(1, 2)).swapaxes(1, 2)
    return a @ b.swapaxes(1, 2)


def _sum_columns(windows: _Windows, matrix: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Return the images of whose columns matrix.T @ grad is the gradient.

    matrix: (groups, filters, depth) · grad: (n, groups, filters, places) → (n, channels, h, w)
    """
    matrix = matrix.swapaxes(1, 2)
    shape = len(grad), windows.channels, *windows.size
    if windows.trivial:
        return (matrix @ grad).reshape(shape)
    images = np.empty(shape, grad.dtype)
    several, bands = windows.pieces(len(grad))
    for some in several:
        sums = windows.zeros(len(images[some]), grad.dtype)
        for rows in bands:
            part = _side_by_side(grad[some][..., windows.places_of(rows)])
            windows.add_columns(matrix @ part, sums, rows)
        images[some] = windows.inside(sums).swapaxes(0, 1)
    return images


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
        matrix = weight.reshape(groups, weight.shape[0] // groups, -1)
        out, _ = _products(windows, input, groups, matrix)
        out = out.reshape(input.shape[0], weight.shape[0], *windows.out)
        if bias is not None:
            out += bias[:, None, None]
        return out

    def save_for_backward(self, need, out, input, weight, bias=None, **settings):
        return input if need[1] else None, weight if need[0] else None

    def backward(self, node, grad, stride, padding, dilation, groups):
        # grad: (b, out, h', w') · input: (b, c, h, w) · weight: (out, c / groups, kh, kw)
        # → input's shape, weight's shape, (out,)
        grad = np.ascontiguousarray(grad)
        windows = _Windows(node.shape(0), node.shape(1), stride, padding, dilation)
        turned = windows.turned(len(grad), node.shape(1)[0])
        if turned is None:
            grads = self._straight(windows, node, grad, groups)
        else:
            grads = self._turned(turned, node, grad, groups)
        if len(node.need) > 2:
            grads = *grads, grad.sum(axis=(0, 2, 3)) if node.need[2] else None
        return grads

    @staticmethod
    def _straight(windows: _Windows, node, grad, groups: int) -> tuple:
        """Return the gradients of input and weight by the columns of the input."""
        input, weight = node.saved
        shape, filters = node.shape(0), node.shape(1)
        grad = grad.reshape(shape[0], groups, filters[0] // groups, windows.places)
        grads: list[np.ndarray | None] = [None, None]
        if node.need[0]:
            grads[0] = _sum_columns(windows, weight.reshape(*grad.shape[1:3], -1), grad)
        if node.need[1]:
            _, total = _products(windows, input, groups, others=grad)
            grads[1] = total.reshape(filters)
        return tuple(grads)

    @staticmethod
    def _turned(windows: _Windows, node, grad, groups: int) -> tuple:
        """Return the gradients of input and weight, both by the columns of grad."""
        input, weight = node.saved
        shape, (filters, channels, *kernel) = node.shape(0), node.shape(1)
        matrix = others = None
        if node.need[0]:
            matrix = weight[..., ::-1, ::-1].reshape(groups, -1, channels, *kernel).swapaxes(1, 2)
            matrix = matrix.reshape(groups, channels, -1)
        if node.need[1]:
            others = input.reshape(shape[0], groups, channels, windows.places)
        out, total = _products(windows, grad, groups, matrix, others)
        if node.need[0]:
            out = out.reshape(shape)
        if node.need[1]:
            total = total.reshape(groups, channels, -1, *kernel)[..., ::-1, ::-1]
            total = total.swapaxes(1, 2).reshape(filters, channels, *kernel)
        return out, total


def pair(value: Sizes) -> Pair:
    """Return an int for both directions, or one for each, as a pair; ValueError for more."""
    sizes = value if isinstance(value, (tuple, list)) else (value,)
    if len(sizes) not in (1, 2):
        raise ValueError(f"{value} is neither one size for both directions nor one for each")
    return int(sizes[0]), int(sizes[-1])


def _same(kernel: Shape, dilation: Pair, stride: Pair) -> list[Pair]:
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
