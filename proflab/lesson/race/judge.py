"""Judge a tape: is it right, what does it cost, and which share of the way has it gone?

The order is: refused, no cheaper than the given program, wrong, below the floor, a share. Inputs
are drawn with a seed that follows from the tape itself, so the same tape always meets the same
numbers, and nobody can write a tape that knows the numbers that it will meet. The grader adds a
salt that students' code does not know, so that none can try tapes until one has luck.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from proflab.checks.values import dumps
from proflab.dispatch import Call
from proflab.lesson.race.cost import MACHINES, Cost, Machine, cost
from proflab.lesson.race.replay import Walk, reaching, users_of, walk
from proflab.lesson.race.tape import Refused, check, inputs_of
from proflab.meta import MetaArray

WITHIN = 2e-5  # of the largest result
MAX_RESULTS = 1_000_000
BELOW_FLOOR = (
    "your program costs less than this machine can; the count is at fault, and your instructor has "
    "been told"
)
_UNSEEN = 0.01  # of the cost: what is computed in vain and cheaper is no mistake to speak of
_LEAD = 1e-4  # of the best over the next, where a program chooses; relative to the largest
_TRIES = 20
_DRAWS = ("normal", "scaled", "shifted")
# By input: "positive"; "fan-in", divided by the root of the last size, as a fresh layer's weights
# are; or the number that drawn integers are below.
Draws = Mapping[str, Any]


def judge(tape: Any, given: list, op_facts: Callable | None, machine: str, *,
          within: float = WITHIN, floor: float | None = None, draws: Draws | None = None,
          state: tuple[str, ...] = (), fast: int | None = None, memory: int | None = None,
          run_slow: bool = False, salt: str = "") -> dict[str, Any]:  # fmt: skip
    """Return what a tape is worth beside the given program's, as plain data.

    "refused": a sentence; or "ms", "given", "floor": costs in ms (bytes, with two memories), and
    "error": the largest one on three draws relative to the largest result, None where the tape is
    no cheaper and was not run (unless run_slow); "wrong": a sentence, empty if it is right;
    "largest": the ops that cost most; "mistake": a sentence, or none. op_facts None: nothing is
    counted, results are compared. within: how far results may be off, relative to the largest.
    """
    if machine not in MACHINES:
        raise ValueError(f"there is no machine {machine!r}: take one of {', '.join(MACHINES)}")
    chosen = MACHINES[machine]
    options: dict[str, Any] = {"state": tuple(state), "fast": fast, "memory": memory}
    found: dict[str, Any] = {"error": None, "wrong": ""}
    try:
        check(tape, inputs_of(given))
        if op_facts is not None:
            paid = cost(tape, chosen, op_facts, **options)
            price = cost(given, chosen, op_facts, **options)
            least = floor_of(given, chosen, fast) if floor is None else floor
            found |= {"ms": paid.ms, "given": price.ms, "floor": least, "peak": paid.peak_bytes}
            found["largest"] = largest(paid, chosen)
            found["mistake"] = mistake(tape, paid, chosen)
            if paid.ms >= price.ms and not run_slow:
                return found
        known = examples(given, draws or {}, salt, tape, given)
        found["error"], found["wrong"] = compared(tape, known, within)
    except Refused as refused:
        return {"refused": str(refused)}
    return found


def share_of(found: Mapping[str, float], full: float) -> float:
    """Return the share of the way from the given program's cost to `full`, in logarithms."""
    if found["ms"] >= found["given"]:
        return 0.0
    return min(1.0, math.log(found["given"] / found["ms"]) / math.log(found["given"] / full))


def floor_of(given: list, machine: Machine, fast: int | None = None) -> float:
    """Return the ms in which a machine reads each input and writes each result once, in one op.

    fast: as in `cost`; then it is the bytes
    """
    moved = sum(math.prod(s) * np.dtype(d).itemsize for _, s, d in inputs_of(given))
    moved += sum(array.nbytes for array in on_meta(given).results)
    return machine.ms(0, moved) if fast is None else float(moved)


def on_meta(tape: list) -> Walk:
    """Return the walk over a tape without data. Raises Refused where results are too many."""
    inputs = {name: MetaArray(shape, np.dtype(dtype)) for name, shape, dtype in inputs_of(tape)}
    left = walk(tape, inputs)
    if sum(array.size for array in left.results) > MAX_RESULTS:
        raise Refused(f"the results of a race have at most {MAX_RESULTS:,} numbers")
    return left


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


