"""What lesson 05's recorder is made from, beside what its students write: tensors' memory, a list
for rows, names. What may not enter: what an op costs, and what a row says of it.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from proflab import Tensor, dispatch, nn
from proflab.shapes import MetaArray

dtype_name = functools.cache(str)  # asking numpy takes long: once is enough

# Ops that pick from a table: the table's place among their inputs.
TABLES = {"embedding": 1, "index": 0, "gather": 0}

# Ops that move, choose or compare elements, and matrix products: no elementwise FLOPs.
NO_ELEMENTWISE = frozenset(
    """
    matmul einsum to clone reshape permute expand getitem index index_put embedding gather
    scatter_add nonzero cat split pad tril triu flip roll where masked_fill argsort
    """.split()
)

# The facts of a row that is of no op: op, module and phase are still to be said.
NO_OP = {
    "input_shapes": [], "output_shape": None, "dtype": None, "matmul_flops": 0,
    "elementwise_flops": 0, "bytes_read": 0, "bytes_written": 0,
}  # fmt: skip


class Rows(list):
    """The rows of a recording, in the order in which they ended.

    start: what time.perf_counter_ns() showed when the recording began.
    depth: how many things are running now, one inside the other.
    """

    def __init__(self) -> None:
        super().__init__()
        self.start, self.depth = time.perf_counter_ns(), 0


def present(result: Tensor | Iterable[Tensor | None]) -> list[Tensor]:
    """The Tensors of an op's result, or of its gradient, in a list: one, or those not None."""
    return [result] if isinstance(result, Tensor) else [t for t in result if t is not None]


def memory_of(tensor: Tensor) -> int:
    """A number for the memory that a tensor looks at; the same for all that share it."""
    return id(_owner(tensor.array))


def bytes_by_memory(tensors: Iterable[Tensor]) -> dict[int, int]:
    """The bytes that these tensors look at, by the memory in which they are: {memory_of: int}.

    A tensor that is there twice counts once, and of no memory are there more bytes than it has.
    """
    found: dict[int, int] = {}
    views = {}
    for tensor in tensors:
        array = tensor.array
        if array.base is None:
            found[id(array)] = array.nbytes
        else:
            views[id(array)] = array
    for array in views.values():
        owner = _owner(array)
        found[id(owner)] = min(found.get(id(owner), 0) + array.nbytes, owner.nbytes)
    return found


def _owner(array: Any) -> Any:
    """The array whose memory an array looks at: itself, or what it is a view of."""
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


def column(rows: Iterable[dict], key: str) -> list:
    """What each of the rows has for a key."""
    return [row[key] for row in rows]


def columns(rows: Iterable[dict], *keys: str) -> list[list]:
    """What each of the rows has for these keys: a list for each row."""
    return [[row[key] for key in keys] for row in rows]


def row_name(row: dict) -> str:
    """What a row is called: its op, or the name that a region or module has."""
    return row["module"] if row["op"] in ("region", "module") else row["op"]


def work_and_traffic(rows: Sequence[dict]) -> tuple[int, int]:
    """All FLOPs of these rows, of products and elementwise, and all bytes, read and written."""
    flops = sum(row["matmul_flops"] + row["elementwise_flops"] for row in rows)
    return flops, sum(row["bytes_read"] + row["bytes_written"] for row in rows)


class Still(nn.Module):
    """A bare Tensor as a model: it gives itself back, whatever comes in."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def forward(self, x: Any) -> Tensor:
        """The tensor; x is left alone."""
        return self.tensor


def as_model(model: Any) -> Any:
    """The model, or Still(model) where it is a bare Tensor."""
    return Still(model) if isinstance(model, Tensor) else model
