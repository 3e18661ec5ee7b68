"""Count a race in a notebook, and show its costs by line of the program."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from proflab.lesson.race.cost import MACHINES, Cost, Machine, cost, machine_of
from proflab.lesson.race.hints import wall_of
from proflab.lesson.race.judge import unit_of
from proflab.lesson.race.known import Content
from proflab.lesson.race.tape import Refused
from proflab.lesson.race.trace import Tape, line_at, traced
from proflab.lesson.words import many, shortened

counting: dict[str, Callable] = {}  # op_facts, once the notebook has said `count_with`
_MOST_LINES = 8
WIDTH = 70  # characters of a program's line in a row of output
_LARGE = 0.05  # of what is alive: what is less is not shown
# A work log counts the same few tapes in each of its test cells. The costs of a long one are large.
_KEPT, _SHORT = 16, 2_000  # tapes, and instructions


def table(
    given: Callable,
    yours: Callable,
    machine: str,
    *,
    fast: int | None = None,
    memory: int | None = None,
    **shapes: Any,
) -> str:
    """Return, as text, what two programs cost by line, largest first: ops, MFLOP, MB, ms, wall.

    shapes: as in `traced`; fast, memory: as in `judge`. With a fast memory the columns are moves
    and bytes. A program that the machine refuses has the sentence in their place. Raises
    RuntimeError before `count_with`.
    """
    parts = []
    for name, program in (("given", given), ("yours", yours)):
        try:
            tape = traced(program, **shapes)
            paid = counted(tape, machine, fast, memory)
        except Refused as refused:
            parts.append(f"{name}: refused, {refused}")
            continue
        count = sum(row["ms"] > 0 for row in paid.rows)
        ops = many(count, "move" if paid.two_memories else "op")
        parts.append(f"{name}: {number(paid.ms)} {unit_of(machine, fast)}, {ops}")
        if fast is not None or memory is not None:
            room = memory if fast is None else fast
            parts[-1] += f"; at the peak {paid.peak_bytes:,} of {room:,} bytes live"
        parts += _lines(tape, paid, MACHINES[machine])
    return "\n".join(parts)


def counted(tape: Tape, machine: str, fast: int | None = None, memory: int | None = None) -> Cost:
    """Return what a tape costs on a machine, by its name: in all, and a row for each op.

    tape: as `traced` returns it, which has checked it. fast, memory: as in `judge`. Raises
    RuntimeError before `count_with`, and Refused for a tape that cannot be run.
    """
    if "op_facts" not in counting:
        raise RuntimeError("nothing counts here yet: run race.count_with(op_facts) first")
    about = machine_of(machine), counting["op_facts"]
    room: dict[str, Any] = {"fast": fast, "memory": memory}
    if len(tape) > _SHORT:
        return cost(tape, *about, **room)
    kept = _kept_cost(Content([*tape]), *about, **room)
    return replace(kept, rows=[row.copy() for row in kept.rows])  # a notebook may change its own


@lru_cache(_KEPT)
def _kept_cost(tape: Content, *about: Any, **room: Any) -> Cost:
    return cost(tape.data, *about, **room)


def number(cost: float) -> str:
    """Return a cost as it is shown."""
    return f"{cost:,.0f}" if cost >= 1000 else f"{cost:.4g}"


def _lines(tape: Tape, paid: Cost, machine: Machine) -> list[str]:
    groups: dict[tuple[str, int], list[dict]] = {}
    for row in filter(lambda row: row["ms"], paid.rows):
        groups.setdefault(tape.lines[row["at"]], []).append(row)
    ordered = sorted(groups.items(), key=lambda item: -math.fsum(row["ms"] for row in item[1]))
    head = f"  {'ops':>6} {'MFLOP':>9} {'MB':>9} {'ms':>9} {'share':>6}  {'wall':<8}  line"
    if paid.two_memories:
        head = f"  {'moves':>6} {'bytes':>11} {'share':>6}  line"
    shown = ((line_of(tape, rows[0]["at"]), rows) for _, rows in ordered[:_MOST_LINES])
    found = [head, *(_row(rows, paid, machine, text) for text, rows in shown)]
    if others := [row for _, rows in ordered[_MOST_LINES:] for row in rows]:
        found.append(_row(others, paid, machine, "others"))
    return found


def _row(rows: list[dict], paid: Cost, machine: Machine, text: str) -> str:
    flops, moved, ms = (math.fsum(row[key] for row in rows) for key in ("flops", "moved", "ms"))
    if paid.two_memories:
        return f"  {len(rows):>6,} {moved:>11,.0f} {ms / paid.ms:>6.0%}  {text}"
    wall = wall_of(rows, machine)
    numbers = f"{len(rows):>6,} {flops / 1e6:>9,.4g} {moved / 1e6:>9,.4g} {ms:>9,.4g}"
    return f"  {numbers} {ms / paid.ms:>6.0%}  {wall:<8}  {text}"


def line_of(tape: Tape, at: int) -> str:
    """Return the line of the program that made an instruction, cut to what fits into a row."""
    return shortened(line_at(*tape.lines[at]), WIDTH)


def refusal(tape: list, found: Mapping[str, Any], line_of: Callable[[int], str]) -> str:
    """Return why a program is refused, with its line; where memory is full, with what fills it."""
    lines = [found["refused"]]
    if (at := found.get("at")) is not None:
        lines.append(f"   at: {line_of(at)}")
    made: Counter[str] = Counter()
    for made_at, count in found.get("alive", ()):
        made["the inputs" if tape[made_at][0] == "in" else line_of(made_at)] += count
    large = [each for each in made.most_common() if each[1] >= _LARGE * made.total()]
    return "\n".join([*lines, *(f"   {count:>11,} bytes: {text}" for text, count in large)])
