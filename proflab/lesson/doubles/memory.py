"""Double a model that allocates so many bytes, and set one exercise in another's place.

What it allocates is allocated, in blocks that are never touched: tracemalloc counts them in full,
and no machine has to have them. Sizes are MB of 1024² bytes.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from proflab import Function, Tensor, nn

MB = 1024**2


def block(mb: float) -> np.ndarray:
    """Return a float32 array (n,) of so many MB whose elements are never looked at.

    >>> block(2).nbytes == 2 * MB
    True
    """
    return np.empty(int(mb * MB) // 4, np.float32)


class _Keep(Function):
    """Allocates three blocks: one for the graph, one for the output, one for a moment."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, graph: float, output: float, scratch: float):
        ctx.save_for_backward(Tensor(block(graph)))
        result = Tensor(block(output))
        block(scratch)
        return result


class Allocating(nn.Module):
    """A model of so many MB: its parameters, what a pass keeps for backward, its output, and what
    it needs in passing beside these. `shapes` lists its inputs' shapes, one for each call.

    >>> model = Allocating(parameters_mb=3, output_mb=2)
    >>> model.weight.nbytes / MB, model(Tensor([1.0])).nbytes / MB, model.shapes
    (3.0, 2.0, [(1,)])
    """

    def __init__(
        self,
        parameters_mb: float = 0.0,
        graph_mb: float = 0.0,
        output_mb: float = 0.0,
        scratch_mb: float = 0.0,
    ) -> None:
        self.weight = nn.Parameter(Tensor(block(parameters_mb)))
        self.sizes = graph_mb, output_mb, scratch_mb
        self.shapes: list[tuple[int, ...]] = []

    def forward(self, x: Tensor) -> Tensor:
        """Return the output, of output_mb; x is left alone."""
        self.shapes.append(x.shape)
        return _Keep.apply(x, self.weight, *self.sizes)


def using(function: Callable, **names: Any) -> Callable:
    """Return the function as it is when the notebook's `names` are these, not the reader's own.

    So that a slip in one exercise does not show in the tests of the next.

    >>> scope = {"unit": 10}
    >>> exec("def scaled(n):\\n    return n * unit", scope)
    >>> using(scope["scaled"], unit=2)(3), scope["scaled"](3)
    (6, 30)
    """
    plain = inspect.unwrap(getattr(function, "func", function))
    scope = getattr(plain, "__globals__", vars(sys.modules["__main__"]))

    def replaced(*arguments: Any, **options: Any) -> Any:
        before = {name: scope[name] for name in names if name in scope}
        scope.update(names)
        try:
            return function(*arguments, **options)
        finally:
            for name in names:
                del scope[name]
            scope.update(before)

    return replaced
