"""Layers without weights that drop, pool or reshape."""

from __future__ import annotations

from proflab.nn import functional as F
from proflab.nn.module import Module
from proflab.ops.conv import Sizes
from proflab.tensor import Tensor

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "Dropout",
    "Dropout2d",
    "Flatten",
    "MaxPool1d",
    "MaxPool2d",
    "PixelShuffle",
    "Unflatten",
    "Upsample",
    "ZeroPad2d",
]


class _DropoutLayer(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False):
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: p is {p}, not between 0 and 1")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropout(_DropoutLayer):
    """In training, each element to 0 with probability p, the rest scaled by 1 / (1 - p)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutLayer):
    """Dropout of whole channels of a (batch, channels, h, w)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class MaxPool2d(Module):
    """The largest of each window: (batch, channels, h, w) to (batch, channels, h', w')."""

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
                 dilation: Sizes = 1, return_indices: bool = False,
                 ceil_mode: bool = False):  # fmt: skip
        if return_indices:
            raise ValueError("MaxPool2d: return_indices=True is not there")
        self.kernel_size, self.padding, self.dilation = kernel_size, padding, dilation
        self.stride = kernel_size if stride is None else stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(Module):
    """The mean of each window: (batch, channels, h, w) to (batch, channels, h', w')."""

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None):  # fmt: skip
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = kernel_size if stride is None else stride
        self.options = (ceil_mode, count_include_pad, divisor_override)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, *self.options)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool2d(Module):
    """Averages over windows chosen so that the result has `output_size`."""

    def __init__(self, output_size: Sizes):
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(AdaptiveAvgPool2d):
    """Averages over windows of (batch, channels, length), `output_size` of them."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveMaxPool2d(AdaptiveAvgPool2d):
    """The largest of windows side by side; `output_size` has to divide the input's size."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(input, self.output_size)


class MaxPool1d(MaxPool2d):
    """The largest of each window: (batch, channels, length) to (batch, channels, length')."""

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode
        )


class AvgPool1d(Module):
    """The mean of each window: (batch, channels, length) to (batch, channels, length')."""

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True):  # fmt: skip
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.options = (ceil_mode, count_include_pad)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, *self.options)


class Flatten(Module):
    """The dimensions from start_dim to end_dim made one: (batch, a, b) to (batch, a · b)."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """One dimension divided into several."""

    def __init__(self, dim: int, unflattened_size):
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)


class Upsample(Module):
    """(batch, channels, h, w) to another height and width; mode "nearest" only."""

    def __init__(
        self,
        size: Sizes | None = None,
        scale_factor: float | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ):
        self.size, self.scale_factor, self.mode = size, scale_factor, mode

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(input, self.size, self.scale_factor, self.mode)


class PixelShuffle(Module):
    """(batch, c·r², h, w) to (batch, c, h·r, w·r)."""

    def __init__(self, upscale_factor: int):
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class ZeroPad2d(Module):
    """Zeros around the last two dimensions: an int, or (left, right, top, bottom)."""

    def __init__(self, padding: Sizes):
        self.padding = (padding,) * 4 if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding)
