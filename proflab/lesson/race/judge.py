"""Judge a tape: is it right, what does it cost, and which share of the way has it gone?

The order is: refused, no cheaper than the given program, wrong, below the floor, a share. What a
tape is judged beside, inputs with expected results among it, is worked out in `known.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from proflab.lesson.blas import on_threads
from proflab.lesson.race.cost import MACHINES, Cost, Machine, cost
from proflab.lesson.race.known import (
    Draws,
    Example,
    Known,
    counting,
    draw,
    examples,
    floor_of,
    known_of,
    on_meta,
)
from proflab.lesson.race.replay import Walk, users_of, walk
from proflab.lesson.race.tape import Refused, check, inputs_of

__all__ = ["Draws", "draw", "examples", "floor_of", "judge", "judged", "known_of", "share_of"]

WITHIN = 2e-5  # of the largest result
BELOW_FLOOR = (
    "your program costs less than this machine can; the count is at fault, and your instructor has "
    "been told"
)
_UNSEEN = 0.01  # of the cost: what is computed in vain and cheaper is no mistake to speak of
# What is run may take so many times the given program's work, and so many seconds besides.
_TIMES, _SECONDS = 10.0, 1.0


class Budget:
    """Limit the work of all tapes that are judged together, before any of it is done.

    known: what they are judged beside; the given programs measure it. seconds: what is left.
    """

    def __init__(self, *known: Known) -> None:
        self.seconds = _TIMES * math.fsum(each.work for each in known) + _SECONDS

    def spend(self, seconds: float) -> None:
        """Take what a tape's count says that running it takes; raise Refused for too much."""
        if seconds > self.seconds:
            raise Refused(
                f"running this program takes about {seconds:,.3g} s of work, where "
                f"{self.seconds:,.3g} s are left: it does far more than its cost shows"
            )
        self.seconds -= seconds


def judge(tape: Any, given: list, op_facts: Callable | None, machine: str, *,
          within: float = WITHIN, floor: float | None = None, draws: Draws | None = None,
          state: tuple[str, ...] = (), fast: int | None = None, memory: int | None = None,
          salt: str = "", announce: Callable[[float], None] | None = None,
          ) -> dict[str, Any]:  # fmt: skip
    """Return what a tape is worth beside the given program's, as plain data.

    "refused": a sentence; or "ms", "given", "floor": costs in ms (bytes, with two memories), and
    "error": the largest one on three draws relative to the largest result, None where the tape is
    no cheaper and was not run; "wrong": a sentence, empty if it is right; "largest": the ops that
    cost most; "mistake": a sentence, or none. op_facts None: nothing is counted, results are
    compared. within: how far results may be off, relative to the largest. salt: decides, with the
    given program, which inputs are drawn. announce: called with the seconds that running takes.
    """
    options: dict[str, Any] = {"state": state, "fast": fast, "memory": memory}
    known = known_of(given, op_facts, machine, within=within, floor=floor, draws=draws, salt=salt,
                     **options)  # fmt: skip
    return judged(tape, known, op_facts, machine, within=within, announce=announce, **options)


def judged(tape: Any, known: Known, op_facts: Callable | None, machine: str, *,
           within: float = WITHIN, state: tuple[str, ...] = (), fast: int | None = None,
           memory: int | None = None, budget: Budget | None = None,
           announce: Callable[[float], None] | None = None, **_: Any,
           ) -> dict[str, Any]:  # fmt: skip
    """Return what `judge` does, beside what is known of the race already.

    budget: of all tapes that are judged together; None: this one's own.
    """
    found: dict[str, Any] = {"error": None, "wrong": ""}
    options: dict[str, Any] = {"state": tuple(state), "fast": fast, "memory": memory}
    try:
        check(tape, known.inputs)
        if op_facts is None:
            counted = on_meta(tape)
        else:
            budget = budget or Budget(known)
            budget.spend(counting(tape))
            paid = cost(tape, MACHINES[machine], op_facts, **options)
            counted = paid.walk
            found |= {"ms": paid.ms, "given": known.ms, "floor": known.floor}
            found["peak"] = paid.peak_bytes
            found["largest"] = largest(paid, MACHINES[machine])
            found["mistake"] = mistake(tape, paid, MACHINES[machine])
            if paid.ms >= (known.ms or 0.0):
                return found
            budget.spend(paid.work)
            if announce is not None:
                announce(known.work + paid.work)  # three draws, of a count that is too high
        found["error"], found["wrong"] = compared(tape, known, counted, within)
    except Refused as refused:
        return {"refused": str(refused)}
    return found


def share_of(found: Mapping[str, float], full: float) -> float:
    """Return the share of the way from the given program's cost to `full`, in logarithms."""
    if found["ms"] >= found["given"]:
        return 0.0
    return min(1.0, math.log(found["given"] / found["ms"]) / math.log(found["given"] / full))


def largest(paid: Cost, machine: Machine) -> dict[str, Any]:
    """Return the group of equal ops that costs most: op, count, ms, its share, and the wall."""
    groups: dict[tuple, list[dict]] = {}
    for row in paid.rows:
        groups.setdefault((row["op"], tuple(map(tuple, row["input_shapes"]))), []).append(row)
    if not groups:
        return {}
    rows = max(groups.values(), key=lambda rows: sum(row["ms"] for row in rows))
    ms = sum(row["ms"] for row in rows)
    share = ms / paid.ms if paid.ms else 0.0
    told = {"op": rows[0]["op"], "count": len(rows), "share": share}
    wall = "bytes" if paid.two_memories else wall_of(rows, machine)
    return told | {"wall": wall, "at": rows[0]["at"]}


