"""Check that a work log's steps were taken, measured and judged one by one.

A log can agree with its programs in all and be made up: one program in three versions, each with an
op more, times that nobody took, an idea that is the program itself. What such logs have in common
is looked for here. Nobody can tell from a log in which order its programs were written: a student
who puts the given program's faults back into a fast one, a fault at a time, has written a log after
all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from proflab.lesson.blas import on_threads
from proflab.lesson.race.idle import at_work
from proflab.lesson.race.judge import Budget
from proflab.lesson.race.known import Known, row_of
from proflab.lesson.race.steps import Step, is_reason, named, ops_in, top
from proflab.lesson.race.tape import SCHEMA, Refused

_MUCH, _FEWEST = 3.0, 3  # a cost that falls so many times falls in so many kept steps at least
_PART_OF_THE_WAY = 0.05  # of the way, in logarithms, that each of these goes at least
_MOST_OF_THE_WAY = 0.85  # of the way, in logarithms: more than mending any one cause gives
_ROWS = 5  # of the table, from which a step names its cost
_FALLEN = 0.9  # of what the named cost was before, at most
_MOST_NAMED = 6  # ops of the program, in a step's diagnosis: naming all of them explains none
_ORDINARY = ("all", "any", "to", "where")  # ops, and words of sentences that are about no op
_FLAGS = ("bool", "dtype", "gelu", "reduction")  # kinds of attributes in tape.py that make an idea
_ANOTHER = 0.01  # of the cost: an idea that adds or drops less is the program that it changes
# A machine on which overhead is all makes programs faster by the ratio of their ops, others by
# about that of the counts: a speed-up is at most so many times beyond both. There is no least one:
# where numpy has no fast product, as in float16, a program that costs less takes 50 times as long.
_BEYOND = 4.0
_FEW = 2  # different pairs, which a coarse clock gives twice
_EQUAL = 1e-6  # relative: ratios of times


def look_closer(steps: list[Step], known: Known) -> None:
    """Set what each step's program does; what would take too long is not looked at.

    This work has a budget of its own, so that it takes nothing from judging what is right.
    """
    budget = Budget(known)
    for step in sorted(steps, key=lambda step: not step.kept):
        if step.tape is None or step.paid is None:
            continue
        with suppress(Refused), on_threads(1):
            budget.spend(step.paid.work)
            inputs, _ = next(known.examples())
            # A copy in another order is an idea that may pay on a real machine.
            places = at_work(step.tape, inputs, step.paid.walk, copies=not step.kept)
            for row in step.paid.rows:
                if row["at"] in places and row["ms"]:  # a view in another's place is no idea
                    op, shapes, at, ms = row_of(row)
                    place = op, shapes, _how(row, step.tape[at])
                    step.does[place] = step.does.get(place, 0.0) + ms


def _how(row: Mapping[str, Any], line: list) -> str:
    """Return what an op makes, and its flags: with other numbers or letters it is no other op."""
    kinds = SCHEMA[line[1]][2] if line[0] == "op" else {}
    flags = [line[3].get(name) for name in kinds if kinds[name].rstrip("?") in _FLAGS]
    return repr((row["output_shape"], row["dtype"], flags))


def separate(steps: list[Step], start: Step) -> Iterator[str]:
    """Yield what speaks against steps that were taken, measured and judged one by one."""
    kept = [step for step in steps if step.kept]
    if not kept[-1].ms:
        yield f"{kept[-1].name} is kept, and nothing that it does costs anything"
        return
    times = start.ms / kept[-1].ms
    ways = [
        math.log(before.working_ms / step.working_ms) / math.log(times) if times > _MUCH else 0.0
        for before, step in itertools.pairwise([start, *kept])
    ]
    far = sum(way >= _PART_OF_THE_WAY for way in ways)
    if times > _MUCH and far < _FEWEST:
        part = f"{_PART_OF_THE_WAY:.0%} of the way"
        yield (
            f"the cost falls {times:.3g} times, and {far} of the {len(kept)} kept steps go {part}, "
            f"ops that change no number left out: note each cause by itself, in {_FEWEST} such "
            "steps at least"
        )
    for step, way in zip(kept, ways, strict=True):
        if way > _MOST_OF_THE_WAY:
            yield f"{step.name} goes {way:.0%} of the way at once: note each cause by itself"
        if step.row["verdict"] == "slower":
            yield f"{step.name} is kept, and its own pairs call it slower"
    said: dict[tuple, str] = {}
    for step in kept:
        other = said.setdefault((step.row["change"], step.row["because"]), step.name)
        if other != step.name:
            yield f"{step.name} says of itself what {other} says, word for word"


def ideas(steps: list[Step], start: Step, floor: float) -> Iterator[str]:
    """Yield what speaks against the programs that were not kept: that they are no ideas."""
    kept = [step for step in steps if step.kept]
    for step in steps:
        if step.kept or step.tape is None:
            continue
        if [shape for shape, _ in step.kinds] != [shape for shape, _ in start.kinds]:
            yield f"{step.name} is not kept, and its results have other shapes than those asked for"
        if step.ms < floor:
            yield f"{step.name} is not kept, and costs less than any right program can"
        by_shapes = _by_shapes(step.does)
        pairs = [(start.groups[1], by_shapes, start), *((o.does, step.does, o) for o in kept)]
        for there, here, other in pairs if step.does else ():
            swapped = other is not start and _are_swapped(there, here)
            if _difference(there, here) < _ANOTHER and not swapped:
                yield (
                    f"{step.name} is not kept, but it is {other.name} to {_ANOTHER:.0%} of the "
                    "cost, ops that change no number left out: an idea is a program of its own"
                )


def _are_swapped(there: Mapping[Any, float], here: Mapping[Any, float]) -> bool:
    """Say whether a program has an op in the place of another, however cheap; a copy is none.

    A forged idea is a program with an op more. An op in another's place may be forged as well, and
    passes in any case where it is dear; who tries whether a cheaper one pays has an idea.
    """
    more = (op for op, *_ in here.keys() - there.keys())
    return bool(there.keys() - here.keys()) and any(op != "clone" for op in more)


def _by_shapes(does: Mapping[Any, float]) -> dict[Any, float]:
    """Return ms by op and shapes alone, as those of the given program are known."""
    found: dict[Any, float] = {}
    for (op, shapes, _), ms in does.items():
        found[op, shapes] = found.get((op, shapes), 0.0) + ms
    return found


def _difference(one: Mapping[Any, float], other: Mapping[Any, float]) -> float:
    """Return the cost of what only one of two programs does, relative to the dearer one's."""
    alone = math.fsum(abs(one.get(n, 0.0) - other.get(n, 0.0)) for n in {**one, **other})
    return alone / max(math.fsum(one.values()), math.fsum(other.values()))


