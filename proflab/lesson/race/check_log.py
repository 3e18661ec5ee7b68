"""Check a work log: do its rows agree with its programs, with lesson 08, and with each other?

The grader runs this where no student code has ever run, on plain data alone: the rows, and the tape
of each step's program. Each tape is checked, counted and run here, so nothing that a row says is
taken for granted but what only its writer can know: guesses, reasons and measured times.
"""

from __future__ import annotations

import importlib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from proflab.checks.values import NotPlainData, dumps, loads
from proflab.lesson.race.cost import MACHINES, cost
from proflab.lesson.race.judge import Budget, compared
from proflab.lesson.race.known import (
    Content,
    Known,
    Terms,
    counting,
    floor_by_bytes,
    kinds_of,
    known_of,
    row_of,
)
from proflab.lesson.race.step_rules import ideas, look_closer, lowered, separate, times_that_fit
from proflab.lesson.race.steps import (
    SAME,
    Step,
    groups_of,
    is_reason,
    lines_of,
    named,
    read_steps,
    top,
)
from proflab.lesson.race.tape import Refused, check

# What a case may ask of a log, and what it is about.
RULES = {
    "costs": "every program is right and costs what its row says",
    "times": "speed-ups and verdicts follow from the twelve pairs",
    "order": "kept steps fall in cost and end with the program handed in; one idea was not kept",
    "largest": "each step names a large cost, and lowers it, or says why it takes another",
    "stop": "the stop names one of the two largest costs and the gap that remains",
}
TOLERANCE = 0.05  # of the gate: a change of less is none
_GAP = 1e-2  # relative: the gap as the stop tells it
_MOST_NUMBERS = 20  # in the stop: one of very many is near any gap
_ROUNDED = 1e-6  # relative: a median of twelve ratios
FUNCTIONS = ("op_facts", "speedup_interval", "gate")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,_]*(?:\.\d+)?")


