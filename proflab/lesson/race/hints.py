"""Say what can still fall in a counted program, and what betrays a mistake in it.

What is large need not be what can fall: a program has to read its inputs, write its results and
multiply. So each line of the program, or each group of equal ops where the lines are not known, is
set beside its own floor, and the line that is farthest above it is named. The same work on many
lines is little on each of them, so a kind of op is set beside its floor, too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from proflab.lesson.race.cost import Cost, Machine
from proflab.lesson.race.replay import Walk, used, users_of
from proflab.lesson.race.tape import inputs_of
from proflab.lesson.tensor_memory import owner

WORTH = 0.1  # of the cost: what is less is not worth a word
_UNSEEN = 0.01  # of the cost: what is computed in vain and cheaper is no mistake to speak of
_NOTHING = "nothing is left that is worth a tenth of the cost: the rest is inputs to {}"
_SCATTERED = "can still fall: {:.0f} % of the cost, but no line and no kind of op by a tenth of it"
_TURNS = 8  # products one after the other, fewer of which may as well be one
_FAR_MORE = 2  # times what a line can fall by: a kind of op that is worth a word beside it
_REST = {False: "read, results to write and products", True: "load once and results to store"}
Hint = dict[str, Any]  # "told", a sentence; "at", an instruction of the line that it is about


def hints(tape: list, paid: Cost, machine: Machine, floor: float | None) -> list[Hint]:
    """Return what can still fall most in a program, and the first mistake that it betrays.

    Where it betrays none, the second is a kind of op, if it is worth far more than a line.

    floor: what no program of this race goes below, or None
    """
    betrayed, floor = mistake(tape, paid, machine), floor or 0.0
    if not paid.ms or paid.ms - floor < WORTH * paid.ms:
        return [betrayed or _nothing(paid)]
    if again := _again(tape, paid):
        return [again, betrayed] if betrayed else [again]
    needed, lines = _needed(tape, paid), _groups(tape, paid)
    about = needed, _depths(tape, paid), paid, machine
    over = [_over(rows, *about) for rows in lines]
    most = _left(tape, lines, over, paid, machine, floor)
    second = betrayed or _together(max(over), *about)
    return [each for each in (most, second) if each is not None] or [_rest(over, paid)]


def texts(found: Mapping[str, Any], line_of: Callable[[int], str] | None = None) -> list[str]:
    """Return the sentences of what `judge` has found, each with its line where lines are known."""
    return [
        each["told"] + (f": {line_of(each['at'])}" if line_of and each["at"] is not None else "")
        for each in found.get("hints", ())
    ]


# ── what can still fall ──────────────────────────────────────────────────────────────────────


def _left(tape: list, groups: list[list[dict]], over: list[float], paid: Cost, machine: Machine,
          floor: float) -> Hint | None:  # fmt: skip
    """Return what can still fall most, or None if nothing is worth a word.

    It is either the line that is farthest above its own floor: one op's overhead, the inputs that
    it is the first to read, the results that it writes, and its products. Or it is the products,
    where all of them together take longer than the floor of the race.
    groups, over: the rows of each line, and by how much they cost more than its floor
    """
    # Backward's products follow from the forward pass, and two memories count none.
    given = paid.two_memories or any(line[0] == "vjp" for line in tape)
    products = [0.0 if given else _products(rows, machine) for rows in groups]
    avoidable = math.fsum(products) - floor
    if max(over) < WORTH * paid.ms > avoidable:  # neither is worth a word
        return None
    if avoidable > max(over):
        rows, ms = groups[products.index(max(products))], max(products)
        top = max(rows, key=lambda row: row["matmul_flops"])
        shapes = " and ".join(map(str, map(tuple, top["input_shapes"][:2])))
        what = (
            f"{100 * ms / paid.ms:.0f} % of the cost is FLOPs of products, the largest of {shapes}"
        )
        return {"told": f"{what}: can there be fewer, or smaller ones", "at": top["at"]}
    rows, ms = groups[over.index(max(over))], max(over)
    return {"told": _falling(rows, ms, paid, machine), "at": rows[0]["at"]}


def _falling(rows: list[dict], over: float, paid: Cost, machine: Machine) -> str:
    """Return which share of the cost some rows are above their floor, and what it goes to."""
    why = "bytes, " if paid.two_memories else f"cost, {_why(rows, over, machine)} of "
    return f"can still fall: {100 * over / paid.ms:.0f} % of the {why}{_counted(rows)}"


def _together(
    line: float, needed: Mapping[int, float], depths: Mapping[int, int], paid: Cost,
    machine: Machine,
) -> Hint | None:  # fmt: skip
    """Return the kind of op that is farthest above its floor, on all lines together, or None.

    It is worth a word where no single line is, or where it is worth far more than any line.
    line: by how much the line that is farthest above its floor costs more than that
    """
    kinds: dict[str, list[dict]] = {}
    for row in filter(lambda row: row["ms"], paid.rows):
        kinds.setdefault(row["op"], []).append(row)
    over = {op: _over(rows, needed, depths, paid, machine) for op, rows in kinds.items()}
    op = max(over, key=lambda op: over[op])
    if over[op] < WORTH * paid.ms or (line >= WORTH * paid.ms and over[op] < _FAR_MORE * line):
        return None
    told = f"{_falling(kinds[op], over[op], paid, machine)}, on all lines together"
    return {"told": told, "at": None}


def _rest(over: list[float], paid: Cost) -> Hint:
    """Return what is said of a program of which no line and no kind of op is worth a word."""
    ms = math.fsum(max(0.0, each) for each in over)
    if ms < WORTH * paid.ms:
        return _nothing(paid)
    return {"told": _SCATTERED.format(100 * ms / paid.ms), "at": None}


def _nothing(paid: Cost) -> Hint:
    return {"told": _NOTHING.format(_REST[paid.two_memories]), "at": None}


def _again(tape: list, paid: Cost) -> Hint | None:
    """Return what backward runs again to save memory, where it is worth a word."""
    started = next(iter(_places(tape, "vjp")), len(tape))
    rows = [row for row in paid.rows if row["at"] > started and tape[row["at"]][0] == "op"]
    rows = [row for row in rows if tape[row["at"]][4] is not None]  # that will be differentiated
    ms = math.fsum(row["ms"] for row in rows)
    if ms < WORTH * paid.ms:
        return None
    told = f"can still fall: {100 * ms / paid.ms:.0f} % of the cost, what backward runs again"
    return {"told": f"{told} ({_counted(rows)})", "at": None}


def _groups(tape: list, paid: Cost) -> list[list[dict]]:
    """Return the rows that cost something by line, or by op and shapes where no line is known.

    A backward is on the line of its forward op.
    """
    lines = getattr(tape, "lines", None)
    groups: dict[Any, list[dict]] = {}
    for row in filter(lambda row: row["ms"], paid.rows):
        alike = row["op"], tuple(map(tuple, row["input_shapes"]))
        instruction = tape[row["at"]]
        at = instruction[1] if instruction[0] == "vjp" else row["at"]
        groups.setdefault(lines[at] if lines else alike, []).append(row)
    return list(groups.values())


def _needed(tape: list, paid: Cost) -> dict[int, float]:
    """Return, by instruction, the bytes of inputs that are read first and of results written.

    A write that costs nothing is that of the op before it.
    """
    walked = paid.walk
    inputs = {_root_of(walked, n) for at in _places(tape, "in") for n in walked.made[at]}
    results = {id(owner(array)) for array in walked.results}
    unpaid: dict[int, float] = {}
    rows = {row["at"] for row in paid.rows if row["ms"]}
    found: dict[int, float] = {}
    paying = -1
    for at, line in enumerate(tape):
        paying = at if at in rows else paying
        touched = [(line[1], results)] if line[0] == "write" else []
        if paying == at:
            touched += [(number, inputs) for number in used(line)]
            touched += [(number, results) for number in walked.made[at]]
        for number, among in touched if paying >= 0 else ():
            root = _root_of(walked, number)
            if root in among:
                left_over = unpaid.setdefault(root, owner(walked.values[number]).nbytes)
                part = min(walked.values[number].nbytes, left_over)
                unpaid[root] = left_over - part
                found[paying] = found.get(paying, 0.0) + part
    return found


def _root_of(walked: Walk, number: int) -> int:
    """Return the identity of the storage in which a value lies."""
    return id(owner(walked.values[number]))


def _places(tape: list, kind: str) -> Iterator[int]:
    """Yield the instructions of a kind."""
    return (at for at, line in enumerate(tape) if line[0] == kind)


def _over(
    rows: list[dict], needed: Mapping[int, float], depths: Mapping[int, int], paid: Cost,
    machine: Machine,
) -> float:  # fmt: skip
    """Return by how much a line costs more than its floor."""
    if paid.two_memories:
        return math.fsum(row["ms"] - min(row["ms"], needed.get(row["at"], 0.0)) for row in rows)
    turns, ops = [depths[row["at"]] for row in rows if row["matmul_flops"]], 1
    if len(turns) == len({*turns}) >= _TURNS:  # no two can be one, nor share what they read
        rows = [row for row in rows if not row["matmul_flops"]]
        ops = len(rows)
    ms = math.fsum(row["ms"] for row in rows)
    least = math.fsum(
        max(_product_ms(row, machine), _bytes_ms(row, needed, machine)) for row in rows
    )
    return ms - least - ops * machine.op_us / 1e3


def _depths(tape: list, paid: Cost) -> dict[int, int]:
    """Return, by instruction, how many products follow from each other up to it."""
    products = {row["at"] for row in paid.rows if row.get("matmul_flops")}
    found: dict[int, int] = {}
    deep: dict[int, int] = {}  # by storage
    for at, line in enumerate(tape):
        before = (deep.get(_root_of(paid.walk, number), 0) for number in used(line))
        found[at] = max(before, default=0) + (at in products)
        for number in line[1:2] if line[0] == "write" else paid.walk.made[at]:
            root = _root_of(paid.walk, number)
            deep[root] = max(deep.get(root, 0), found[at])
    return found


def _products(rows: list[dict], machine: Machine) -> float:
    """Return the ms of a line's products that its bytes do not take as well."""
    ms = ((_product_ms(row, machine), 1e3 * row["moved"] / machine.bandwidth) for row in rows)
    return math.fsum(product for product, moving in ms if product > moving)


