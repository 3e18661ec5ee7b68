"""Work out what all tapes of one race are judged beside: the given program's cost and its results.

None of it depends on the tape that is judged, so the grader computes it once for a whole class.
Inputs are drawn with a seed that follows from the given program and a salt. Students' code does not
know the grader's salt, so nobody can write a tape that knows the numbers that it will meet, or try
tapes until one has luck.
"""

from __future__ import annotations

import hashlib
import math
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from proflab.checks.values import dumps
from proflab.dispatch import Call
from proflab.lesson.blas import on_threads
from proflab.lesson.race.cost import Machine, cost, machine_of
from proflab.lesson.race.replay import Reading, Walk, reaching, users_of, walk
from proflab.lesson.race.tape import Refused, inputs_of
from proflab.meta import MetaArray

MAX_RESULTS = 1_000_000
_LEAD = 1e-4  # of the best over the next, where a program chooses; relative to the largest
_TRIES = 20
# Kinds of `draw`, one after the other: so no term of a formula is negligible in all of them.
_DRAWS = ("normal", "scaled", "shifted")
_COUNT = 5e-5  # seconds for an instruction
_EXACT = 1e-6  # a race that allows less than this keeps its expected results in float64
# By input: "positive"; "fan-in", divided by the root of the last size, as a fresh layer's weights
# are; or the number that drawn integers are below.
Draws = Mapping[str, Any]
Example = tuple[dict[str, np.ndarray], list[np.ndarray]]
Drawn = tuple[int, str, list[np.ndarray]]  # a seed, a kind, and the expected results
Row = tuple[str, tuple, int, float]  # an op, its operands' shapes, its instruction, its ms


@dataclass(frozen=True)
class Terms:
    """Say what a race asks, and what it allows: all that its case says besides program and machine.

    within: how far results may be off, relative to the largest. floor: what no right program costs
    less than, where it is not what reading inputs and writing results costs. draws: how inputs are
    drawn. state, fast, memory: as in `cost`.
    """

    within: float = 2e-5
    floor: float | None = None
    draws: Draws | None = None
    state: tuple[str, ...] = ()
    fast: int | None = None
    memory: int | None = None

    @property
    def of_cost(self) -> dict[str, Any]:
        """Return those that `cost` takes, by the names of its parameters."""
        return {"state": tuple(self.state), "fast": self.fast, "memory": self.memory}


@dataclass
class Known:
    """Hold what a tape is judged beside.

    inputs: (name, shape, dtype) of each. results: (shape, dtype) of each. ms, floor: costs, None
    where nothing is counted. work: seconds that counting and running the given program take here,
    about. drawn: draws with the expected results, three in the end; more: what works out those that
    are still to be asked for.
    rows: of each op of the given program, its name, its operands' shapes, its instruction and its
    ms; for a work log alone. lines: how many instructions it has. digest: of its tape.
    """

    inputs: list[tuple]
    results: list[tuple]
    ms: float | None
    floor: float | None
    work: float
    draws: Draws
    drawn: list[Drawn]
    rows: list[Row] = field(default_factory=list)
    lines: int = 0
    digest: str = ""
    more: Iterator[Drawn] | None = None

    def examples(self) -> Iterator[Example]:
        """Yield each draw's inputs with the results that are expected.

        The given program is run for a draw when it is asked for: a wrong result needs no second.
        """
        for number in range(len(_DRAWS)):
            seed, kind, results = self._expected(number + 1)[number]
            yield draw(self.inputs, seed, kind, self.draws), results

    def as_data(self) -> dict[str, Any]:
        """Return all of it as plain data, of which `Known(**data)` makes it again."""
        return vars(self) | {"drawn": self._expected(), "draws": dict(self.draws), "more": None}

    def _expected(self, least: int = len(_DRAWS)) -> list[Drawn]:
        """Return at least so many draws with their results."""
        while len(self.drawn) < least and self.more is not None:
            with on_threads(1):
                self.drawn.append(next(self.more))
        return self.drawn


