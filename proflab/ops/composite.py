"""Functions that are short compositions of ops, so that a hook sees the ops they are made of."""

from __future__ import annotations

import numpy as np

from proflab.ops.activation import softplus
from proflab.ops.concat import chunk
from proflab.ops.conv import pair
from proflab.ops.norm import batch_norm, group_norm
from proflab.ops.pool import adaptive_avg_pool2d, avg_pool2d, max_pool2d
from proflab.ops.reduce import norm
from proflab.ops.where import clamp, where
from proflab.tensor import Tensor, wrap
from proflab.tensor_methods import become

__all__ = [
    "adaptive_avg_pool1d", "adaptive_max_pool2d", "avg_pool1d", "cosine_similarity", "glu",
    "hardtanh", "instance_norm", "interpolate", "logsigmoid", "max_pool1d", "mish", "normalize",
    "pixel_shuffle", "prelu",
]  # fmt: skip


def interpolate(input: Tensor, size=None, scale_factor=None, mode: str = "nearest",
                align_corners=None) -> Tensor:  # fmt: skip
    """Return (batch, channels, h, w) in another height and width, by the nearest element.

    size: the new (h, w), or an int for both; scale_factor: instead, what to multiply the old by
    """
    if mode != "nearest":
        raise ValueError(f"interpolate: mode {mode!r} is not there, only 'nearest'")
    if (size is None) == (scale_factor is None):
        raise ValueError(
            f"interpolate: give size or scale_factor, and one only (input {input.shape})"
        )
    if input.ndim != 4:
        raise ValueError(f"interpolate: an input of shape {input.shape} has not four dimensions")
    old = input.shape[2:]
    if size is None:
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * 2
        size = [int(n * f) for n, f in zip(old, factors, strict=True)]
    elif isinstance(size, int):
        size = [size] * 2
    rows, columns = (
        np.arange(new, dtype=np.int64) * n // new for n, new in zip(old, size, strict=True)
    )
    return input[:, :, wrap(rows[:, None]), wrap(columns[None, :])]


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Return input over its p-norm along `dim`, or over `eps` where the norm is smaller."""
    return input / norm(input, p, dim, keepdim=True).clamp(min=eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`, which is gone."""
    return (normalize(x1, 2.0, dim, eps) * normalize(x2, 2.0, dim, eps)).sum(dim)


def hardtanh(input: Tensor, min_val=-1.0, max_val=1.0, inplace: bool = False) -> Tensor:
    """Return min(max(input, min_val), max_val)."""
    out = clamp(input, min_val, max_val)
    return become(input, out) if inplace else out


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return one half of the input along `dim` times the sigmoid of the other."""
    a, b = chunk(input, 2, dim)
    return a * b.sigmoid()


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return input · tanh(softplus(input))."""
    out = input * softplus(input).tanh()
    return become(input, out) if inplace else out


def logsigmoid(input: Tensor) -> Tensor:
    """Return log(sigmoid(input)), exact for large negative inputs."""
    return -softplus(-input)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return input, or weight · input below 0; one weight, or one a channel (dimension 1)."""
    if weight.numel() > 1:
        weight = weight.reshape([-1 if i == 1 else 1 for i in range(input.ndim)])
    return where(input > 0, input, input * weight)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Return (batch, c·r², h, w) as (batch, c, h·r, w·r), r the upscale_factor."""
    r = upscale_factor
    if input.ndim != 4 or r < 1 or input.shape[1] % (r * r):
        raise ValueError(f"pixel_shuffle: {r}² does not divide the channels of {input.shape}")
    b, c, h, w = input.shape
    out = input.reshape(b, c // (r * r), r, r, h, w).permute(0, 1, 4, 2, 5, 3)
    return out.reshape(b, c // (r * r), h * r, w * r)


def instance_norm(input: Tensor, running_mean=None, running_var=None, weight=None, bias=None,
                  use_input_stats: bool = True, momentum=0.1, eps: float = 1e-5):  # fmt: skip
    """Return each channel of each sample brought to mean 0 and variance 1."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    return group_norm(input, input.shape[1], weight, bias, eps)


def max_pool1d(input: Tensor, kernel_size, stride=None, padding=0, dilation=1,
               ceil_mode=False) -> Tensor:  # fmt: skip
    """Return the largest of each window of (batch, channels, length): a max_pool2d of one row."""
    k, p, d = pair(kernel_size)[0], pair(padding)[0], pair(dilation)[0]
    s = k if stride is None else pair(stride)[0]
    row = input.unsqueeze(-2)
    return max_pool2d(row, (1, k), (1, s), (0, p), (1, d), ceil_mode).squeeze(-2)


def avg_pool1d(input: Tensor, kernel_size, stride=None, padding=0, ceil_mode=False,
               count_include_pad=True) -> Tensor:  # fmt: skip
    """Return the mean of each window of (batch, channels, length): an avg_pool2d of one row."""
    k, p = pair(kernel_size)[0], pair(padding)[0]
    s = k if stride is None else pair(stride)[0]
    row = input.unsqueeze(-2)
    return avg_pool2d(row, (1, k), (1, s), (0, p), ceil_mode, count_include_pad).squeeze(-2)


def adaptive_avg_pool1d(input: Tensor, output_size) -> Tensor:
    """Return means over windows of (batch, channels, length), `output_size` of them."""
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, pair(output_size)[0])).squeeze(-2)


def adaptive_max_pool2d(input: Tensor, output_size) -> Tensor:
    """Return the largest of each of (h, w) = `output_size` windows side by side.

    ValueError unless `output_size` divides the input's height and width.
    """
    size = pair(output_size)
    sides = input.shape[-2:]
    if min(size) < 1 or any(n % o for n, o in zip(sides, size, strict=True)):
        raise ValueError(f"adaptive_max_pool2d: {size} does not divide the size of {input.shape}")
    return max_pool2d(input, tuple(n // o for n, o in zip(sides, size, strict=True)))
