"""Read `expect_faster(label, traced(program, x=(8, 8)), like=slow, machine="DESK", full=1.7)`.

Sent is what traces the student's program. The tape that comes back is run and counted elsewhere
(`grading/races.py`), against that of the given program, and its cost earns a share of the points.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proflab.checks.compare import Verdict
from proflab.lesson.race.cost import MACHINES
from proflab.lesson.race.hints import texts
from proflab.lesson.race.judge import BELOW_FLOOR, share_of, told, unit_of
from proflab_course.cases.case import (
    Answer,
    GrammarError,
    Held,
    Sent,
    Step,
    at,
    best_cost,
    label_of,
    literal,
    positional,
    said,
)

WITH_LINES = ".with_lines()"  # so that sentences about a tape can name lines of its program
# What a race may say besides, as race.judge takes it.
_OPTIONS = {"within", "floor", "draws", "state", "fast", "memory"}


class Costed(Held):
    """Hold what is judged by its cost: a race of programs, or of plans."""

    earns_share = True
    full: float

    @property
    def unit(self) -> str:
        """Return what its costs are counted in."""
        raise NotImplementedError

    def line(self, found: Mapping[str, Any]) -> str:
        """Return what it costs, beside the given program or plan."""
        raise NotImplementedError

    def left(self, found: Mapping[str, Any]) -> str:
        """Return what can still become cheaper."""
        raise NotImplementedError

    def judge(self, found: Mapping[str, Any]) -> Verdict:
        """Return the verdict: refused, wrong, below the floor, or a share."""
        if wrong := found.get("refused") or found["wrong"]:
            return Verdict(False, wrong)
        # The ms are a sum of floats, whose last digits depend on the order of the terms.
        if found["ms"] < found["floor"] * (1 - 1e-9):
            return Verdict(False, BELOW_FLOOR)
        share = share_of(found, self.full)
        left = self.left(found) if share < 1 else ""
        return Verdict(True, self.line(found), left, share, found["ms"])


@dataclass(frozen=True)
class Race(Costed):
    """Hold what a race's grader keeps: the code that traces the given program, machine, full marks.

    full: the ms that earn all; best: the lowest that is known, which earns no more, or None
    options: within, floor, draws, state, fast and memory, where said
    """

    traced = True

    given: str
    machine: str
    full: float
    best: float | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """Return what its costs are counted in."""
        return unit_of(self.machine, self.options.get("fast"))

    def line(self, found: Mapping[str, Any]) -> str:
        """Return what the student's program costs on the machine, and what the given one does."""
        return told(found, self.machine, self.full, self.options.get("fast"))

    def left(self, found: Mapping[str, Any]) -> str:
        """Return which lines can still become cheaper."""
        return "; ".join(texts(found))


def parse(call: ast.Call, name: str) -> list[Sent]:
    """Return the case of `expect_faster`."""
    label, made = positional(call, 2, name, "a label and traced(program, …)")
    keywords = said(call, {"like", "machine", "full"}, _OPTIONS | {"best"}, name)
    given = given_code(made, keywords.pop("like"), name)
    options = {key: literal(value, name) for key, value in keywords.items()}
    machine, full, best = (options.pop(key, None) for key in ("machine", "full", "best"))
    if machine not in [*MACHINES]:
        raise GrammarError(at(name, call, f"machine is one of {', '.join(MACHINES)}"))
    if not isinstance(full, (int, float)) or not 0 < full < math.inf:
        cost = f"full is the cost that earns all points, a number such as 1.7 and not {full!r}"
        raise GrammarError(at(name, call, cost))
    race = Race(given, machine, float(full), best_cost(best, full, call, name), options)
    code = ast.unparse(made) + WITH_LINES
    return [(Step("tape", code), Answer(label_of(label, name), "expect_faster", held=race))]


def given_code(made: ast.expr, like: ast.expr, name: str) -> str:
    """Return the code that traces the given program as `made` traces the student's."""
    if not isinstance(like, ast.Name):
        raise GrammarError(at(name, like, "like is the name of a function in a locked cell"))
    names = ("traced", "race.traced")
    if not (isinstance(made, ast.Call) and ast.unparse(made.func) in names) or not all(
        isinstance(argument, ast.Name) for argument in made.args
    ):
        raise GrammarError(at(name, made, "a race's case is a call of traced(program, …)"))
    if len(made.args) != 1:
        raise GrammarError(at(name, made, "traced takes one program, and shapes by name"))
    for keyword in made.keywords:
        if keyword.arg == "model" and _is_maker(keyword.value, name):
            continue
        if keyword.arg is None or not isinstance(literal(keyword.value, name), (tuple, bool)):
            raise GrammarError(at(name, made, "shapes are literal tuples: x=(1024, 8)"))
    return ast.unparse(ast.Call(made.func, [like], made.keywords))


def _is_maker(node: ast.expr, name: str) -> bool:
    """Return True for what a race's model= may be: a function's name, or its call on literals."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            literal(value, name)
        return True
    return isinstance(node, ast.Name)
