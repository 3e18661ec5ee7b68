"""Show a race in a notebook: costs by line of the program, and where it stands on the way."""

from __future__ import annotations

import contextlib
import linecache
import math
from collections.abc import Callable
from typing import Any

from proflab.checks.values import to_plain_data
from proflab.lesson.race import plans
from proflab.lesson.race.cost import MACHINES, Cost, Machine, cost
from proflab.lesson.race.judge import unit_of, wall_of
from proflab.lesson.race.known import floor_of
from proflab.lesson.race.tape import Refused, check
from proflab.lesson.race.trace import Tape, traced

counting: dict[str, Callable] = {}  # op_facts, once the notebook has said `count_with`
_MOST_LINES = 8
_MARKS = ("given", "yours", "full marks", "floor")


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
        parts.append(f"{name}: {_price(paid, machine)}, {_ops(paid)}")
        if fast is not None or memory is not None:
            room = memory if fast is None else fast
            parts[-1] += f"; at the peak {paid.peak_bytes:,} of {room:,} bytes live"
        parts += _lines(tape, paid, MACHINES[machine])
    return "\n".join(parts)


def picture(
    given: Callable,
    yours: Callable,
    machine: str,
    full: float,
    *,
    fast: int | None = None,
    memory: int | None = None,
    **shapes: Any,
) -> Any:
    """Draw one axis of costs, from the given program's to the floor, with yours and full marks.

    shapes: as in `traced`; fast, memory: as in `judge`. A program that the machine refuses has no
    mark. Raises RuntimeError before `count_with`.
    """
    tape = traced(given, **shapes)
    marks = {"given": counted(tape, machine, fast, memory).ms}
    with contextlib.suppress(Refused):
        marks["yours"] = counted(traced(yours, **shapes), machine, fast, memory).ms
    marks |= {"full marks": full, "floor": floor_of(tape, MACHINES[machine], fast)}
    return _axis(marks, unit_of(machine, fast))


def plan_picture(plan: Any, rule: str, full: float, floor: float = 0.0, **parameters: Any) -> Any:
    """Draw one axis of costs, from the given plan's to the floor, with yours and full marks.

    plan, rule, parameters: as in `expect_cheaper`. floor: what no plan goes below, where it is
    known. Raises Refused for what is no valid plan.
    """
    given = plans.given_cost(rule, parameters)
    found = plans.judge_plan(to_plain_data(plan), rule, parameters, given)
    if "refused" in found:
        raise Refused(found["refused"])
    marks = {"given": given, "yours": found["ms"], "full marks": full}
    return _axis(marks | ({"floor": floor} if floor else {}), plans.RULES[rule].unit)


def _axis(marks: dict[str, float], unit: str) -> Any:
    """Draw costs on one logarithmic axis, the lowest on the right."""
    from matplotlib.ticker import LogLocator

    from proflab.lesson import plot

    labels = {name: f"{name} {_number(cost)}" for name, cost in marks.items()}
    said = f"{unit}, on a logarithmic axis: {', '.join(labels.values())}."
    with plot.canvas(8.0, 1.9, said) as (drawn, axes):
        for name, shape, colour in zip(_MARKS, "sov|", plot.COLOURS, strict=False):
            if name in marks:
                place = [marks[name]], [0]
                axes.plot(*place, shape, color=colour, markersize=11, label=labels[name])
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda cost, _: f"{cost:,.10g}")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.minorticks_off()
        axes.invert_xaxis()
        axes.set(yticks=[], xlabel=f"{unit}, counted", ylim=(-1, 1))
        axes.spines["left"].set_visible(False)
        axes.legend(loc="upper center", ncols=4, frameon=False, fontsize=9)
    return drawn


def counted(tape: Tape, machine: str, fast: int | None = None, memory: int | None = None) -> Cost:
    """Return what a tape costs on a machine, by its name: in all, and a row for each op.

    fast, memory: as in `judge`. Raises RuntimeError before `count_with`, and Refused for a tape
    that cannot be run.
    """
    if "op_facts" not in counting:
        raise RuntimeError("nothing counts here yet: run race.count_with(op_facts) first")
    check(tape)
    return cost(tape, MACHINES[machine], counting["op_facts"], fast=fast, memory=memory)


def _price(paid: Cost, machine: str) -> str:
    if paid.two_memories:
        return f"{_number(paid.ms)} bytes between the memories"
    return f"{_number(paid.ms)} ms on {machine}"


def _number(cost: float) -> str:
    return f"{cost:,.0f}" if cost >= 1000 else f"{cost:.4g}"


def _ops(paid: Cost) -> str:
    count, what = sum(row["ms"] > 0 for row in paid.rows), "move" if paid.two_memories else "op"
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"


def _lines(tape: Tape, paid: Cost, machine: Machine) -> list[str]:
    groups: dict[tuple[str, int], list[dict]] = {}
    for row in filter(lambda row: row["ms"], paid.rows):
        groups.setdefault(tape.lines[row["at"]], []).append(row)
    ordered = sorted(groups.items(), key=lambda item: -math.fsum(row["ms"] for row in item[1]))
    head = f"  {'ops':>6} {'MFLOP':>9} {'MB':>9} {'ms':>9} {'share':>6}  {'wall':<8}  line"
    if paid.two_memories:
        head = f"  {'moves':>6} {'bytes':>11} {'share':>6}  line"
    found = [head, *(_row(rows, paid, machine, _text(at)) for at, rows in ordered[:_MOST_LINES])]
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
    """Return the text of the line of the program that made an instruction."""
    return _text(tape.lines[at])


def _text(at: tuple[str, int]) -> str:
    return linecache.getline(*at).strip()[:70] or f"line {at[1]}"
