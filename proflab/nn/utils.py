"""Functions that act on many parameters at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

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
