"""Find what a program does without changing a number: ops that give back what was there before.

`x * 1`, `x + 0 * y`, a copy, `exp` and then `log`: with such ops a fast program becomes a slower
one, of which a log can say that it came first. So a work log's steps are compared without them.
They are found by what the values are when the program runs, whichever ops have made them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from proflab.dispatch import Call
from proflab.lesson.race.replay import Walk, reaching, used, walk
from proflab.tensor import Tensor

_SAMPLE = 32  # numbers of a value that are looked at
_DIGITS = 5  # of the largest of them: what rounding changes is equal


def at_work(
    tape: list, inputs: Mapping[str, np.ndarray], counted: Walk, copies: bool = False
) -> set[int]:
    """Return the instructions that the results need where nothing is made that was there before.

    A value that is equal to one of those that it is made of, of the same shape and dtype, stands
    for that one. counted: the walk over the tape on meta arrays. copies: a copy, which may lie
    in another order, is work. Raises Refused.
    """
    prints: dict[int, Any] = {}  # by value, if it has one

    def look(at: int, call: Call, result: Any) -> None:
        if isinstance(result, Tensor) and not (copies and call.op == "clone"):
            prints[counted.made[at][0]] = _print_of(result.numpy())

    for at, line in enumerate(tape):
        if line[0] == "in":
            prints[counted.made[at][0]] = _print_of(inputs[line[1]])
    walk(tape, inputs, look, counted=counted)
    same = _same_as_before(tape, counted, prints)
    shorter = [
        [*line[:2], [same.get(number, number) for number in line[2]], *line[3:]]
        if line[0] == "op"
        else ["out", [same.get(number, number) for number in line[1]]]
        if line[0] == "out"
        else line
        for line in tape
    ]
    return reaching(shorter, counted.made)


def _print_of(array: np.ndarray) -> Any:
    """Return what equal arrays have in common, or None for one that says too little."""
    if array.size < 2 or array.dtype.kind not in "fiu":
        return None
    # In the browser, where numpy's integers have 32 bits, these are Python's.
    # Knuth's multiplier, which spreads the places: in a row they might all lie in one column.
    places = [number * 2_654_435_761 % array.size for number in range(1, _SAMPLE + 1)]
    sample = array.flat[places].astype("float64")
    scale = np.abs(sample).max()
    if not np.isfinite(sample).all() or np.ptp(sample) == 0:
        return None
    rounded = np.round(sample / scale, _DIGITS) + 0.0  # no minus zero
    return array.shape, array.dtype, float(f"{scale:.{_DIGITS - 1}g}"), rounded.tobytes()


def _same_as_before(tape: list, counted: Walk, prints: Mapping[int, Any]) -> dict[int, int]:
    """Return, by value, the first of those that it is made of and is equal to."""
    made_of: dict[int, int] = {}  # by value: a bit for each value that it is made of
    alike: dict[Any, int] = {}  # by print: a bit for each value that has it
    same: dict[int, int] = {}
    for at, line in enumerate(tape):
        behind = 0
        for number in used(line):
            behind |= made_of[number] | 1 << number
        for number in counted.made[at]:
            made_of[number] = behind
            if (shown := prints.get(number)) is None:
                continue
            older = behind & alike.get(shown, 0)
            if older:
                same[number] = (older & -older).bit_length() - 1
            alike[shown] = alike.get(shown, 0) | 1 << number
    return same
