"""Compositions that fit nowhere else: nearest-neighbour resizing, scaling to unit norm."""

from __future__ import annotations

import numpy as np

from proflab.ops.reduce import norm
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
