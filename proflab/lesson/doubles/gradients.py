"""Compares gradients: those that a function of a student gives with those of plain layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from proflab import Tensor, nn


def gradients(function: Callable, x: Tensor, parameters: Sequence[Tensor]) -> list:
    """Return the gradients of the sum of function(x)², of x and of the parameters, as arrays.

    None for those that get none. Every `.grad` is replaced.

    >>> layer = nn.Linear(1, 1, bias=False)
    >>> layer.weight.data = Tensor([[3.0]])
    >>> [g.tolist() for g in gradients(layer, Tensor([[2.0]], requires_grad=True), [layer.weight])]
    [[[36.0]], [[24.0]]]
    """
    for tensor in (x, *parameters):
        tensor.grad = None
    (function(x) ** 2).sum().backward()
    return [None if t.grad is None else t.grad.numpy().copy() for t in (x, *parameters)]


def furthest(function: Callable, layers: Sequence[nn.Module], x: Tensor) -> float:
    """Return the largest difference of gradients, x's too: a function against layers in a row.

    Raises TypeError where one of the two has no gradient and the other has.

    >>> layers, x = [nn.Linear(2, 2), nn.ReLU()], Tensor([[1.0, -2.0]], requires_grad=True)
    >>> furthest(lambda x: layers[1](layers[0](x)), layers, x)
    0.0
    """
    plain = nn.Sequential(*layers)
    parameters = [p for p in plain.parameters() if p.requires_grad]
    right = gradients(plain, x, parameters)
    pairs = zip(right, gradients(function, x, parameters), strict=True)
    return max(0.0 if a is None and b is None else float(np.abs(a - b).max()) for a, b in pairs)
