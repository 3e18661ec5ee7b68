"""Count what a tape costs on a declared machine: on meta arrays, in one walk, without a clock.

A row of facts for each op comes from `op_facts`, as lesson 05 writes it; nothing is counted here
but what that convention leaves out for a race: kinds of op that it charges too little, writes,
live bytes, and what passes between two memories.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proflab import dispatch
from proflab.lesson.race.charges import beside, charge
from proflab.lesson.race.replay import Walk, used, users_of, walk
from proflab.lesson.race.tape import Refused, inputs_of
from proflab.lesson.race.work import NUMBER, STEP, work_of
from proflab.lesson.tensor_memory import owner
from proflab.meta import MetaArray

# Kinds of op (files of proflab/ops) that may write their result where an operand lies.
_ELEMENTWISE = ("pointwise", "arithmetic", "activation", "where", "convert", "comparison")


@dataclass(frozen=True)
class Machine:
    """Declare a machine: peak_flops in FLOP/s, bandwidth in bytes/s, memory in bytes.

    op_us: µs that each op costs besides
    """

    name: str
    peak_flops: float
    bandwidth: float
    op_us: float
    memory: int = 10**9

    def ms(self, flops: float, moved: float) -> float:
        """Return the ms of one op; 0 where it computes and moves nothing."""
        if not (flops or moved):
            return 0.0
        return 1e3 * max(flops / self.peak_flops, moved / self.bandwidth) + self.op_us / 1e3


MACHINES = {
    machine.name: machine
    for machine in (
        Machine("DESK", 100e9, 10e9, 5),  # a desktop core
        Machine("T4", 8.1e12, 320e9, 5),  # NVIDIA's data sheet
    )
}


def machine_of(name: str) -> Machine:
    """Return the declared machine of this name. Raises ValueError where there is none."""
    if name not in MACHINES:
        raise ValueError(f"there is no machine {name!r}: take one of {', '.join(MACHINES)}")
    return MACHINES[name]


@dataclass
class Cost:
    """Hold what a tape costs: ms in all, a row for each op, and the most bytes that are alive.

    rows: as op_facts makes them, with at, the instruction; flops and moved, the bytes; and ms.
    peak_at: the instruction at which they are. alive: those bytes by the instruction that has made
    them. made: the number of the value that each op has made, if it is one. two_memories: rows are
    loads and stores between them, and bytes stand in the place of ms. work: about how many seconds
    running it here takes. walk: the walk that was counted.
    """

    ms: float
    walk: Walk
    rows: list[dict] = field(default_factory=list)
    peak_bytes: int = 0
    peak_at: int = 0
    alive: dict[int, int] = field(default_factory=dict)
    two_memories: bool = False
    made: dict[int, int] = field(default_factory=dict)
    work: float = 0.0


def cost(tape: list, machine: Machine, op_facts: Callable, *, state: tuple[str, ...] = (),
         fast: int | None = None, memory: int | None = None) -> Cost:  # fmt: skip
    """Return what a checked tape costs on a machine. Raises Refused for one that cannot be run.

    op_facts: as in lesson 05. state: the inputs that may be written to
    fast: the bytes of a fast memory. Inputs and results then lie in a slow one: `clone` of a part
        of an input loads it, a write into a result stores it, and the cost is the bytes so moved
    memory: the machine's bytes, where it has others than it declares
    """
    inputs = {name: MetaArray(shape, np.dtype(dtype)) for name, shape, dtype in inputs_of(tape)}
    rows: list[dict] = []
    work: list[float] = []

    def look(at: int, call: dispatch.Call, result: Any) -> None:
        row = op_facts(call, result) | {"at": at}
        work.append(work_of(call, result, row))
        charge(call, result, row)
        # Half as many float64 fit into a register; hints.py (`_product_ms`) halves them again.
        if row["dtype"] == "float64":
            row["matmul_flops"] *= 2
            row["elementwise_flops"] *= 2
        rows.append(row)

    left = walk(tape, inputs, look)  # what it leaves: values, nodes, results
    slow = {id(owner(array)): name for name, array in inputs.items()}
    rows += _fills(tape, left)
    merged = _writes(tape, left, rows, slow, state)
    rows.sort(key=lambda row: row["at"])  # fills and writes came behind the ops
    for row in rows:
        row["flops"] = row["matmul_flops"] + row["elementwise_flops"]
        row["moved"] = row["bytes_read"] + row["bytes_written"]
        row["ms"] = machine.ms(row["flops"], row["moved"])
    found = Cost(math.fsum(row["ms"] for row in rows), left, rows)
    found.made = {at: made[0] for at, made in enumerate(left.made) if len(made) == 1}
    room, of = machine.memory if memory is None else memory, "the machine"
    if fast is not None:
        stored = {id(root): root for root in map(owner, left.results) if id(root) not in slow}
        outside = sum(array.nbytes for array in (*stored.values(), *inputs.values()))
        if outside > room:
            raise Refused(f"out of memory: {outside:,} bytes of inputs and results")
        found = Cost(0.0, left, _transfers(tape, left, slow, stored.keys()), two_memories=True)
        found.ms = float(sum(row["moved"] for row in found.rows))
        _live(tape, left, found, merged, slow, slow.keys() | stored.keys())
        room, of = fast, "the fast memory"
    else:
        _live(tape, left, found, merged, slow, set())
    if found.peak_bytes > room:
        raise Refused(
            f"out of memory: {found.peak_bytes:,} bytes live at operation {found.peak_at}, "
            f"{of} has {room:,}{_too_early(tape, found.peak_at)}",
            found.peak_at,
            found.alive,
        )
    found.work = math.fsum(work) + _work_between(tape, left)
    return found


def _work_between(tape: list, left: Walk) -> float:
    """Return about how many seconds everything takes that is no op."""
    moved = sum(
        left.values[line[1] if line[0] == "write" else left.made[at][0]].size
        for at, line in enumerate(tape)
        if line[0] in ("const", "fill", "write")
    )
    return STEP * len(tape) + NUMBER * moved


def _too_early(tape: list, at: int) -> str:
    """Return what to say of a peak at which backward already runs something again."""
    started = next((n for n, line in enumerate(tape[: at + 1]) if line[0] == "vjp"), None)
    again = started is not None and any(
        line[0] == "op" and line[4] is not None for line in tape[started : at + 1]
    )
    told = "; backward needs the last layers first, when all that is kept is still alive"
    return told if again else ""


def _fills(tape: list, left: Walk) -> list[dict]:
    """Return a row for each tensor of one value or of constants, whose bytes are written.

    A single number, such as the 1 that backward starts with, is none.
    """
    found = []
    for at, line in enumerate(tape):
        if line[0] in ("fill", "const"):
            array = left.values[left.made[at][0]]
            if array.shape:
                found.append(_row("fill", array, at, written=array.nbytes))
    return found


def _row(op: str, result: Any, at: int, read: int = 0, written: int = 0) -> dict:
    """Return the row of what is no op of the engine's: a fill, or a write."""
    return {
        "op": op, "module": "", "phase": "forward", "input_shapes": [], "at": at,
        "output_shape": result.shape, "dtype": str(result.dtype), "matmul_flops": 0,
        "elementwise_flops": 0, "bytes_read": read, "bytes_written": written,
    }  # fmt: skip


