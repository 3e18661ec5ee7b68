"""Work out what a viva asks about a race, from tapes alone: gains, largest costs, what is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from proflab.checks.values import NotPlainData, loads
from proflab.lesson.race.cost import MACHINES, Cost, Machine, cost
from proflab.lesson.race.steps import read_steps
from proflab.lesson.race.tape import Refused, check


def facts(job: Mapping[str, Any], op_facts: Callable) -> dict[str, Any]:
    """Return what is known of a race, as plain data; a part that cannot be counted is left out.

    job: "given", "tape" (handed in), "twice" (the same at twice the batch), "best" (the course's),
    tapes or None; "log", as `WorkLog.data` returns it, or None; "machine"; "options" of `cost`.
    "gains": of the last change on the machine, on the other one, and there without overhead.
    "change": in its writer's words. "steps": each kept step's change and gain. "once", "twice": ms
    by op. "left": by op, how many times as fast the program would be at the course's cost of it.
    """
    machine = MACHINES[job["machine"]]
    other = next(each for each in MACHINES.values() if each is not machine)

    def counted(tape: Any, on: Machine = machine) -> Cost:
        check(tape)
        return cost(tape, on, op_facts, **job["options"])

    def by_op(tape: Any) -> dict[str, float]:
        found: dict[str, float] = {}
        for row in counted(tape).rows:
            if row["ms"]:
                found[row["op"]] = found.get(row["op"], 0.0) + row["ms"]
        return found

    found: dict[str, Any] = {"machine": machine.name, "other": other.name}
    kept = [("", job["given"]), *_kept(job["log"])]
    if len(kept) == 1:
        kept.append(("", job["tape"]))
    with suppress(Refused, ZeroDivisionError):
        (_, before), (change, after) = kept[-2:]
        free = replace(other, op_us=0)
        gains = [counted(before, on).ms / counted(after, on).ms for on in (machine, other, free)]
        found |= {"change": change, "gains": gains}
        costs = [counted(tape).ms for _, tape in kept]
        pairs = zip(kept[1:], costs, costs[1:], strict=False)
        found["steps"] = [(step, old / new) for (step, _), old, new in pairs]
    for name, tape in (("once", job["tape"]), ("twice", job["twice"]), ("best", job["best"])):
        with suppress(Refused):
            found[name] = by_op(tape)
    if "once" in found and "best" in found:
        whole, best = math.fsum(found["once"].values()), found.pop("best")
        over = {op: paid - best.get(op, 0.0) for op, paid in found["once"].items()}
        found["left"] = {op: whole / (whole - ms) for op, ms in over.items() if 0 < ms < whole}
    return found


def _kept(log: Any) -> list[tuple[str, Any]]:
    """Return the change and the tape of each step that is kept; none of what is no log."""
    try:
        rows = [step.row for step in read_steps(log) if step.kept]
        return [(row["change"], loads(row["tape"].encode())) for row in rows]
    except (Refused, NotPlainData, UnicodeError):
        return []