def times_that_fit(steps: list[Step], start: Step) -> Iterator[str]:
    """Yield where times are copied, or such as these programs can have on no machine."""
    before, product = start, 1.0
    seen: dict[tuple, tuple[Step, Step]] = {}
    for step in (step for step in steps if step.tape is not None and step.ms):
        row = step.row
        pairs = tuple(zip(row["before"], row["after"], strict=True))
        old, other = seen.setdefault(pairs, (before, step))
        copied = old is not before or other.row["tape"] != row["tape"]
        if copied and len({*pairs}) > _FEW:
            yield f"{step.name} has the times of {other.name}, to the last digit"
        ratios = [old / new for old, new in pairs]
        if len({*row["before"]}) > _FEW and max(ratios) - min(ratios) < _EQUAL * max(ratios):
            yield f"{step.name}: its times differ and their ratios do not, which no clock gives"
        if row["low"] > _greatest(before, step):
            yield _impossible(step.name, row["speedup"], before, step)
        if step.kept:
            before, product = step, product * row["speedup"]
    if before is not start and product > _greatest(start, before):
        yield _impossible("all kept steps together", product, start, before)


def _greatest(old: Step, new: Step) -> float:
    """Return the greatest speed-up that a machine can give."""
    return _BEYOND * max(old.ms / new.ms, old.ops / new.ops)


def _impossible(name: str, times: float, old: Step, new: Step) -> str:
    return (
        f"{name}: measured {times:.3g} times as fast as {old.name}, which costs "
        f"{old.ms / new.ms:.3g} times as much and has {old.ops / new.ops:.3g} times as many ops: "
        "no machine does that"
    )


def lowered(steps: list[Step], start: Step) -> Iterator[str]:
    """Yield where a step does not name one of the large costs before it, or does not lower it."""
    before, others = start, 0
    for step in steps:
        text = f"{step.row['change']}\n{step.row['because']}"
        found = named(text, before, _ROWS)
        ops = [op for op in ops_in(text, before) if op not in _ORDINARY]
        stays = [
            (place, name)
            for place, name in found
            if step.kept and step.tape is not None
            if step.groups[place].get(name, 0.0) > _FALLEN * before.groups[place][name]
        ]
        found = [each for each in found if each not in stays or each[1] not in _ORDINARY]
        left = [str(name)[:60] for _, name in stays if name not in _ORDINARY]
        if len(ops) > _MOST_NAMED:
            yield f"{step.name} names {len(ops)} ops: name those that it is about"
        elif not found or 2 * len(left) > len(found):
            others += 1
            if others == 1 and is_reason(step.row["instead"]):
                pass  # one step of a log may be about a small cost, if it says why
            elif found:
                told = " and ".join(map(repr, left))
                yield (
                    f"{step.name} names {told}, which fell by less than a tenth: name what it "
                    "lowers (instead= is for one step)"
                )
            else:
                large = ", ".join(top(before.groups[0], _ROWS)) if before.groups else ""
                yield (
                    f"{step.name}: the largest costs of {before.name} are {large}; neither change "
                    "nor because names one, or a large line in backquotes (instead= is for one "
                    "step)"
                )
        if step.kept and step.tape is not None:
            before = step
