"""Trace the programs that are known for a lesson's races, at the visible size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from cohort.run import ROOT, known, lessons, solved

from proflab_course.cases.case import Answer
from proflab_course.cases.race import WITH_LINES
from proflab_course.course.wrong import KnownSolution


@cache
def races() -> list[tuple[str, str]]:
    """Return (lesson, exercise) of each race, plans included."""
    return [
        (lesson, name)
        for lesson in lessons()
        for name, cells in solved(lesson).tests.items()
        if any(answer.earns_share for cell in cells for _, answer in cell.answers)
    ]


def entries(head: str) -> list[tuple[str, str, int]]:
    """Return (lesson, exercise, number) of each entry with this head, read off the files' lines.

    Each process that collects tests asks for them, and to read the lessons takes it a second.
    """
    found = []
    for path in sorted(ROOT.glob("modules/*/wrong/*.txt")):
        count = len(re.findall(rf"^{re.escape(head)}: ", path.read_text("utf-8"), re.M))
        lesson = f"lesson_{path.parts[-3][:2]}"
        found += [(lesson, path.stem, number) for number in range(count)]
    return found


def ideas(lesson: str, name: str) -> list[KnownSolution]:
    """Return the programs on the way to a race's solution, each with its share."""
    return [each for each in known(lesson).of[name] if each.kind == "slow"]


def best(lesson: str, name: str) -> list[KnownSolution]:
    """Return the programs that cost less than full marks: what `best` says in the visible case."""
    return [each for each in known(lesson).of[name] if each.is_best]


def raced(lesson: str, name: str, code: str = "") -> tuple[Answer, Any, dict]:
    """Return a race's visible case, what a program yields there, and the names beside it.

    code: the program's; the solution if there is none. What it yields is a tape or a plan.
    """
    own, scope = solved(lesson), dict(solved(lesson).scope)
    exec(f"{own.helpers}\n{code}", scope)
    block = own.tests[name][0].blocks[0]
    with own.beside():
        for step in block.steps[:-1]:
            exec(step.code, scope)
        made = eval(block.steps[-1].code.removesuffix(WITH_LINES), scope)
    return block.answers[-1], made, scope


def programs(lesson: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield each idea for a race with its code, then the solution, then the best known."""
    for each in ideas(lesson, name):
        yield each.sentence, each.code
    yield "the solution", ""
    for each in best(lesson, name):
        yield f"best known: {each.sentence}", each.code
