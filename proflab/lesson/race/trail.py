"""Draw where a race stands: its marks on one axis of costs, and this session's tries as a trail.

Tries are kept in the notebook's kernel, in order, each time that a test cell has judged one: none
is stored, and no verdict rests on them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from typing import Any

from proflab.checks.values import dumps, to_plain_data
from proflab.lesson.race import plans
from proflab.lesson.race.cost import MACHINES
from proflab.lesson.race.judge import unit_of
from proflab.lesson.race.known import digest_of, floor_of
from proflab.lesson.race.show import counted, number
from proflab.lesson.race.tape import Refused
from proflab.lesson.race.trace import traced

_MOST_TRIES = 12  # that are drawn: the last ones
_APART = 0.15  # of the axis, between two names at one height
_LOOKS = {  # of each mark: its shape and colour
    "given": ("s", 7),
    "full marks": ("D", 2),
    "best known": ("*", 3),
    "floor": ("|", 7),
}
_tries: dict[bytes, list[float]] = {}


def note(race: bytes, cost: float) -> None:
    """Keep a try's cost; one that costs as much as the one before it is the same."""
    if _tries.setdefault(race, [])[-1:] != [cost]:
        _tries[race].append(cost)


def race_of(given: str, machine: str, fast: int | None = None, memory: int | None = None) -> bytes:
    """Return by what a race's tries are known; given: the digest of the given program's tape."""
    return dumps([given, machine, fast, memory])


def plan_race_of(rule: str, parameters: Mapping[str, Any]) -> bytes:
    """Return by what the tries of a race of plans are known."""
    return dumps([rule, sorted(parameters.items())])


def picture(
    given: Callable,
    yours: Callable,
    machine: str,
    full: float,
    *,
    best: float | None = None,
    floor: float | None = None,
    fast: int | None = None,
    memory: int | None = None,
    **shapes: Any,
) -> Any:
    """Draw one axis of costs, with the given program's, full marks and the floor, and your tries.

    best: the best cost that is known, if it is lower than full marks. floor: as the race says it,
    if it does. shapes: as in `traced`; fast, memory: as in `judge`. A program that the machine
    refuses has no mark. Raises RuntimeError before `count_with`.
    """
    tape = traced(given, **shapes)
    marks = {
        "given": counted(tape, machine, fast, memory).ms,
        "full marks": full,
        "best known": best,
        "floor": floor or floor_of(tape, MACHINES[machine], fast),
    }
    mine = None
    with contextlib.suppress(Refused):
        mine = counted(traced(yours, **shapes), machine, fast, memory).ms
    race = race_of(digest_of(tape), machine, fast, memory)
    return _drawn(marks, _tries.get(race, []), mine, unit_of(machine, fast))


def plan_picture(
    plan: Any,
    rule: str,
    full: float,
    floor: float = 0.0,
    best: float | None = None,
    **parameters: Any,
) -> Any:
    """Draw one axis of costs, with the given plan's, full marks and the floor, and your tries.

    plan, rule, parameters: as in `expect_cheaper`. floor: what no plan goes below, where it is
    known. best: as in `picture`. Raises Refused for what is no valid plan.
    """
    given = plans.given_cost(rule, parameters)
    found = plans.judge_plan(to_plain_data(plan), rule, parameters, given)
    if "refused" in found:
        raise Refused(found["refused"])
    marks = {"given": given, "full marks": full, "best known": best, "floor": floor or None}
    tries = _tries.get(plan_race_of(rule, parameters), [])
    return _drawn(marks, tries, found["ms"], plans.RULES[rule].unit)


# ── the drawing ──────────────────────────────────────────────────────────────────────────────


