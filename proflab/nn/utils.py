"""Functions that act on many parameters at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from proflab.ops.concat import cat
from proflab.tensor import Tensor, wrap


def clip_grad_norm_(parameters: Iterable[Tensor] | Tensor, max_norm: float) -> Tensor:
    """Scale all gradients together so that their norm is at most max_norm; return the old norm."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    arrays = [p.grad.array for p in parameters if p.grad is not None and not p.is_meta]
    grads = [array for array in arrays if isinstance(array, np.ndarray)]
    total = np.float32(np.sqrt(sum(float(np.vdot(g, g)) for g in grads)))
    scale = max_norm / (float(total) + 1e-6)
    if scale < 1:
        for g in grads:
            g *= scale
    return wrap(np.asarray(total))


def clip_grad_value_(parameters: Iterable[Tensor] | Tensor, clip_value: float) -> None:
    """Bring every element of every gradient into [-clip_value, clip_value]."""
    for p in [parameters] if isinstance(parameters, Tensor) else parameters:
        array = None if p.grad is None else p.grad.array
        if isinstance(array, np.ndarray):
            np.clip(array, -clip_value, clip_value, out=array)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all parameters in one vector."""
    return cat([p.reshape(-1) for p in parameters])
