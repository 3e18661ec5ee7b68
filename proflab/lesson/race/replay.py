"""Run a tape that `check` has passed, with the engine's own ops: on data, or on meta arrays.

Nothing of a program's Python is here any more: what is run is what the tape says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proflab import dispatch, graph
from proflab.lesson.race.tape import Refused, decode
from proflab.lesson.tensor_memory import owner
from proflab.meta import Array, MetaArray
from proflab.tensor import Tensor, wrap

_KINDS = ("in", "const", "fill", "op", "vjp", "write")  # of instructions that may make values
_MOST_NUMBERS = 1 << 62  # of a tensor; products of far more overflow the floats that costs are
# What running an op on operands that do not fit may raise.
_FAILS = (
    ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError,
    AssertionError,
)  # fmt: skip


class Reading:
    """Hold what each walk over a tape needs to know of it, read once for all.

    attributes: of each op, decoded. done: the values that are used last by each instruction.
    backward: by an op's instruction, the last `vjp` of it.
    """

    def __init__(self, tape: list) -> None:
        self.attributes = [decode(line[3]) if line[0] == "op" else {} for line in tape]
        self.done: list[list[int]] = [[] for _ in tape]
        for number, places in users_of(tape).items():
            self.done[places[-1]].append(number)
        self.backward = {line[1]: at for at, line in enumerate(tape) if line[0] == "vjp"}


@dataclass
class Walk:
    """Hold what a walk over a tape leaves: values by number, nodes by instruction, and the results.

    made: the numbers of the values that each instruction has made. reading: of the tape
    """

    reading: Reading
    values: list[Any] = field(default_factory=list)
    nodes: dict[int, graph.Node | None] = field(default_factory=dict)
    made: list[range] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)


def used(line: list) -> list[int]:
    """Return the numbers of the values that an instruction uses."""
    match line[0]:
        case "op":
            return list(line[2])
        case "vjp":
            return [number for number in line[2] if number is not None]
        case "write":
            return list(line[1:3])
        case "out":
            return list(line[1])
    return []


def users_of(tape: list, places: Iterable[int] | None = None) -> dict[int, list[int]]:
    """Return by a value's number which of these instructions, or of all, use it."""
    found: dict[int, list[int]] = {}
    for at in range(len(tape)) if places is None else places:
        for number in used(tape[at]):
            found.setdefault(number, []).append(at)
    return found


def reaching(tape: list, made: list[range]) -> set[int]:
    """Return the instructions that the results may depend on; made: as a Walk has it.

    A write counts as one, whatever becomes of the array.
    """
    found: set[int] = set()
    needed: set[int] = set()
    for at in reversed(range(len(tape))):
        line = tape[at]
        if line[0] in ("out", "write") or not needed.isdisjoint(made[at]):
            found.add(at)
            needed.update(used(line), made[line[1]] if line[0] == "vjp" else ())
    return found


def walk(
    tape: list,
    inputs: Mapping[str, Any],
    look: Callable | None = None,
    wide: bool = False,
    counted: Walk | None = None,
    reading: Reading | None = None,
) -> Walk:
    """Run a tape on arrays by the names of its inputs; meta arrays give meta results.

    look(at, call, result) sees each op, forward and backward. wide: what the tape makes in float32
    (constants, fills, conversions) is made in float64, as the inputs are. counted: the walk on meta
    arrays; values have to be as large as it says. reading: of this tape, if there is one already.
    Raises Refused for a tape that cannot be run, and MemoryError where this machine has no room.
    """
    meta = any(type(array) is MetaArray for array in inputs.values())
    reading = counted.reading if counted else reading or Reading(tape)
    run = _Run(inputs, meta, look, wide, counted, reading)
    at = 0
    try:
        with np.errstate(all="ignore"):
            for at, line in enumerate(tape):
                run.instruction(at, line)
    except Refused as refused:
        refused.at = at if refused.at is None else refused.at
        raise
    except NotImplementedError as error:
        raise Refused(f"{error}: use another op", at) from None
    except _FAILS as error:
        told = " ".join(str(error).split())[:300] or type(error).__name__
        raise Refused(f"this program cannot be run: {told}", at) from None
    return run.left


