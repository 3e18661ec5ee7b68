"""Say what a race charges an op where lesson 05's row of facts has too little for it, or too much.

The rules, each of which lesson 06 gives in a line: what compares, chooses or lies in a window has
FLOPs; a power is the products that it is made of; a sort looks up a number for each of n log n
comparisons; causal attention has the pairs that are seen; and an operand whose numbers do not lie
side by side is fetched by cache lines. All are read off shapes and strides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from proflab import dispatch
from proflab.meta import MetaArray
from proflab.tensor import Tensor

LINE = 64  # bytes of a cache line, as in lesson 07
# Ops that compare or choose, and einsum, which may sum nothing: one FLOP for each output.
_CHOOSE = ("einsum", "where", "masked_fill", "nonzero")
# Ops whose operands are looked up, and not gone through.
_LOOK_UP = ("embedding", "index", "gather", "argsort")


def charge(call: dispatch.Call, result: Any, row: dict) -> None:
    """Change an op's row of facts, forward or backward, to what a race charges."""
    row["elementwise_flops"] = max(row["elementwise_flops"], least_flops(call, result))
    if call.op == "scaled_dot_product_attention" and call.attributes["is_causal"]:
        _see_pairs(call, row)
    if not row["bytes_written"]:  # a view: it goes through nothing
        return
    if call.op == "argsort":
        row["bytes_read"] += LINE * row["elementwise_flops"]
    if call.op not in _LOOK_UP and not row["matmul_flops"]:  # products copy or block what they read
        row["bytes_read"] += sum(beside(array) for array in _operands(call))


def least_flops(call: dispatch.Call, result: Any) -> int:
    """Return the FLOPs of the ops for which lesson 02's convention has too few for a race.

    A window's size for each output of a pool, forward or backward; one for each element that
    scatter_add adds, for each output of an op that compares or chooses, and for each comparison of
    a sort; the products of a whole power.
    """
    forward = call.phase == "forward"
    result = result if forward else call.grad
    size = result.numel() if isinstance(result, Tensor) else 0
    if call.op in ("max_pool2d", "avg_pool2d"):
        return size * math.prod(call.attributes["kernel_size"])
    if call.op == "adaptive_avg_pool2d":
        return max(size, call.inputs[0].numel())
    if call.op == "scatter_add":
        return call.inputs[2].numel()
    if call.op == "argsort":
        return size * max(1, math.ceil(math.log2(result.shape[call.attributes["dim"]] or 1)))
    if call.op == "pow":  # the multiplications or divisions that the engine makes
        return size * (2 if call.attributes.get("other") in (3, -2) else 1)
    return size if call.op in _CHOOSE else 0


def _see_pairs(call: dispatch.Call, row: dict) -> None:
    """Take the pairs of query and key out of a row that a causal mask hides, as lesson 12 does."""
    queries, keys = call.inputs[0].shape[-2], call.inputs[1].shape[-2]
    together = min(queries, keys)
    seen = together * (together + 1) // 2 + (queries - together) * keys
    for kind in ("matmul_flops", "elementwise_flops"):
        row[kind] = row[kind] * seen // max(1, queries * keys)


def _operands(call: dispatch.Call) -> Iterable[Any]:
    """Return the arrays that an op reads, each once."""
    if call.op == "einsum" and call.phase == "forward":
        found = _as_the_result_lies(call)
    elif call.phase == "forward":
        found = [tensor.array for tensor in call.inputs]
    else:
        grads = call.grad if isinstance(call.grad, (list, tuple)) else [call.grad]
        found = [tensor.array for tensor in (*grads, *call.saved) if tensor is not None]
    return {id(array): array for array in found}.values()


def _as_the_result_lies(call: dispatch.Call) -> list[Any]:
    """Return an einsum's operands, those that have all of the result's axes in its order."""
    # In that order ops/einsum.py goes through them (`_multiply`), however their own labels stand.
    labels, out = call.attributes["equation"].split("->")
    found = []
    for tensor, names in zip(call.inputs, labels.split(","), strict=True):
        array = tensor.array
        if names != out and set(names) == set(out):
            order = [names.index(name) for name in out]
            shape, strides = (
                tuple(each[n] for n in order) for each in (array.shape, array.strides)
            )
            array = MetaArray(shape, array.dtype, strides)
        found.append(array)
    return found


def beside(array: Any) -> int:
    """Return the bytes that are fetched beside an array's own, as an op goes through it by rows.

    A number that does not lie beside the one before it costs as much of a cache line as lies
    between the two. Where a number is there many times over (expanded), it is fetched once.
    """
    if type(array) is MetaArray and array.is_contiguous:
        return 0
    steps = [(n, abs(s)) for n, s in zip(array.shape, array.strides, strict=True) if n > 1 and s]
    if not steps:
        return 0
    numbers, (_, step) = math.prod(n for n, _ in steps), steps[-1]
    itemsize = array.dtype.itemsize
    return numbers * (min(max(step, itemsize), LINE) - itemsize)
