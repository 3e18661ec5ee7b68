"""Split a graded cell into the code for a student's process and the answers for the grader.

The grammar: top-level statements, each either set-up (any Python without an expect) or a case of
one of the kinds below, each of which has a file of its own in this folder. Races stand in a cell
alone. A `Step` holds code only, without comments; an `Answer` holds label, expected value and
tolerance. Blocks between `### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS` are hidden, their
set-up included, and doubles that they declare are held by the grader (`hidden_doubles.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from proflab.lesson.names import bound_names, used_names
from proflab_course.cases import log, plan, race, raises, table, value
from proflab_course.cases.about_comments import MisplacedExplanation, explanations
from proflab_course.cases.asserts import assertion
from proflab_course.cases.case import (
    Answer,
    GrammarError,
    Sent,
    Step,
    at,
    called,
    is_literal,
    literal,
)
from proflab_course.cases.hidden_blocks import hidden_lines
from proflab_course.cases.hidden_doubles import (
    DoubleSpec,
    NotDeclared,
    declaration,
    is_lookup,
)

if TYPE_CHECKING:
    from proflab_course.course.notebook import Cell

# Each kind of case by the function that it calls: what makes steps and answers of a call.
KINDS: dict[str, Callable[[ast.Call, str], list[Sent]]] = {
    "expect": value.parse,
    "expect_between": value.parse_between,
    "expect_cheaper": plan.parse,
    "expect_faster": race.parse,
    "expect_log": log.parse,
    "expect_raises": raises.parse,
    "expect_table": table.parse,
}


@dataclass(frozen=True)
class Block:
    """Consecutive steps that are all hidden or all visible; set-up has no answer.

    doubles: those that the grader holds, each with the position of the step that is its stub;
    read, bound: the names that the block takes from what was there before it, and those it binds.
    """

    hidden: bool
    steps: tuple[Step, ...]
    answers: tuple[Answer | None, ...]
    doubles: tuple[tuple[int, DoubleSpec], ...] = ()
    read: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TestCell:
    """A graded cell, split. `name` is its grade_id; `explained`: hidden cases by their labels."""

    __test__ = False  # else pytest would take a class of this name for tests

    name: str
    points: float
    blocks: tuple[Block, ...]
    explained: dict[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> list[tuple[bool, Answer]]:
        """(hidden, answer) of every case, in order."""
        return [
            (block.hidden, answer)
            for block in self.blocks
            for answer in block.answers
            if answer is not None
        ]

    @property
    def code(self) -> str:
        """The code of all its statements, without comments, labels and expected values."""
        return "\n".join(step.code for block in self.blocks for step in block.steps)

    @property
    def is_race(self) -> bool:
        """True if its cases are races, which earn shares."""
        return any(answer.earns_share for _, answer in self.answers)


def split_cell(cell: Cell) -> TestCell:
    """Split a lesson's graded cell; a GrammarError names the lesson's file, too."""
    try:
        return split(cell.source, cell.name, cell.points)
    except GrammarError as error:
        raise GrammarError(f"{cell.place}, {error}") from None


@lru_cache(maxsize=1024)  # build and grader ask for each cell many times
def split(source: str, name: str, points: float = 0.0) -> TestCell:
    """Split a graded cell's source; raises GrammarError with the cell's name and the line."""
    hidden = hidden_lines(source, name)
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise GrammarError(f"cell {name}, line {error.lineno}: {error.msg}") from None
    for node in tree.body:
        if hidden.get(node.lineno) != hidden.get(node.end_lineno or 0):
            raise GrammarError(at(name, node, "a statement crosses a hidden block's border"))
    regions = groupby(tree.body, key=lambda node: hidden.get(node.lineno))
    blocks = [_block(list(nodes), region is not None, name) for region, nodes in regions]
    try:
        explained = explanations(source, {*hidden})
    except MisplacedExplanation as error:
        raise GrammarError(f"cell {name}, {error}") from None
    cell = TestCell(name, points, tuple(blocks), explained)
    _check_labels(cell)
    return cell


def _block(nodes: list[ast.stmt], hidden: bool, name: str) -> Block:
    steps: list[Step] = []
    answers: list[Answer | None] = []
    doubles: dict[str, DoubleSpec] = {}
    places: list[int] = []
    read: set[str] = set()
    bound: set[str] = set()
    for node in nodes:
        read |= used_names([node]) - bound
        bound |= bound_names([node])
        cases = _statement(node, name)
        if hidden:
            try:
                cases = [(_held(node, step, doubles, name), answer) for step, answer in cases]
            except NotDeclared as error:
                raise GrammarError(at(name, node, str(error))) from None
            if len(doubles) > len(places):
                places.append(len(steps))
        steps += [step for step, _ in cases]
        answers += [answer for _, answer in cases]
    held = tuple(zip(places, doubles.values(), strict=True))
    return Block(hidden, tuple(steps), tuple(answers), held, frozenset(read), frozenset(bound))


def _held(node: ast.stmt, step: Step, doubles: dict[str, DoubleSpec], name: str) -> Step:
    """Return a hidden block's step without what the grader holds; add that to `doubles`."""
    double = declaration(node, doubles, lambda argument: literal(argument, name))
    if double is not None:
        doubles[double.name] = double
        return Step("setup", double.stub)
    call = node.value if isinstance(node, ast.Expr) and step.kind != "setup" else None
    table = isinstance(call, ast.Call) and called(call) == "expect_table"
    if table and (used := used_names([node]) & doubles.keys()):
        raise NotDeclared(
            f"a table uses no double of the grader's: compare {min(used)} by `expect`"
        )
    part: ast.AST = node
    if isinstance(call, ast.Call) and step.kind == "value" and not table:
        part = call.args[1]
    if not is_lookup(part, doubles):
        return step
    return Step("lookup", step.code)


def _statement(node: ast.stmt, name: str) -> list[tuple[Step, Answer | None]]:
    """Return a statement's step with its answer: several for a table, no answer for set-up."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in KINDS:
        for part in (*call.args, *call.keywords):
            _refuse_nested_expect(part, name)
        return [*KINDS[call.func.id](call, name)]
    _refuse_nested_expect(node, name)
    if found := assertion(node, lambda side: is_literal(side, name)):
        raise GrammarError(at(name, *found))
    return [(Step("setup", ast.unparse(node)), None)]


def _refuse_nested_expect(node: ast.AST, name: str) -> None:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in KINDS:
            what = f"{inner.id} stands inside another statement; it must be a statement of its own"
            how = "collect a list, compare it once; or write expect_table"
            raise GrammarError(at(name, inner, f"{what} ({how})"))
        if isinstance(inner, ast.alias) and (inner.asname or inner.name) in KINDS:
            raise GrammarError(f"cell {name}: import {inner.name} in the lesson's first cell")


def _check_labels(cell: TestCell) -> None:
    labels = [answer.label for _, answer in cell.answers]
    if not labels:
        raise GrammarError(f"cell {cell.name}: a graded cell needs at least one expect")
    if cell.is_race and not all(answer.earns_share for _, answer in cell.answers):
        raise GrammarError(f"cell {cell.name}: races have a cell of their own: they earn shares")
    for label in labels:
        if labels.count(label) > 1:
            raise GrammarError(f"cell {cell.name}: two cases have the label {label!r}")
