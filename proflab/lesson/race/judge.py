"""Judge a tape: is it right, what does it cost, and which share of the way has it gone?

The order is: refused, no cheaper than the given program, wrong, below the floor, a share. What a
tape is judged beside, inputs with expected results among it, is worked out in `known.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from proflab.lesson.blas import on_threads
from proflab.lesson.race.cost import MACHINES, cost
from proflab.lesson.race.hints import hints
from proflab.lesson.race.known import Content, Example, Known, Terms, counting, known_of, on_meta
from proflab.lesson.race.replay import Walk, walk
from proflab.lesson.race.tape import Refused, check

BELOW_FLOOR = (
    "your program costs less than this machine can; the count is at fault, and your instructor has "
    "been told"
)
# What is run may take so many times the given program's work, and so many seconds besides.
_TIMES, _SECONDS = 10.0, 1.0
_MOST_KNOWN = 12  # races; of each, three draws of at most a million numbers


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


def judge(
    tape: Any, given: list, op_facts: Callable | None, machine: str, *, salt: str = "",
    announce: Callable[[float], None] | None = None, **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return what a tape is worth beside the given program's, as plain data.

    "refused": a sentence, with "at" and "alive" as Refused has them. Or "ms", "given" and "floor":
    costs in ms (bytes, with two memories); "error": the largest one on three draws relative to the
    largest result, None where the tape is no cheaper and was not run; "wrong": a sentence, empty if
    it is right; "hints": what can still fall, and what betrays a mistake, as `hints` has them;
    "race": the digest of the given program.
    op_facts None: nothing is counted, results are compared.
    salt: decides, with the given program, which inputs are drawn.
    announce: called with the seconds that running takes. options: the race's Terms.
    """
    known = _kept_known(Content([[*given], machine, {"salt": salt, **options}]), op_facts)
    try:
        return judged(tape, known, op_facts, machine, announce=announce, **options)
    except BaseException:  # as an interrupt, after which no further draw can be asked for
        _kept_known.cache_clear()
        raise


@lru_cache(_MOST_KNOWN)
def _kept_known(asked: Content, op_facts: Callable | None) -> Known:
    """Return what is known of a race, which is kept from try to try.

    So a try runs its own program alone, and the given one is run once for all of a notebook's.
    """
    given, machine, options = asked.data
    return known_of(given, op_facts, machine, **options)


def judged(
    tape: Any, known: Known, op_facts: Callable | None, machine: str, *,
    budget: Budget | None = None, announce: Callable[[float], None] | None = None, **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return what `judge` does, beside what is known of the race already.

    budget: of all tapes that are judged together; None: this one's own.
    """
    found: dict[str, Any] = {"error": None, "wrong": "", "race": known.digest}
    terms = Terms(**options)
    try:
        check(tape, known.inputs)
        if op_facts is None:
            counted = on_meta(tape)
        else:
            budget = budget or Budget(known)
            budget.spend(counting(tape))
            paid = cost(tape, MACHINES[machine], op_facts, **terms.of_cost)
            counted = paid.walk
            found |= {"ms": paid.ms, "given": known.ms, "floor": known.floor}
            found["peak"] = paid.peak_bytes
            found["hints"] = hints(tape, paid, MACHINES[machine], known.floor)
            if paid.ms >= (known.ms or 0.0):
                return found
            budget.spend(paid.work)
            if announce is not None:
                announce(known.work + paid.work)  # three draws, of a count that is too high
        found["error"], found["wrong"] = compared(tape, known, counted, terms.within)
    except Refused as refused:
        return {"refused": str(refused), "at": refused.at, "alive": list(refused.alive.items())}
    return found


def share_of(found: Mapping[str, float], full: float) -> float:
    """Return the share of the way from the given program's cost to `full`, in logarithms."""
    if found["ms"] >= found["given"]:
        return 0.0
    return min(1.0, math.log(found["given"] / found["ms"]) / math.log(found["given"] / full))


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
                off, allowed = map(_plain, (error, within))
                return error, f"off by {off} where {allowed} is allowed{where}"
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


def _plain(value: float) -> str:
    """Return a number by two digits, without an exponent: 0.00004."""
    return np.format_float_positional(value, precision=2, fractional=False, trim="-")


def _few(kinds: list[str]) -> str:
    return ", ".join(kinds[:4]) + (", …" if len(kinds) > 4 else "")