def draw(inputs: list, seed: int, kind: str, draws: Draws) -> dict[str, np.ndarray]:
    """Return inputs of one of three kinds: normal; rows scaled from 0.05 to 3; shifted by 0.5."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, shape, dtype in inputs:
        how = draws.get(name, draws.get(name.rpartition(".")[2], "normal"))
        if np.dtype(dtype).kind in "iub":
            found[name] = rng.integers(0, 2 if how == "normal" else how, shape).astype(dtype)
            continue
        values = rng.standard_normal(shape)
        if how == "positive":
            values = np.abs(values) + 0.1
        elif kind == "scaled" and values.ndim > 1:
            values = values * np.geomspace(0.05, 3, values.shape[-2])[:, None]
        elif kind == "shifted":
            values = values + 0.5
        if how == "fan-in" and values.ndim > 1:
            values = values / math.sqrt(values.shape[-1])
        found[name] = np.asarray(values, dtype)
    return found


Example = tuple[dict[str, np.ndarray], list[np.ndarray]]


def examples(given: list, draws: Draws, *words: Any) -> Iterator[Example]:
    """Yield three draws of inputs, each with the given program's results in float64.

    words: plain data that decides which numbers are drawn. Where the program chooses by argmax, and
    its results depend on that, inputs are drawn again, at most _TRIES times, while the best two are
    so near that rounding could decide.
    """
    digest = hashlib.sha256(dumps(list(words))).digest()
    choices = _choices(given)
    for number, kind in enumerate(_DRAWS):
        first = int.from_bytes(digest[8 * number : 8 * number + 8], "big")
        for seed in range(first, first + _TRIES):
            inputs = draw(inputs_of(given), seed, kind, draws)
            wide = {
                name: a.astype("float64" if a.dtype == "float32" else a.dtype)
                for name, a in inputs.items()
            }
            leads: list[float] = []
            note = partial(_note_lead, leads, choices)
            results = walk(given, wide, note, wide=True).results
            if min(leads, default=1.0) > _LEAD:
                break
        yield inputs, [np.array(each) for each in results]


def _choices(tape: list) -> set[int]:
    """Return the instructions that choose by argmax, where another choice gives other results.

    Where the number that is chosen is all that is used of a choice, as in `max`, there is none: of
    two that are nearly equal either will do. Its gradient goes to one of them.
    """
    chosen = {at for at, line in enumerate(tape) if tuple(line[:2]) == ("op", "argmax")}
    if not chosen:
        return chosen
    left = on_meta(tape)
    users = users_of(tape, reaching(tape, left.made))
    for at in list(chosen):
        (place,), (array,) = left.made[at], tape[at][2]
        dim, rank = tape[at][3]["dim"], len(left.values[array].shape)
        taken = dim and ["op", "gather", [array, place], {"dim": dim[0] % rank}, None]
        if all(tape[user] == taken for user in users.get(place, ())):
            chosen.remove(at)
    return chosen


def _note_lead(leads: list[float], choices: set[int], at: int, call: Call, result: Any) -> None:
    """Add by how much the best of each of these choices leads, relative to the largest number."""
    if at not in choices:
        return
    numbers, dim = call.inputs[0].numpy(), call.attributes["dim"]
    two = np.sort(numbers.reshape(-1) if dim is None else np.moveaxis(numbers, dim, -1))[..., -2:]
    gaps = np.diff(two) if two.shape[-1] == 2 else np.zeros(0)
    # What is equal, or minus infinity for a mask, is so for any numbers: no other draw would help.
    if (gaps := gaps[np.isfinite(gaps) & (gaps > 0)]).size:
        largest = np.abs(numbers[np.isfinite(numbers)]).max()
        leads.append(float(gaps.min() / largest))


def compared(tape: list, known: Iterable[Example], within: float) -> tuple[float, str]:
    """Return the largest relative error on examples, and a sentence if it is too large."""
    counted = on_meta(tape)
    made = [array.shape for array in counted.results]
    worst = 0.0
    for inputs, expected in known:
        wanted = [array.shape for array in expected]
        if made != wanted:
            return math.inf, f"results of shapes {_few(made)} where {_few(wanted)} are expected"
        inputs = {name: array.copy() for name, array in inputs.items()}
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


def _few(shapes: list) -> str:
    return ", ".join(map(str, shapes[:4])) + (", …" if len(shapes) > 4 else "")