def _drawn(
    costs: Mapping[str, float | None], tries: list[float], mine: float | None, unit: str
) -> Any:
    """Draw marks with their names above, and tries below them, each below the one before.

    costs: of each mark, None where it is not known. mine: what the program costs as it is now,
    judged or not; None where it is refused
    """
    from proflab.lesson import plot

    marks = {name: cost for name, cost in costs.items() if cost is not None}
    names = [f"try {order}: {number(cost)}" for order, cost in enumerate(tries, start=1)]
    if mine is not None:
        tries = tries if tries[-1:] == [mine] else [*tries, mine]
        names[len(tries) - 1 :] = [f"yours {number(mine)}"]
    said = _said(marks, tries, mine, unit)
    tries, names = tries[-_MOST_TRIES:], names[-_MOST_TRIES:]
    heights = _heights(marks, tries)
    top, bottom = 1.0 + max(heights.values()), len(tries) + 0.7
    height = 0.8 + 0.42 * top + 0.24 * bottom
    with plot.canvas(8.0, height, said) as (drawn, axes):
        _set_axis(axes, [*marks.values(), *tries], unit)
        axes.set_ylim(-bottom * 0.57, top)
        for name, cost in marks.items():
            _draw_mark(axes, name, cost, heights[name])
        _draw_tries(axes, tries, names)
    return drawn


def _set_axis(axes: Any, costs: list[float], unit: str) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    low, high = min(costs), max(costs)
    wide = max(high / low, 1.2)
    axes.set_xlim(low / wide**0.08, high * wide**0.1)
    axes.xaxis.set_major_formatter(lambda cost, _: f"{cost:,.10g}")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(yticks=[], xlabel=f"← cheaper       {unit}, counted, on a logarithmic axis")
    axes.spines["left"].set_visible(False)


def _draw_mark(axes: Any, name: str, cost: float, height: float) -> None:
    """Draw a mark and its name; the floor alone is a bound, with nothing to its left."""
    from proflab.lesson import plot

    shape, colour = _LOOKS[name]
    if name == "floor":
        axes.axvspan(axes.get_xlim()[0], cost, color=plot.FAINT, lw=0)
    axes.plot([cost, cost], [0, height + 0.2], color=plot.FAINT, lw=1, zorder=1)
    axes.plot([cost], [0], shape, color=plot.COLOURS[colour], markersize=10, clip_on=False)
    axes.text(cost, height + 0.3, f"{name}\n{number(cost)}", ha="center", va="bottom", fontsize=9,
              zorder=3)  # fmt: skip


def _draw_tries(axes: Any, tries: list[float], names: list[str]) -> None:
    from proflab.lesson import plot

    places = [-0.57 * (place + 0.9) for place in range(len(tries))]
    axes.plot(tries, places, "-o", color=plot.COLOURS[1], lw=1.2, markersize=5)
    axes.plot(tries[-1:], places[-1:], "o", color=plot.COLOURS[5], markersize=9)
    for name, *at in zip(names, tries, places, strict=True):
        axes.annotate(name, at, (9, -4), fontsize=9, **plot.BESIDE)


def _heights(marks: Mapping[str, float], tries: list[float]) -> dict[str, float]:
    """Return for each mark how high its name stands, so that no two names meet."""
    costs = [*marks.values(), *tries]
    wide = math.log(max(max(costs) / min(costs), 1.2)) * 1.18  # with both margins of `_set_axis`
    found: dict[str, float] = {}
    for name, cost in sorted(marks.items(), key=lambda mark: mark[1]):
        near = {
            found[other]
            for other in found
            if abs(math.log(cost / marks[other])) < _APART * wide
        }  # fmt: skip
        found[name] = next(h for h in range(len(marks)) if h not in near)
    return found


def _said(marks: Mapping[str, float], tries: list[float], mine: float | None, unit: str) -> str:
    """Return the picture in words."""
    order = ("given", "yours", "full marks", "best known", "floor")
    both = {**marks, **({} if mine is None else {"yours": mine})}
    said = ", ".join(f"{name} {number(both[name])}" for name in order if name in both)
    trail = ", ".join(map(number, tries))
    before = f" Your tries, in order: {trail}." if len(tries) > 1 else ""
    return f"{unit}, on a logarithmic axis, cheaper to the left: {said}.{before}"