@dataclass
class _Run:
    """One walk. On data, a value is let go after its last use."""

    inputs: Mapping[str, Any]
    meta: bool
    look: Callable | None
    wide: bool
    counted: Walk | None
    reading: Reading

    def __post_init__(self) -> None:
        self.left = Walk(self.reading)
        self.shapes: dict[int, list[tuple]] = {}  # of the results of ops that have a backward
        self.ways = {kind: getattr(self, f"_{kind}") for kind in _KINDS}

    def instruction(self, at: int, line: list) -> None:
        values = self.left.values
        first = len(values)
        if line[0] == "out":
            self.left.results = [values[number] for number in line[1]]
        else:
            values += self.ways[line[0]](at, *line[1:])
        end = len(values)
        if self.meta and any(values[number].size > _MOST_NUMBERS for number in range(first, end)):
            raise Refused("a tensor of more numbers than an array can hold")
        if self.counted is not None:
            for number in range(first, end):
                real, said = values[number], self.counted.values[number]
                if real.shape != said.shape or real.dtype != said.dtype:
                    raise Refused(f"{line[1]}: {real.shape} was counted as {said.shape}")
        self.left.made.append(range(first, end))
        if not self.meta:
            for number in self.reading.done[at]:
                values[number] = None

    def _in(self, at: int, name: str, shape: tuple, dtype: str) -> list:
        return [self.inputs[name]]

    def _const(self, at: int, array: Any) -> list:
        if self.meta:
            return [MetaArray(array.shape, array.dtype)]
        return [array.astype(self._dtype(array.dtype))]

    def _fill(self, at: int, shape: tuple, dtype: str, value: float) -> list:
        if self.meta:
            return [MetaArray(tuple(shape), np.dtype(dtype))]
        return [np.full(shape, value, self._dtype(dtype))]

    def _op(self, at: int, name: str, operands: list, attributes: dict, need: list | None) -> list:
        values = self.left.values
        decoded = self.reading.attributes[at]
        if self.wide and "dtype" in decoded:  # of `to`
            decoded = decoded | {"dtype": self._dtype(decoded["dtype"])}
        if need is None and self.look is None:  # as in most of a run on data
            arrays = [values[number] for number in operands]
            return _run_unseen(dispatch.OPS[name], arrays, decoded)
        flags = [False] * len(operands) if need is None else need
        tensors = tuple([wrap(values[n], flag) for n, flag in zip(operands, flags, strict=True)])
        call = dispatch.Call(dispatch.OPS[name], tensors, decoded, "")
        with graph.set_grad_enabled(True):  # a node is made where an operand wants a gradient
            result = call()
        outs = [result] if isinstance(result, Tensor) else list(result)
        # What no `vjp` asks for need not stay alive.
        if at in self.reading.backward and need is not None:
            self.left.nodes[at] = outs[0].node
            self.shapes[at] = [tensor.shape for tensor in outs]
        if self.look is not None:
            self.look(at, call, result)
        return [tensor.array for tensor in outs]

    def _vjp(self, at: int, op: int, gradients: list) -> list:
        node = self.left.nodes.get(op)
        if node is None or len(gradients) != len(self.shapes[op]):
            raise Refused("backward of no operation")
        arrays = [None if g is None else self.left.values[g] for g in gradients]
        for array, shape in zip(arrays, self.shapes[op], strict=True):
            if array is not None and array.shape != shape:
                raise Refused("a gradient of another shape than its result")
        grad = arrays if node.outputs else arrays[0]
        result = tuple(None if g is None else wrap(g) for g in node.run_backward(grad))
        if self.look is not None:
            self.look(at, _backward_call(node, arrays), result)
        found: list[Any] = []
        for (shape, _), need, tensor in zip(node.specs, node.need, result, strict=True):
            if not need:
                continue
            if tensor is None or tensor.shape != shape:
                raise Refused("a gradient of another shape than its operand")
            found.append(tensor.array if self.meta else _apart(tensor.array, arrays + found))
        if not self.meta and self.reading.backward[op] == at:
            del self.left.nodes[op]
        return found

    def _write(self, at: int, target: int, source: int) -> list:
        into, what = self.left.values[target], self.left.values[source]
        if into.shape != what.shape or not np.can_cast(what.dtype, into.dtype, "same_kind"):
            raise Refused(f"a write of {what.dtype} {what.shape} into {into.dtype} {into.shape}")
        if not self.meta:
            np.copyto(into, what, casting="same_kind")
        return []

    def _dtype(self, dtype: Any) -> np.dtype:
        return np.dtype("float64" if self.wide and str(dtype) == "float32" else dtype)


def _run_unseen(op: dispatch.Op, arrays: list, attributes: dict) -> list[Array]:
    """Run an op on arrays; return its results. No hook sees it, and it leaves no node."""
    result = dispatch.compute(op, arrays, attributes)
    out = result[0] if op.extras else result
    return [dispatch.contiguous(op, each) for each in (out if op.many else [out])]


def _backward_call(node: graph.Node, grads: list) -> dispatch.Call:
    """Return what a hook sees of a node's backward."""
    operands = tuple(wrap(MetaArray(*s), n) for s, n in zip(node.specs, node.need, strict=True))
    call = dispatch.Call(node.op, operands, node.attributes, "")
    wrapped = [None if g is None else wrap(g) for g in grads]
    call.phase, call._node = "backward", node
    call.grad = wrapped if node.outputs else wrapped[0]
    return call


def _apart(array: Any, others: list) -> Any:
    """Return the array, or a copy where it shares memory: without data, gradients never do."""
    memories = {id(owner(other)) for other in others if other is not None}
    return array.copy() if id(owner(array)) in memories else array