def _product_ms(row: Mapping[str, Any], machine: Machine) -> float:
    twice = 2 if row["dtype"] == "float64" else 1  # they could be float32
    return 1e3 * row["matmul_flops"] / twice / machine.peak_flops


def _bytes_ms(row: Mapping[str, Any], needed: Mapping[int, float], machine: Machine) -> float:
    return 1e3 * min(row["moved"], needed.get(row["at"], 0.0)) / machine.bandwidth


def _why(rows: list[dict], over: float, machine: Machine) -> str:
    """Return what most of that by which a line is above its floor goes to."""
    overhead = (len(rows) - 1) * machine.op_us / 1e3
    if overhead > over / 2:
        return "overhead"
    walls = wall_seconds(rows, machine)
    return "bytes" if walls["bytes"] >= walls["FLOPs"] else "FLOPs"


def _counted(rows: list[dict]) -> str:
    """Return the two kinds of op of a line that cost most, with how often they are there."""
    ms: Counter[str] = Counter()
    for row in rows:
        ms[row["op"]] += row["ms"]
    count = Counter(row["op"] for row in rows)
    named = [f"{count[op]:,} × {op}" for op, _ in ms.most_common(2)]
    return ", ".join(named) + (", …" if len(ms) > 2 else "")


def wall_seconds(rows: list[dict], machine: Machine) -> dict[str, float]:
    """Return the seconds that overhead, bytes and FLOPs of some rows would take alone."""
    return {
        "overhead": len(rows) * machine.op_us / 1e6,
        "bytes": math.fsum(row["moved"] for row in rows) / machine.bandwidth,
        "FLOPs": math.fsum(row["flops"] for row in rows) / machine.peak_flops,
    }


