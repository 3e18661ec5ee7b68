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
from dataclasses import dataclass, field
from typing import Any

from proflab.checks.values import NotPlainData, dumps, loads
from proflab.lesson.race.cost import MACHINES, cost
from proflab.lesson.race.judge import WITHIN, Budget, compared
from proflab.lesson.race.known import (
    Draws,
    Known,
    Row,
    counting,
    digest_of,
    floor_by_bytes,
    known_of,
    row_of,
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
PAIRS = 12  # of times, for each step
TOLERANCE = 0.05  # of the gate: a change of less is none
MOST_STEPS, MOST_TEXT = 30, 1_000
_MOST_TAPE = 4 * 1024**2  # characters of a tape as text
_SAME = 1e-3  # relative: what a program costs, and a guess that knew it
_GAP = 1e-2  # relative: the gap as the stop tells it
_ROUNDED = 1e-6  # relative: a median of twelve ratios
_WORDS = 3  # that make a reason
# Where each cause is a step of its own (one_by_one):
_MUCH, _FEWEST = 3.0, 3  # a cost that falls so many times falls in so many kept steps at least
_MOST_OF_THE_WAY = 0.85  # of the way, in logarithms: more than mending any one cause gives
_ROWS = 5  # of the table, from which a step names its cost
_FALLEN = 0.9  # of what the named cost was before, at most
LARGEST = 1e12  # of the numbers in a log
_FUNCTIONS = ("op_facts", "speedup_interval", "gate")
_last: list[Any] = []  # of `once`: what was asked, and what was found
_NUMBER = re.compile(r"(?<![\w.])\d[\d,_]*(?:\.\d+)?")
_QUOTED = re.compile(r"`([^`]{4,200})`")


@dataclass
class Step:
    """One row: what its writer says, and, once counted, what its program costs.

    tape: None where it is refused, for the reason in `wrong`; groups: ms by op, by op and shapes,
    and by line
    """

    row: dict[str, Any]
    name: str
    kept: bool
    tape: list | None = None
    wrong: str = ""
    ms: float = 0.0
    groups: list[dict[Any, float]] = field(default_factory=list)


def check_log(
    data: Any, handed: Any, given: list, functions: Mapping[str, Callable], machine: str, *,
    within: float = WITHIN, draws: Draws | None = None, state: tuple[str, ...] = (),
    floor: float | None = None, salt: str = "", one_by_one: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Return, by rule, the sentence on what is wrong with a log; empty where nothing is.

    data: as `WorkLog.data` returns it, or anything else; handed, given: tapes of the program that
    is handed in and of the given one. functions: op_facts, speedup_interval and gate by name.
    one_by_one: each cause is a step of its own, which names the cause's cost and lowers it; what
    was rejected is neither the given program nor a kept one; what is kept was not measured slower.
    Two more keys: "noted", sentences for a viva, which decide nothing; "counts", ms of each step.
    """
    known = known_of(given, functions["op_facts"], machine, within=within, draws=draws,
                     state=state, floor=floor, salt=salt, rows=True)  # fmt: skip
    return checked(data, handed, known, functions, machine, within=within, state=state,
                   one_by_one=one_by_one)  # fmt: skip


def checked(
    data: Any, handed: Any, known: Known, functions: Mapping[str, Callable], machine: str, *,
    within: float = WITHIN, state: tuple[str, ...] = (), budget: Budget | None = None,
    one_by_one: bool = False, **_: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return what `check_log` does, beside what is known of the given program already.

    known: with its rows. budget: of all tapes that are judged together; None: this log's own.
    """
    try:
        steps = read_steps(data)
    except Refused as refused:
        return dict.fromkeys(RULES, str(refused)) | {"noted": [], "counts": []}
    start = Step({}, "the given program", True, None, "", known.ms or 0.0)
    start.groups = groups_of(known.rows, _lines(data.get("lines"), data.get("texts"), known.lines))
    budget = budget or Budget(known)
    for step in steps:
        try:
            _count(step, known, functions["op_facts"], machine, tuple(state), within, budget)
        except (Refused, NotPlainData, UnicodeError) as error:
            step.wrong = str(error)
    found = {
        "costs": _first(_costs(steps, start)),
        "times": _first(_times(steps, functions["speedup_interval"], functions["gate"])),
        "order": _first(_order(steps, start, handed)),
        "largest": _first((_lowered if one_by_one else _largest)(steps, start)),
        "stop": _first(_stop(data["stop"], steps, _floors(known, machine))),
    }
    if one_by_one:
        found["order"] = found["order"] or _first(_one_by_one(steps, start, known.digest))
    return found | {"noted": list(_noted(steps)), "counts": [step.ms for step in steps]}


def _count(
    step: Step, known: Known, op_facts: Callable, machine: str, state: tuple[str, ...],
    within: float, budget: Budget,
) -> None:  # fmt: skip
    """Set what a step's program costs, and whether it is right if it is kept. Raises Refused."""
    tape = loads(step.row["tape"].encode())
    check(tape, known.inputs)
    budget.spend(counting(tape))
    paid = cost(tape, MACHINES[machine], op_facts, state=state)
    lines = _lines(step.row["lines"], step.row["texts"], len(tape))
    rows = [row_of(row) for row in paid.rows]
    step.tape, step.ms, step.groups = tape, paid.ms, groups_of(rows, lines)
    if step.kept and paid.ms < (known.ms or 0.0):
        budget.spend(paid.work)
        step.wrong = compared(tape, known, paid.walk, within)[1]


def once(
    asked: Any, functions: Mapping[str, Callable], check: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Return what a check of a log finds, which these plain data and functions decide.

    Five cases in a row ask about the same log, so the last one's findings are kept. Raises
    NotPlainData.
    """
    place = dumps(asked), [functions.get(name) for name in _FUNCTIONS]
    if not _last or _last[0] != place:
        found = check()
        _last[:] = place, found
    return _last[1]


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


# ── reading what a stranger wrote ────────────────────────────────────────────────────────────


def read_steps(data: Any) -> list[Step]:
    """Return the rows of a log. Raises Refused, with a sentence, for what is none."""
    known = isinstance(data, dict) and isinstance(data.get("steps"), list)
    if not known or not (data.get("stop") is None or _is_text(data["stop"])):
        raise Refused("this is no work log: log.step and log.stop write one")
    rows = data["steps"]
    if not rows:
        raise Refused("the work log has no step")
    if len(rows) > MOST_STEPS:
        raise Refused(f"a work log has at most {MOST_STEPS} steps")
    found = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not {*_KINDS} <= {*row}:
            raise Refused(f"step {number} is no row of log.step")
        for key, (fits, what) in _KINDS.items():
            if not fits(row[key]):
                raise Refused(f"step {number}: {key} is no {what}")
        name = f"step {number}, {row['program'][:40]!r}"
        found.append(Step(row, name, not row["rejected"].strip()))
    return found


def _is_text(value: Any) -> bool:
    return type(value) is str and len(value) <= MOST_TEXT


def _is_positive(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < LARGEST


def _is_times(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple)) and len(value) == PAIRS and all(map(_is_positive, value))
    )


def _is_tape(value: Any) -> bool:
    return type(value) is str and len(value) <= _MOST_TAPE


def _is_lines(value: Any) -> bool:
    return isinstance(value, list) and all(type(number) is int for number in value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_TEXT and all(map(_is_text, value))


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("program", "change", "because", "instead", "rejected", "verdict"),
        (_is_text, f"text of at most {MOST_TEXT:,} characters"),
    ),
    **dict.fromkeys(
        ("guess_ms", "counted_ms", "speedup", "low", "high"),
        (_is_positive, f"number above 0 and below {LARGEST:,.0f}"),
    ),
    **dict.fromkeys(("before", "after"), (_is_times, f"list of {PAIRS} times in ms")),
    "tape": (_is_tape, "tape, written as text"),
    "lines": (_is_lines, "list of line numbers"),
    "texts": (_is_texts, "list of lines"),
}


def _lines(numbers: Any, texts: Any, length: int) -> list[str]:
    """Return the text of the line that made each instruction, as far as it is known."""
    known = _is_lines(numbers) and _is_texts(texts) and len(numbers) == length
    if not known or not all(0 <= number < len(texts) for number in numbers):
        return [""] * length
    return [texts[number] for number in numbers]


def groups_of(rows: list[Row], lines: list[str]) -> list[dict[Any, float]]:
    """Return ms by op, by op and shapes, and by line of the program."""
    found: list[dict[Any, float]] = [{}, {}, {}]
    for op, shapes, at, ms in rows:
        for group, name in zip(found, (op, (op, shapes), lines[at]), strict=True):
            group[name] = group.get(name, 0.0) + ms
    return found


# ── the rules ────────────────────────────────────────────────────────────────────────────────


def _first(sentences: Iterator[str]) -> str:
    return next(sentences, "")


def _costs(steps: list[Step], start: Step) -> Iterator[str]:
    for step in steps:
        if step.tape is None:
            yield f"{step.name}: {step.wrong}"
        elif abs(step.row["counted_ms"] - step.ms) > _SAME * step.ms:
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
        if not step.kept and not _is_reason(step.row["rejected"]):
            yield f"{step.name} is not kept: say why in a sentence"


def _one_by_one(steps: list[Step], start: Step, given: str) -> Iterator[str]:
    """Yield what speaks against steps that were taken, measured and judged one by one."""
    kept = [step for step in steps if step.kept]
    times = start.ms / kept[-1].ms
    if times > _MUCH and len(kept) < _FEWEST:
        yield (
            f"the cost falls {times:.3g} times in {len(kept)} kept steps: note each cause by "
            f"itself, in {_FEWEST} steps at least"
        )
    for before, step in itertools.pairwise([start, *kept]):
        way = math.log(before.ms / step.ms) / math.log(times)
        if times > _MUCH and way > _MOST_OF_THE_WAY:
            yield f"{step.name} goes {way:.0%} of the way at once: note each cause by itself"
        if step.row["verdict"] == "slower":
            yield f"{step.name} is kept, and its own pairs call it slower"
    programs = {given: "the given program"}
    programs |= {digest_of(step.tape): step.name for step in kept if step.tape is not None}
    for step in steps:
        other = programs.get(digest_of(step.tape)) if step.tape is not None else None
        if not step.kept and other is not None:
            yield f"{step.name} is not kept, but it is {other}: an idea is a program of its own"


def _lowered(steps: list[Step], start: Step) -> Iterator[str]:
    """Yield where a step does not name one of the large costs before it, or does not lower it."""
    before, others = start, 0
    for step in steps:
        named = _named(f"{step.row['change']}\n{step.row['because']}", before, _ROWS)
        if not named:
            others += 1
            if others > 1 or not _is_reason(step.row["instead"]):
                ops = ", ".join(_top(before.groups[0], _ROWS)) if before.groups else ""
                yield (
                    f"{step.name}: the largest costs of {before.name} are {ops}; neither change "
                    "nor because names one, or a large line in backquotes (instead= is for one "
                    "step)"
                )
        elif step.kept and step.tape is not None:
            left = [
                str(name)[:60]
                for place, name in named
                if step.groups[place].get(name, 0.0) > _FALLEN * before.groups[place][name]
            ]
            if 2 * len(left) > len(named):  # who names all costs says of none that it is the cause
                told = " and ".join(map(repr, left))
                yield f"{step.name} names {told}, which cost no less after it: name its cause"
        if step.kept and step.tape is not None:
            before = step


def _largest(steps: list[Step], start: Step) -> Iterator[str]:
    before = start
    for step in steps:
        told = f"{step.row['change']}\n{step.row['because']}"
        if not _names(told, before, 1) and not _is_reason(step.row["instead"]):
            [op, *_], [line, *_] = (_top(before.groups[n], 1) or [""] for n in (0, 2))
            where = f", by line `{line[:60]}`" if line else ""
            yield (
                f"{step.name}: the largest cost of {before.name} is {op}{where}; neither change "
                "nor because names it: do, or say in instead= why you took another"
            )
        if step.kept and step.tape is not None:
            before = step


def _floors(known: Known, machine: str) -> list[float]:
    """Return the race's floor and the one by bytes alone, which logs of earlier years tell."""
    return [known.floor or math.inf, floor_by_bytes(known.inputs, known.results, MACHINES[machine])]


def _stop(text: Any, steps: list[Step], floors: list[float]) -> Iterator[str]:
    if text is None or not text.strip():
        yield "the log has no stop: log.stop says what is left"
        return
    kept = [step for step in steps if step.kept and step.tape is not None]
    if not kept:
        yield "no step is kept"
        return
    last = kept[-1]
    if not _names(text, last, 2):
        ops = " and ".join(_top(last.groups[0], 2))
        yield f"the stop names none of the two largest costs that are left, {ops}"
    gaps = [gap for floor in floors for gap in (last.ms / floor, last.ms - floor)]
    numbers = [float(re.sub("[,_]", "", said)) for said in _NUMBER.findall(text)]
    if not any(abs(number - gap) <= _GAP * gap for number in numbers for gap in gaps):
        yield (
            f"the stop tells no gap: {last.ms:.4g} ms are {gaps[0]:.4g} times the floor, or "
            f"{gaps[1]:.4g} ms above it"
        )


def _noted(steps: list[Step]) -> Iterator[str]:
    near = [abs(s.row["guess_ms"] - s.ms) <= _SAME * s.ms for s in steps if s.tape is not None]
    if len(near) > 1 and all(near):
        yield f"all {len(near)} guesses are within 0.1 % of the count: ask how they were made"


def _is_reason(text: str) -> bool:
    return len(re.findall(r"\w+", text)) >= _WORDS


def _top(group: Mapping[Any, float], count: int) -> list:
    """Return the names of the groups that cost as much as the one in this place."""
    ordered = sorted(group.values(), reverse=True)[:count]
    least = ordered[-1] * (1 - _SAME) if ordered else math.inf
    names = [name for name, ms in group.items() if ms >= least > 0]
    return sorted(names, key=lambda name: -group[name])


def _names(text: str, step: Step, count: int) -> bool:
    """Return True if a text names one of a program's largest groups: its op, or `part of its line`.

    Groups are made by op, by op and shapes, and by line; the largest of each counts.
    """
    return bool(_named(text, step, count))


def _named(text: str, step: Step, count: int) -> list[tuple[int, Any]]:
    """Return the groups of `_names`, each as the kind of group and its name."""
    if not step.groups:
        return []
    by_op, by_shape, by_line = (_top(group, count) for group in step.groups)
    said = text.lower()
    found: list[tuple[int, Any]] = []
    for op in dict.fromkeys([*by_op, *(name for name, _ in by_shape)]):
        if re.search(rf"\b{op.replace('_', '[_ ]?')}\b", said):
            found.append((0, op))
    parts = [" ".join(part.split()) for part in _QUOTED.findall(text)]
    for line in by_line:
        if any(part in " ".join(line.split()) for part in parts):
            found.append((2, line))
    return found


def _equal(tape: list, other: Any) -> bool:
    try:
        return dumps(tape) == dumps(other)
    except NotPlainData:
        return False
