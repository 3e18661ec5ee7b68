"""Tell the memory that tensors look at, for lesson 05's recorder and races, and look at every op.

Lesson 04's `Tensor.storage` says the same of one tensor; a profiler is in a hurry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from proflab import Tensor, dispatch
from proflab.meta import MetaArray

# Ops that pick from a table: the table's place among their inputs.
TABLES = {"embedding": 1, "index": 0, "gather": 0}


def present(result: Tensor | Iterable[Tensor | None]) -> list[Tensor]:
    """Return the Tensors of an op's result, or its gradient, as a list: one, or those not None."""
    return [result] if isinstance(result, Tensor) else [t for t in result if t is not None]


def memory_of(tensor: Tensor) -> int:
    """Return a number for the memory that a tensor looks at; the same for all that share it."""
    return id(owner(tensor.array))


def bytes_by_memory(tensors: Iterable[Tensor]) -> dict[int, int]:
    """Return the bytes that these tensors look at, by their memory: {memory_of: int}.

    A tensor that is there twice counts once, and of no memory are there more bytes than it has.
    """
    found: dict[int, int] = {}
    views = None  # most ops have none: there is no dict for them
    for tensor in tensors:
        array = tensor.array
        if array.base is None:
            found[id(array)] = array.nbytes
        else:
            views = views or {}
            views[id(array)] = array
    if views:
        for array in views.values():
            root = owner(array)
            found[id(root)] = min(found.get(id(root), 0) + array.nbytes, root.nbytes)
    return found


def owner(array: Any) -> Any:
    """Return the array whose memory an array looks at: itself, or what it is a view of."""
    while isinstance(array.base, (np.ndarray, MetaArray)):
        array = array.base
    return array


def each_op(look: Callable[[Any, Any], Any], function: Callable[[], Any]) -> list:
    """Run function() and return look(call, result) of every op that it runs, in a list."""
    seen = []

    def hook(call: dispatch.Call) -> Any:
        result = call()
        seen.append(look(call, result))
        return result

    with dispatch.hook(hook):
        function()
    return seen