def _writes(tape: list, left: Walk, rows: list, slow: dict, state: tuple) -> set[int]:
    """Add a row for each write that is no op's own; return the storages that such ops need not.

    A write is free, and its op allocates nothing, where the instruction before, views apart, made
    the source for it alone and is a fill, or an op that is elementwise or does not read the target.
    """
    users = users_of(tape)
    merged: set[int] = set()
    made_by = {row["at"]: row for row in rows}
    kept = {id(owner(array)) for _, array in _saved(tape, left)}
    for at, line in enumerate(tape):
        if line[0] != "write":
            continue
        target, source = left.values[line[1]], left.values[line[2]]
        name = slow.get(id(owner(target)))
        if name is not None and name not in state:
            raise Refused(f"the input {name} may not be written to: write to a clone of it", at)
        before = at - 1
        # `x[i] = y` looks for its place when y is there already.
        while tape[before][0] == "op" and dispatch.OPS[tape[before][1]].view:
            before -= 1
        alone = list(left.made[before]) == [line[2]] and users[line[2]] == [at]
        alone = alone and id(owner(source)) not in kept  # backward needs it as it was
        if alone and target.dtype == source.dtype and _into(tape[before], left, target):
            merged.add(id(owner(source)))
            if before in made_by:
                made_by[before]["bytes_written"] += beside(target)
            continue
        read, written = (array.nbytes + beside(array) for array in (source, target))
        rows.append(_row("write", target, at, read, written) | {"input_shapes": [source.shape]})
    return merged