def wall_of(rows: list[dict], machine: Machine) -> str:
    """Return what most of the rows' time goes to: overhead, bytes or FLOPs."""
    walls = wall_seconds(rows, machine)
    return max(walls, key=lambda name: walls[name])


# ── what betrays a mistake ───────────────────────────────────────────────────────────────────


def mistake(tape: list, paid: Cost, machine: Machine) -> Hint | None:
    """Return the first of four mistakes that a program's ops betray.

    With two memories: which input is loaded how often.
    """
    if paid.two_memories:
        return _loaded(tape, paid)
    wide = [row["at"] for row in paid.rows if row["dtype"] == "float64" and row["ms"]]
    if wide:
        return {"told": "it computes in float64", "at": wide[0]}
    if unseen := _unseen(tape, paid):
        return unseen
    ops = sum(row["ms"] > 0 for row in paid.rows)
    if ops * machine.op_us / 1e3 > paid.ms / 2:
        waits = f"{ops:,} ops of {machine.op_us:g} µs: the machine waits for the program"
        return {"told": waits, "at": None}
    return _twice(tape, paid)


def _twice(tape: list, paid: Cost) -> Hint | None:
    """Return the first op that the program has computed before, on the same operands."""
    seen: set[str] = set()
    paying = {row["at"] for row in paid.rows if row["ms"]}
    for at, line in enumerate(tape):
        if line[0] == "vjp":
            break  # from here on, what is computed again is so to save memory
        if line[0] == "write":
            seen.clear()  # what is equal may have other operands now
        if line[0] == "op" and at in paying:
            if (asked := repr(line[1:4])) in seen:
                return {"told": f"{line[1]} is computed twice, on the same operands", "at": at}
            seen.add(asked)
    return None