def check_log(
    data: Any, handed: Any, given: list, functions: Mapping[str, Callable], machine: str, *,
    salt: str = "", one_by_one: bool = False, **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return, by rule, the sentence on what is wrong with a log; empty where nothing is.

    data: as `WorkLog.data` returns it, or anything else; handed, given: tapes of the program that
    is handed in and of the given one. functions: op_facts, speedup_interval and gate by name.
    one_by_one: each cause is a step of its own, which names the cause's cost and lowers it; what
    was rejected is neither the given program nor a kept one, with or without ops that change no
    number; what is kept was not measured slower; times are such as these programs can have.
    options: the race's Terms.
    """
    known = known_of(given, functions["op_facts"], machine, salt=salt, rows=True, **options)
    return checked(data, handed, known, functions, machine, one_by_one=one_by_one, **options)


def checked(
    data: Any, handed: Any, known: Known, functions: Mapping[str, Callable], machine: str, *,
    budget: Budget | None = None, one_by_one: bool = False, **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return what `check_log` does, beside what is known of the given program already.

    known: with its rows. budget: of all tapes that are judged together; None: this log's own.
    """
    try:
        steps = read_steps(data)
    except Refused as refused:
        return dict.fromkeys(RULES, str(refused))
    start = Step({}, "the given program", True, None, "", known.ms or 0.0)
    start.groups = groups_of(
        known.rows, lines_of(data.get("lines"), data.get("texts"), known.lines)
    )
    start.ops, start.kinds = sum(ms > 0 for *_, ms in known.rows), known.results
    budget, terms = budget or Budget(known), Terms(**options)
    for step in steps:
        try:
            _count(step, known, functions["op_facts"], machine, terms, budget)
        except (Refused, NotPlainData, UnicodeError) as error:
            step.wrong = str(error)
    # The race's floor and the one by bytes alone, which logs of earlier years tell.
    by_bytes = floor_by_bytes(known.inputs, known.results, MACHINES[machine])
    floors = [known.floor or math.inf, by_bytes]
    rules = {
        "costs": [_costs(steps, start)],
        "times": [_times(steps, functions["speedup_interval"], functions["gate"])],
        "order": [_order(steps, start, handed)],
        "largest": [_largest(steps, start)],
        "stop": [_stop(data["stop"], steps, floors)],
    }
    if one_by_one:
        look_closer(steps, known)
        rules["times"].append(times_that_fit(steps, start))
        rules["order"] += [separate(steps, start), ideas(steps, start, min(floors))]
        rules["largest"] = [lowered(steps, start)]
    return {rule: next(itertools.chain(*wrong), "") for rule, wrong in rules.items()}


def _count(
    step: Step, known: Known, op_facts: Callable, machine: str, terms: Terms, budget: Budget
) -> None:
    """Set what a step's program costs, and whether it is right if it is kept. Raises Refused."""
    tape = loads(step.row["tape"].encode())
    check(tape, known.inputs)
    budget.spend(counting(tape))
    paid = cost(tape, MACHINES[machine], op_facts, **terms.of_cost)
    lines = lines_of(step.row["lines"], step.row["texts"], len(tape))
    rows = [row_of(row) for row in paid.rows]
    step.tape, step.ms, step.groups = tape, paid.ms, groups_of(rows, lines)
    step.paid, step.ops = paid, sum(ms > 0 for *_, ms in rows)
    step.kinds = kinds_of(paid.walk)
    if step.kept and paid.ms < (known.ms or 0.0):  # `_costs` refuses what is dearer
        budget.spend(paid.work)
        step.wrong = compared(tape, known, paid.walk, terms.within)[1]


@lru_cache(1)
def found_in(asked: Content, *functions: Callable) -> dict[str, Any]:
    """Return what `check_log` finds; five cases in a row ask about the same log (`expect.py`).

    asked: its data, tapes, machine and options. functions: those of FUNCTIONS.
    """
    data, handed, given, machine, options = asked.data
    used = dict(zip(FUNCTIONS, functions, strict=True))
    return check_log(data, handed, given, used, machine, **options)


def methods_of(program: Callable) -> dict[str, Callable]:
    """Return the functions of lessons 03 and 08 that there are, the notebook's own first."""
    places = [getattr(program, "__globals__", {})]
    with suppress(ImportError):  # a notebook without lessons before it
        places.append(vars(importlib.import_module("built")))
    names = ("calibrate", "confidence_interval", "run_order", "speedup_interval", "gate")
    return {
        name: next(place[name] for place in places if callable(place.get(name)))
        for name in names
        if any(callable(place.get(name)) for place in places)
    }


# ── the rules ────────────────────────────────────────────────────────────────────────────────


def _costs(steps: list[Step], start: Step) -> Iterator[str]:
    for step in steps:
        if step.tape is None:
            yield f"{step.name}: {step.wrong}"
        elif abs(step.row["counted_ms"] - step.ms) > SAME * step.ms:
            said = step.row["counted_ms"]
            yield f"{step.name}: it costs {step.ms:.5g} ms, and its row says {said:.5g}"
        elif step.kept and step.ms >= start.ms:
            yield f"{step.name} is kept and costs no less than the given program"
        elif step.kept and step.wrong:
            yield f"{step.name} is kept and wrong: {step.wrong}"


def _times(steps: list[Step], speedup_interval: Callable, gate: Callable) -> Iterator[str]:
    for step in steps:
        before, after = ([float(ms) for ms in step.row[key]] for key in ("before", "after"))
        found = speedup_interval(before, after)
        for key in ("speedup", "low", "high"):
            if abs(step.row[key] - found[key]) > _ROUNDED * found[key]:
                said, due = step.row[key], found[key]
                yield f"{step.name}: {key} is {said:.6g}, and its pairs give {due:.6g}"
        verdict = gate(before, after, TOLERANCE)
        if step.row["verdict"] != verdict:
            said = step.row["verdict"][:20]
            yield f"{step.name}: the verdict is {said!r}, and its pairs give {verdict!r}"


def _order(steps: list[Step], start: Step, handed: Any) -> Iterator[str]:
    kept = [step for step in steps if step.kept]
    if not kept:
        yield "no step is kept"
        return
    for before, step in zip([start, *kept], kept, strict=False):
        if step.tape is None or step.ms >= before.ms:
            yield f"{step.name} is kept and costs no less than {before.name}"
    if kept[-1].tape is None or not _equal(kept[-1].tape, handed):
        yield "the last step that is kept is not the program that is handed in"
    if len(kept) == len(steps):
        yield "every step is kept: note one idea that you rejected, and why"
    for step in steps:
        if not step.kept and not is_reason(step.row["rejected"]):
            yield f"{step.name} is not kept: say why in a sentence"


def _largest(steps: list[Step], start: Step) -> Iterator[str]:
    before = start
    for step in steps:
        told = f"{step.row['change']}\n{step.row['because']}"
        if not named(told, before, 1) and not is_reason(step.row["instead"]):
            [op, *_], [line, *_] = (top(before.groups[n], 1) or [""] for n in (0, 2))
            where = f", by line `{line[:60]}`" if line else ""
            yield (
                f"{step.name}: the largest cost of {before.name} is {op}{where}; neither change "
                "nor because names it: do, or say in instead= why you took another"
            )
        if step.kept and step.tape is not None:
            before = step


def _stop(text: Any, steps: list[Step], floors: list[float]) -> Iterator[str]:
    if text is None or not text.strip():
        yield "the log has no stop: log.stop says what is left"
        return
    kept = [step for step in steps if step.kept and step.tape is not None]
    if not kept:
        yield "no step is kept"
        return
    last = kept[-1]
    if not named(text, last, 2):
        ops = " and ".join(top(last.groups[0], 2))
        yield f"the stop names none of the two largest costs that are left, {ops}"
    if len(_NUMBER.findall(text)) > _MOST_NUMBERS:
        yield f"the stop has more than {_MOST_NUMBERS} numbers: tell the gap, and what it is about"
    gaps = [gap for floor in floors for gap in (last.ms / floor, last.ms - floor)]
    numbers = [float(re.sub("[,_]", "", said)) for said in _NUMBER.findall(text)]
    if not any(abs(number - gap) <= _GAP * gap for number in numbers for gap in gaps):
        yield (
            f"the stop tells no gap, or a wrong one: {last.ms:.4g} ms are {gaps[0]:.4g} times the "
            f"floor, or {gaps[1]:.4g} ms above it"
        )


def _equal(tape: list, other: Any) -> bool:
    try:
        return dumps(tape) == dumps(other)
    except NotPlainData:
        return False