def _into(line: list, left: Walk, target: Any) -> bool:
    """Return True if an instruction can put its result into the target's memory at once."""
    if line[0] != "op":
        return line[0] == "fill"
    op = dispatch.OPS[line[1]]
    apart = all(owner(left.values[n]) is not owner(target) for n in line[2])
    return op.kind in _ELEMENTWISE or apart


def _live(tape: list, left: Walk, found: Cost, merged: set, slow: dict, outside: set) -> None:
    """Set the most bytes that are alive at once, and where.

    A storage lives from the instruction that makes it to the last that uses a view of it or, kept
    for backward, to that `vjp`; inputs throughout. outside: storages in the slow memory.
    """
    birth: dict[int, int] = {}
    death: dict[int, int] = {}
    size: dict[int, int] = {}
    last = {number: at for at, line in enumerate(tape) for number in used(line)}
    for at, numbers in enumerate(left.made):
        for number in numbers:
            root = owner(left.values[number])
            birth.setdefault(id(root), at)
            size[id(root)] = root.nbytes
            death[id(root)] = max(death.get(id(root), at), last.get(number, at))
    for at, array in _saved(tape, left):
        root = owner(array)
        birth.setdefault(id(root), tape[at][1])  # made by the op for its backward alone
        size.setdefault(id(root), root.nbytes)
        death[id(root)] = max(death.get(id(root), at), at)
    # Of each storage in this memory, the first and the last instruction at which it is alive.
    spans = {
        place: (0, len(tape) - 1) if place in slow else (birth[place], death[place])
        for place in size
        if place not in merged and place not in outside
    }
    change = [0] * (len(tape) + 1)
    for place, (first, end) in spans.items():
        change[first] += size[place]
        change[end + 1] -= size[place]
    live = 0
    for at, step in enumerate(change):
        live += step
        if live > found.peak_bytes:
            found.peak_bytes, found.peak_at = live, at
    for place, (first, end) in spans.items():
        if first <= found.peak_at <= end:
            found.alive[birth[place]] = found.alive.get(birth[place], 0) + size[place]


def _saved(tape: list, left: Walk) -> Iterator[tuple[int, Any]]:
    """Yield each `vjp` with each array that its op has kept for it."""
    for at, line in enumerate(tape):
        node = left.nodes.get(line[1]) if line[0] == "vjp" else None
        for array in node.saved if node is not None else ():
            if array is not None:
                yield at, array


def _transfers(tape: list, left: Walk, slow: dict, stored: Collection[int]) -> list[dict]:
    """Return a row for each load from the slow memory and each store into it.

    Raises Refused for any other op on what lies there.
    """
    rows = []

    def pass_by(at: int, what: str, moved: int) -> None:
        about = {"op": what, "input_shapes": [], "dtype": "", "at": at}
        rows.append(about | {"flops": 0, "moved": moved, "ms": float(moved)})

    def is_outside(array: Any) -> bool:
        return id(owner(array)) in stored or id(owner(array)) in slow

    for at, line in enumerate(tape):
        kind, made = line[0], [left.values[number] for number in left.made[at]]
        if kind == "vjp":
            raise Refused("backward has no place in two memories")
        if kind == "write" and is_outside(left.values[line[1]]):
            pass_by(at, "store", left.values[line[1]].nbytes)
        what = line[1] if kind == "op" else "a write"
        view = kind == "op" and dispatch.OPS[what].view and all(map(is_outside, made))
        for number in used(line)[kind == "write" :] if kind in ("op", "write") else ():
            root = id(owner(left.values[number]))
            if root in stored and not view:
                raise Refused(f"{what} reads what was stored: keep it instead", at)
            if root in slow and not view:
                if what != "clone":
                    sentence = f"{what} reads an input from the slow memory: load it first"
                    raise Refused(sentence, at)
                pass_by(at, f"load {slow[root]}", left.values[number].nbytes)
        if kind == "op" and not view and any(map(is_outside, made)):
            pass_by(at, "store", sum(array.nbytes for array in made if is_outside(array)))
    return rows
