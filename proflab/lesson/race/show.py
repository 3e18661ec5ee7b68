"""Show a race in a notebook: costs by line of the program, and where it stands on the way."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from typing import Any

from proflab.checks.values import to_plain_data
from proflab.lesson.race import plans
from proflab.lesson.race.cost import MACHINES, Cost, Machine, cost
from proflab.lesson.race.judge import floor_of, wall_of
from proflab.lesson.race.tape import Refused, check
from proflab.lesson.race.trace import Tape, traced

counting: dict[str, Callable] = {}  # op_facts, once the notebook has said `count_with`
_MOST_LINES = 8


def table(slow: Callable, fast: Callable, machine: str, **shapes: Any) -> str:
    """Return, as text, what two programs cost by line, largest first: ops, MFLOP, MB, ms, wall.

    shapes: as in `traced`. Raises RuntimeError before `count_with`.
    """
    parts = []
    for name, program in (("given", slow), ("yours", fast)):
        tape = traced(program, **shapes)
        paid = _counted(tape, machine)
        parts.append(f"{name}: {paid.ms:,.4g} ms on {machine}, {_ops(paid)}")
        parts += _lines(tape, paid, MACHINES[machine])
    return "\n".join(parts)


def picture(slow: Callable, fast: Callable, machine: str, full: float, **shapes: Any) -> Any:
    """Draw one axis of ms, from the given program's cost to the floor, with yours and full marks.

    shapes: as in `traced`. Raises RuntimeError before `count_with`.
    """
    given, yours = (traced(program, **shapes) for program in (slow, fast))
    marks = {
        "given": _counted(given, machine).ms,
        "yours": _counted(yours, machine).ms,
        "full marks": full,
        "floor": floor_of(given, MACHINES[machine]),
    }
    return _axis(marks, f"ms on {machine}")


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
    from proflab.lesson import plot

    labels = [f"{n} {cost:,.0f}" if cost >= 1000 else f"{n} {cost:.4g}" for n, cost in marks.items()]
    said = ", ".join(labels)
    with plot.canvas(8.0, 1.9, f"{unit}, on a logarithmic axis: {said}.") as (drawn, axes):
        looks = zip(labels, marks.values(), plot.COLOURS, "sov|", strict=False)
        for label, cost, colour, shape in looks:
            axes.plot([cost], [0], shape, color=colour, markersize=11, label=label)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda cost, _: f"{cost:,g}")
        between = max(marks.values()) < 10 * min(marks.values())  # no power of ten, or one
        axes.xaxis.set_minor_formatter(lambda cost, _: f"{cost:g}" if between else "")
        axes.invert_xaxis()
        axes.set(yticks=[], xlabel=f"{unit}, counted", ylim=(-1, 1))
        axes.spines["left"].set_visible(False)
        axes.legend(loc="upper center", ncols=4, frameon=False)
    return drawn


def _counted(tape: Tape, machine: str) -> Cost:
    if "op_facts" not in counting:
        raise RuntimeError("nothing counts here yet: run race.count_with(op_facts) first")
    check(tape)
    return cost(tape, MACHINES[machine], counting["op_facts"])


def _ops(paid: Cost) -> str:
    count = sum(row["ms"] > 0 for row in paid.rows)
    return "1 op" if count == 1 else f"{count:,} ops"


def _lines(tape: Tape, paid: Cost, machine: Machine) -> list[str]:
    groups: dict[tuple[str, int], list[dict]] = {}
    for row in filter(lambda row: row["ms"], paid.rows):
        groups.setdefault(tape.lines[row["at"]], []).append(row)
    ordered = sorted(groups.items(), key=lambda item: -math.fsum(row["ms"] for row in item[1]))
    head = f"  {'ops':>6} {'MFLOP':>9} {'MB':>9} {'ms':>9} {'share':>6}  {'wall':<8}  line"
    found = [head, *(_row(rows, paid, machine, _text(at)) for at, rows in ordered[:_MOST_LINES])]
    if others := [row for _, rows in ordered[_MOST_LINES:] for row in rows]:
        found.append(_row(others, paid, machine, "others"))
    return found


def _row(rows: list[dict], paid: Cost, machine: Machine, text: str) -> str:
    flops, moved, ms = (math.fsum(row[key] for row in rows) for key in ("flops", "moved", "ms"))
    wall = wall_of(rows, machine)
    numbers = f"{len(rows):>6,} {flops / 1e6:>9,.4g} {moved / 1e6:>9,.4g} {ms:>9,.4g}"
    return f"  {numbers} {ms / paid.ms:>6.0%}  {wall:<8}  {text}"


def line_of(tape: Tape, at: int) -> str:
    """Return the text of the line of the program that made an instruction."""
    return _text(tape.lines[at])


def _text(at: tuple[str, int]) -> str:
    return linecache.getline(*at).strip()[:70] or f"line {at[1]}"
