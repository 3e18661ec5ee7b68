"""Rows of a table by their numbers, and numbers as rows of zeros and a one."""

from __future__ import annotations

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.tensor import Tensor, int64, wrap

__all__ = ["embedding", "one_hot"]


@register
class _Embedding(Op):
    """Rows of a table by their numbers"""

    name = "embedding"

    def shape(self, input, weight, padding_idx):
        if input.dtype.kind not in "iu":
            raise TypeError(f"the numbers of rows are {input.dtype}, not integers")
        if len(weight.shape) != 2:
            raise ValueError("the table has not two dimensions")
        return MetaArray((*input.shape, weight.shape[1]), weight.dtype)

    def forward(self, input, weight, padding_idx):
        if input.dtype.kind not in "iu":
            raise TypeError(f"the numbers of rows are {input.dtype}, not integers")
        if input.size and (input.min() < 0 or input.max() >= len(weight)):
            raise ValueError(f"a row number outside 0 to {len(weight) - 1}")
        return weight[input]

    def save_for_backward(self, need, out, input, weight, padding_idx):
        return (input,)

    def backward(self, node, grad, padding_idx):
        # grad: (…, width) · input: (…) → None, (rows, width)
        (input,) = node.saved
        order = np.argsort(input, axis=None, kind="stable")
        rows = input.reshape(-1)[order]
        out = np.zeros(node.shape(1), grad.dtype)
        if rows.size:
            # Equal numbers stand together now: each run of them is added up in one go.
            starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
            grads = grad.reshape(rows.size, -1)[order]
            out[rows[starts]] = np.add.reduceat(grads, starts, axis=0)
            if padding_idx is not None:
                out[padding_idx] = 0
        return None, out


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Return rows of `weight` by their numbers: (…) and (rows, width) to (…, width).

    padding_idx: the row that gets no gradient. ValueError for a number that is no row.
    """
    return apply(_Embedding, (input, weight), padding_idx=padding_idx)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return class numbers (…) as rows (…, classes) of zeros with a one at their place, int64."""
    if num_classes < 0:
        num_classes = int(tensor.numpy().max(initial=-1)) + 1
    if not tensor.is_meta and np.any((tensor.numpy() < 0) | (tensor.numpy() >= num_classes)):
        raise ValueError(f"one_hot: a class outside 0 to {num_classes - 1}")
    classes = wrap(np.arange(num_classes, dtype=int64))
    return (tensor.unsqueeze(-1) == classes).to(int64)
