"""Models of unusual form: several inputs, a buffer, parts of results, an output that is a dict."""

from __future__ import annotations

import tracemalloc

import proflab
from proflab import Tensor, nn


class Parts(nn.Module):
    """Keeps two parts of one result, and meets a buffer: x of (n, m, 4) and y of (n, 2) to (n, 2).

    Of the m rows of x, what comes of the first alone is used.

    >>> Parts()(proflab.ones(5, 3, 4), proflab.ones(5, 2)).shape
    (5, 2)
    """

    def __init__(self) -> None:
        self.wide, self.narrow = nn.Linear(4, 12), nn.Linear(4, 2)
        self.register_buffer("scale", proflab.ones(2))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the first and the last third of a layer's result, multiplied."""
        left, _, right = self.wide(x).chunk(3, -1)
        return self.narrow((left * right)[:, 0]) * self.scale * y


class SumOfTwo(nn.Module):
    """A layer from x of (n, inputs) to (n, outputs), plus y: {"sum": the Tensor, …}.

    >>> SumOfTwo(3, 2)(proflab.ones(4, 3), proflab.ones(4, 2))["sum"].shape
    (4, 2)
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        self.inner = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor, y: Tensor) -> dict:
        """Return the sum, beside something that is no Tensor."""
        return {"sum": self.inner(x) + y, "tracing": tracemalloc.is_tracing()}