def known_of(
    given: list, op_facts: Callable | None, machine: str, *, salt: str = "", rows: bool = False,
    **options: Any,
) -> Known:  # fmt: skip
    """Return what the tapes of a race are judged beside.

    salt: decides, with the given program, which inputs are drawn. rows: what each op costs, too.
    options: the race's Terms. Raises ValueError for a machine that there is not, and Refused
    where the given program cannot be run.
    """
    terms, chosen, ms, work, each_op = Terms(**options), machine_of(machine), None, 0.0, []
    if op_facts is None:
        counted = on_meta(given)
    else:
        paid = cost(given, chosen, op_facts, **terms.of_cost)
        ms, work = paid.ms, paid.work + counting(given)
        each_op = [row_of(row) for row in paid.rows] if rows else []
        counted = _few_results(paid.walk)
    inputs, results = inputs_of(given), kinds_of(counted)
    draws, floor = terms.draws or {}, terms.floor
    if floor is None and op_facts is not None:
        floor = floor_by_bytes(inputs, results, chosen, terms.fast)
    drawn = (
        (seed, kind, [_kept(each, terms.within) for each in results])
        for seed, kind, results in _drawn(given, draws, salt)
    )
    return Known(inputs, results, ms, floor, work, draws, [], each_op, len(given),
                 digest_of(given), drawn)  # fmt: skip


def digest_of(data: Any) -> str:
    """Return a digest by which a tape, or other plain data, is known again."""
    return hashlib.sha256(dumps(data)).hexdigest()


class Content(bytes):
    """Hold plain data as `functools.lru_cache` needs it: as its pickle, and as it is in `data`.

    A digest takes twenty times as long. Equal data that was made otherwise is worked out once more.
    """

    data: Any

    def __new__(cls, data: Any) -> Content:
        content = super().__new__(cls, pickle.dumps(data))
        content.data = data
        return content


def row_of(row: Mapping[str, Any]) -> Row:
    """Return what a work log looks at of a counted op; its shapes in order: `y + x` is `x + y`."""
    return row["op"], tuple(sorted(map(tuple, row["input_shapes"]))), row["at"], row["ms"]


def counting(tape: list) -> float:
    """Return about how many seconds it takes to count a tape."""
    return _COUNT * len(tape)


def _kept(array: np.ndarray, within: float) -> np.ndarray:
    """Return expected results in the fewest bytes that tell right from wrong."""
    return array.astype("float32") if array.dtype == "float64" and within >= _EXACT else array


def floor_of(given: list, machine: Machine, fast: int | None = None) -> float:
    """Return the ms in which a machine reads each input and writes each result once, in one op.

    fast: as in `cost`; then it is the bytes
    """
    return floor_by_bytes(inputs_of(given), kinds_of(on_meta(given)), machine, fast)


def floor_by_bytes(
    inputs: list[tuple], results: list[tuple], machine: Machine, fast: int | None = None
) -> float:
    """Return what `floor_of` does, by what `Known` has of inputs and results."""
    kinds = [*(each[-2:] for each in inputs), *results]
    moved = sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in kinds)
    return machine.ms(0, moved) if fast is None else float(moved)


def kinds_of(counted: Walk) -> list[tuple]:
    """Return the shape and the dtype of each result."""
    return [(array.shape, str(array.dtype)) for array in counted.results]


def on_meta(tape: list) -> Walk:
    """Return the walk over a tape without data. Raises Refused where results are too many."""
    inputs = {name: MetaArray(shape, np.dtype(dtype)) for name, shape, dtype in inputs_of(tape)}
    return _few_results(walk(tape, inputs))


def _few_results(left: Walk) -> Walk:
    if sum(array.size for array in left.results) > MAX_RESULTS:
        raise Refused(f"the results of a race have at most {MAX_RESULTS:,} numbers")
    return left


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


def _drawn(given: list, draws: Draws, salt: str) -> Iterator[Drawn]:
    """Yield (seed, kind, results in float64) of three draws.

    Where the program chooses by argmax, and its results depend on that, inputs are drawn again, at
    most _TRIES times, while the best two are so near that rounding could decide.
    """
    digest = hashlib.sha256(dumps([salt, given])).digest()
    choices, reading = _choices(given), Reading(given)
    for number, kind in enumerate(_DRAWS):
        # The digest's 32 bytes hold the seed of one more draw, and of no further one.
        first = int.from_bytes(digest[8 * number : 8 * number + 8], "big")
        for seed in range(first, first + _TRIES):
            inputs = draw(inputs_of(given), seed, kind, draws)
            wide = {
                name: a.astype("float64" if a.dtype == "float32" else a.dtype)
                for name, a in inputs.items()
            }
            leads: list[float] = []
            note = partial(_note_lead, leads, choices) if choices else None
            results = walk(given, wide, note, wide=True, reading=reading).results
            if min(leads, default=1.0) > _LEAD:
                break
        yield seed, kind, [np.array(each) for each in results]


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