def _unseen(tape: list, paid: Cost) -> Hint | None:
    """Return which product's results are used by slices alone that take at most half, or none."""
    sizes = {row["at"]: math.prod(row["output_shape"]) for row in paid.rows}
    users = users_of(tape)
    wasteful: dict[str, list[dict]] = {}
    for row in paid.rows:
        by = users.get(paid.made.get(row["at"], -1), [])
        if row["matmul_flops"] and by and all(tape[at][1] == "getitem" for at in by):
            seen = sum(sizes.get(at, 0) for at in by)
            if 2 * seen <= sizes[row["at"]]:
                wasteful.setdefault(row["op"], []).append(row | {"seen": seen})
    for op, rows in wasteful.items():
        if math.fsum(row["ms"] for row in rows) > _UNSEEN * paid.ms:
            made = sum(sizes[row["at"]] for row in rows)
            times = made / max(1, sum(row["seen"] for row in rows))
            told = f"{op} computes {times:,.3g} times as many numbers as are looked at"
            return {"told": told, "at": rows[0]["at"]}
    return None


def _loaded(tape: list, paid: Cost) -> Hint | None:
    """Return the inputs that are loaded most often, where it is more than once."""
    times = {
        name: sum(row["moved"] for row in paid.rows if row["op"] == f"load {name}")
        / max(1, math.prod(shape) * np.dtype(dtype).itemsize)
        for name, shape, dtype in inputs_of(tape)
    }
    most = max(times.values(), default=0.0)
    if most <= 1:
        return None
    names = [name for name, each in times.items() if each == most]
    are = "are" if len(names) > 1 else "is"
    return {"told": f"{' and '.join(names)} {are} loaded {most:.3g} times over", "at": None}