def wall_of(rows: list[dict], machine: Machine) -> str:
    """Return what most of the rows' time goes to: overhead, bytes or FLOPs."""
    walls = {
        "overhead": len(rows) * machine.op_us / 1e6,
        "bytes": sum(row["moved"] for row in rows) / machine.bandwidth,
        "FLOPs": sum(row["flops"] for row in rows) / machine.peak_flops,
    }
    return max(walls, key=lambda name: walls[name])


def told(found: Mapping[str, Any], machine: str, full: float, fast: int | None = None) -> str:
    """Return what a right program's cost comes to, in a line."""
    given, paid = (
        f"{found[name]:,.5g}" if fast is None else f"{found[name]:,.0f}" for name in ("given", "ms")
    )
    return way(given, paid, unit_of(machine, fast), share_of(found, full))


def way(given: str, paid: str, unit: str, share: float) -> str:
    """Return what has become of the given cost, and the share of the way to full marks."""
    return f"{given} → {paid} {unit}: {100 * share:.0f} % of the way"


def unit_of(machine: str, fast: int | None = None) -> str:
    """Return what costs are counted in; fast: as in `cost`."""
    return f"ms on {machine}" if fast is None else "bytes between the memories"


def hint(found: Mapping[str, Any]) -> str:
    """Return which ops cost most in what remains, and what betrays a mistake."""
    top = found.get("largest") or {}
    if not top:
        return ""
    what = f"largest: {100 * top['share']:.0f} %, {top['count']:,} × {top['op']}, {top['wall']}"
    return "; ".join(filter(None, (what, found.get("mistake"))))


def mistake(tape: list, paid: Cost, machine: Machine) -> str:
    """Return a sentence on the first of four mistakes that a program's ops betray.

    With two memories: which input is loaded how often.
    """
    if paid.two_memories:
        return _loaded(tape, paid)
    if any(row["dtype"] == "float64" and row["ms"] for row in paid.rows):
        return "it computes in float64"
    if unseen := _unseen(tape, paid):
        return unseen
    ops = sum(row["ms"] > 0 for row in paid.rows)
    if ops * machine.op_us / 1e3 > paid.ms / 2:
        return f"{ops:,} ops of {machine.op_us:g} µs: the machine waits for the program"
    seen: set[str] = set()
    paying = {row["at"] for row in paid.rows if row["ms"]}
    for at, line in enumerate(tape):
        if line[0] == "vjp":
            break  # from here on, what is computed again is so to save memory
        if line[0] == "write":
            seen.clear()  # what is equal may have other operands now
        if line[0] == "op" and at in paying:
            if (asked := repr(line[1:4])) in seen:
                return f"{line[1]} is computed twice, on the same operands"
            seen.add(asked)
    return ""


def _unseen(tape: list, paid: Cost) -> str:
    """Return which product's results are used by slices alone that take at most half, or none."""
    sizes = {row["at"]: math.prod(row["output_shape"]) for row in paid.rows}
    users = users_of(tape, range(len(tape)))
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
            return f"{op} computes {times:,.3g} times as many numbers as are looked at"
    return ""


def _loaded(tape: list, paid: Cost) -> str:
    times = {
        name: sum(row["moved"] for row in paid.rows if row["op"] == f"load {name}")
        / max(1, math.prod(shape) * np.dtype(dtype).itemsize)
        for name, shape, dtype in inputs_of(tape)
    }
    most = max(times, key=lambda name: times[name], default="")
    return f"{most} is loaded {times[most]:.3g} times over" if times.get(most, 0) > 1 else ""


def compared(tape: list, known: Known, counted: Walk, within: float) -> tuple[float, str]:
    """Return the largest relative error on examples, and a sentence if it is too large.

    counted: the walk over the tape on meta arrays
    """
    made = [(array.shape, str(array.dtype)) for array in counted.results]
    for place, what in enumerate(("shapes", "types")):
        got, wanted = ([str(each[place]) for each in kinds] for kinds in (made, known.results))
        if got != wanted:
            return math.inf, f"results of {what} {_few(got)} where {_few(wanted)} are expected"
    with on_threads(1):
        return _errors(tape, known.examples(), counted, within)


def _errors(
    tape: list, known: Iterable[Example], counted: Walk, within: float
) -> tuple[float, str]:
    worst = 0.0
    for inputs, expected in known:
        actual = walk(tape, inputs, counted=counted).results
        for got, want in zip(actual, expected, strict=True):
            error, place = _error(np.asarray(got, "float64"), np.asarray(want, "float64"))
            worst = max(worst, error)
            if not error <= within:
                where = f", first at {place}" if place else ""
                allowed = f"{within:.10f}".rstrip("0")
                return error, f"off by {error:.2g} where {allowed} is allowed{where}"
    return worst, ""


def _error(got: np.ndarray, want: np.ndarray) -> tuple[float, tuple]:
    """Return the largest error, relative to the largest result, and its place; NaN is infinite."""
    if not want.size:
        return 0.0, ()
    gap = np.asarray(np.abs(got - want))
    gap[np.isnan(gap)] = np.inf
    gap[got == want] = 0.0  # equal infinities
    finite = np.abs(want[np.isfinite(want)])
    place = np.unravel_index(int(gap.argmax()), gap.shape)
    return float(gap.max() / (finite.max(initial=0.0) + 1e-30)), tuple(map(int, place))


def _few(kinds: list[str]) -> str:
    return ", ".join(kinds[:4]) + (", …" if len(kinds) > 4 else "")
