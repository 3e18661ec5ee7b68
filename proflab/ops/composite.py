"""Functions that are short compositions of ops, so that a hook sees the ops they are made of."""

from __future__ import annotations

import numpy as np

from proflab.ops.activation import softplus
from proflab.ops.concat import cat, chunk
from proflab.ops.conv import pair
from proflab.ops.norm import batch_norm, group_norm
from proflab.ops.pool import adaptive_avg_pool2d, avg_pool2d, max_pool2d
from proflab.ops.reduce import norm
from proflab.ops.where import clamp, where
from proflab.tensor import Tensor, wrap


def interpolate(input: Tensor, size=None, scale_factor=None, mode: str = "nearest",
                align_corners=None) -> Tensor:  # fmt: skip
    """(batch, channels, h, w) to another height and width, by the nearest element."""
    if mode != "nearest":
        raise ValueError(f"interpolate: mode {mode!r} is not there, only 'nearest'")
    if (size is None) == (scale_factor is None):
        raise ValueError(
            f"interpolate: give size or scale_factor, and one only (input {input.shape})"
        )
    old = input.shape[2:]
    if size is None:
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * 2
        size = [int(n * f) for n, f in zip(old, factors, strict=True)]
    elif isinstance(size, int):
        size = [size] * 2
    rows, columns = (np.arange(new) * n // new for n, new in zip(old, size, strict=True))
    return input[:, :, wrap(rows[:, None]), wrap(columns[None, :])]


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """input over its norm along dim, or over eps where the norm is smaller."""
    return input / norm(input, p, dim, keepdim=True).clamp(min=eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along dim."""
    return (normalize(x1, 2.0, dim, eps) * normalize(x2, 2.0, dim, eps)).sum(dim)


def hardtanh(input: Tensor, min_val=-1.0, max_val=1.0, inplace: bool = False) -> Tensor:
    """min(max(input, min_val), max_val)"""
    out = clamp(input, min_val, max_val)
    return input.become(out) if inplace else out


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """One half of the input times the sigmoid of the other."""
    a, b = chunk(input, 2, dim)
    return a * b.sigmoid()


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input · tanh(softplus(input))"""
    out = input * softplus(input).tanh()
    return input.become(out) if inplace else out


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)), exact for large negative inputs."""
    return -softplus(-input)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input, or weight · input below 0; one weight, or one a channel (dimension 1)."""
    if weight.numel() > 1:
        weight = weight.reshape([-1 if i == 1 else 1 for i in range(input.ndim)])
    return where(input > 0, input, input * weight)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(batch, c·r², h, w) to (batch, c, h·r, w·r)."""
    b, c, h, w = input.shape
    r = upscale_factor
    if c % (r * r):
        raise ValueError(f"pixel_shuffle: {r}² does not divide the channels of {input.shape}")
    out = input.reshape(b, c // (r * r), r, r, h, w).permute(0, 1, 4, 2, 5, 3)
    return out.reshape(b, c // (r * r), h * r, w * r)


def instance_norm(input: Tensor, running_mean=None, running_var=None, weight=None, bias=None,
                  use_input_stats: bool = True, momentum=0.1, eps: float = 1e-5):  # fmt: skip
    """Each channel of each sample to mean 0 and variance 1."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    return group_norm(input, input.shape[1], weight, bias, eps)


def max_pool1d(input: Tensor, kernel_size, stride=None, padding=0, dilation=1,
               ceil_mode=False) -> Tensor:  # fmt: skip
    """The largest of each window of (batch, channels, length): a max_pool2d of one row."""
    k, p, d = pair(kernel_size)[0], pair(padding)[0], pair(dilation)[0]
    s = k if stride is None else pair(stride)[0]
    row = input.unsqueeze(-2)
    return max_pool2d(row, (1, k), (1, s), (0, p), (1, d), ceil_mode).squeeze(-2)


def avg_pool1d(input: Tensor, kernel_size, stride=None, padding=0, ceil_mode=False,
               count_include_pad=True) -> Tensor:  # fmt: skip
    """The mean of each window of (batch, channels, length): an avg_pool2d of one row."""
    k, p = pair(kernel_size)[0], pair(padding)[0]
    s = k if stride is None else pair(stride)[0]
    row = input.unsqueeze(-2)
    return avg_pool2d(row, (1, k), (1, s), (0, p), ceil_mode, count_include_pad).squeeze(-2)


def adaptive_avg_pool1d(input: Tensor, output_size) -> Tensor:
    """Means over windows of (batch, channels, length) so that `output_size` of them are left."""
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, pair(output_size)[0])).squeeze(-2)


def adaptive_max_pool2d(input: Tensor, output_size) -> Tensor:
    """The largest of windows side by side; `output_size` has to divide the input's size."""
    size = pair(output_size)
    sides = input.shape[-2:]
    if any(n % o for n, o in zip(sides, size, strict=True)):
        raise ValueError(f"adaptive_max_pool2d: {size} does not divide the size of {input.shape}")
    return max_pool2d(input, tuple(n // o for n, o in zip(sides, size, strict=True)))


def hstack(tensors) -> Tensor:
    """Side by side: along dimension 1, or 0 for vectors."""
    tensors = [t.reshape(1) if t.ndim == 0 else t for t in tensors]
    return cat(tensors, 0 if tensors[0].ndim == 1 else 1)


def vstack(tensors) -> Tensor:
    """One above the other: along dimension 0, vectors as rows."""
    return cat([t.reshape(1, -1) if t.ndim < 2 else t for t in tensors], 0)


def lerp(input: Tensor, end: Tensor, weight) -> Tensor:
    """input + weight · (end - input)"""
    return input + (end - input) * weight


def numel(input: Tensor) -> int:
    return input.numel()
