"""Split a graded cell into the code for a student's process and the answers for the grader.

The grammar: top-level statements, each either set-up (any Python without an expect) or one of
`expect(label, actual, expected)`, `expect_between(label, actual, low, high)`,
`expect_raises(label, lambda: …, ValueError)` and `expect_table(function, row, …)`, which is a case
for each row, or for each tuple of arguments where several have to raise; or races alone,
`expect_faster(label, traced(program, x=(8, 8)), like=slow, machine="DESK", full=1.7)`, whose case
yields a tape that is run and counted elsewhere (`grading/races.py`), or
`expect_cheaper(label, order(4), rule="cache", n=4, lines=2, line=4, given=90, full=50)`, whose case
yields a plan that the grader simulates; or `expect_log(label, log.data(), traced(program, …),
rule="costs", like=slow, machine="DESK")`, whose case yields a work log and the tape it ends with.
A `Step` holds code only, without comments; an `Answer` holds label, expected value and tolerance.
Blocks between `### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS` are hidden, their set-up
included, and doubles that they declare are held by the grader (`hidden_doubles.py`).
"""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from proflab.checks.diagnose import counts_flops
from proflab.checks.expect import row_labels
from proflab.checks.values import NotPlainData, to_plain_data
from proflab.lesson.names import bound_names, used_names
from proflab.lesson.race.check_log import RULES as RULES_OF_A_LOG
from proflab.lesson.race.cost import MACHINES
from proflab.lesson.race.judge import unit_of
from proflab.lesson.race.plans import RULES, WORKLOADS
from proflab_course.course.asserts import assertion
from proflab_course.course.explanations import MisplacedExplanation, explanations
from proflab_course.course.hidden_doubles import (
    DoubleSpec,
    NotDeclared,
    declaration,
    is_declaration,
    is_lookup,
)
from proflab_course.course.layout import CourseError

if TYPE_CHECKING:
    from proflab_course.course.notebook import Cell

BEGIN_HIDDEN = "### BEGIN HIDDEN TESTS"
_END_HIDDEN = "### END HIDDEN TESTS"
CALLS = (
    "expect",
    "expect_between",
    "expect_cheaper",
    "expect_faster",
    "expect_log",
    "expect_raises",
    "expect_table",
)


# What a race may say besides, as race.judge takes it.
_RACE_OPTIONS = {"within", "floor", "draws", "state", "fast", "memory"}


class GrammarError(CourseError):
    """A graded cell that does not follow the grammar; the sentence names the cell and the line."""


@dataclass(frozen=True)
class Step:
    """One statement to be executed in the student's process: nothing but code.

    kind: "setup" is executed, "value" is evaluated and its value returned, "raises" is evaluated
    for the exception that it raises; "tape" is evaluated, and its value stays in the reply format
    until the judge reads it; "lookup" never enters, since it asks a double of the grader's.
    """

    kind: Literal["setup", "value", "raises", "tape", "lookup"]
    code: str


@dataclass(frozen=True)
class Race:
    """Hold what a race's grader keeps: the code that traces the given program, machine, full marks.

    full: the ms that earn all; best: the lowest that is known, which earns no more, or None
    options: within, floor, draws, state, fast and memory, where said
    """

    given: str
    machine: str
    full: float
    best: float | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """Return what its costs are counted in."""
        return unit_of(self.machine, self.options.get("fast"))


@dataclass(frozen=True)
class PlanRace:
    """Hold what the grader keeps of `expect_cheaper`: the rule, its parameters, two costs.

    given: what the given plan costs; full: the cost that earns all; best: as of a Race
    """

    rule: str
    parameters: dict[str, Any]
    given: float
    full: float
    best: float | None = None

    @property
    def unit(self) -> str:
        """Return what its costs are counted in."""
        return RULES[self.rule].unit


@dataclass(frozen=True)
class LogCase:
    """Hold what the grader keeps of `expect_log`: what is asked of the log, and its given program.

    rule: of check_log.RULES; given: the code that traces the given program, as a race has it
    """

    rule: str
    given: str
    machine: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The part of a case that the grader keeps: how to judge the reply."""

    label: str
    call: str
    expected: Any = None
    rel: float | None = None
    abs: float | None = None
    mistakes: dict[str, Any] = field(default_factory=dict)
    low: float = 0.0
    high: float = 0.0
    exception: str = ""
    flops: bool = False
    race: Race | None = None
    plan: PlanRace | None = None
    log: LogCase | None = None


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

    __test__ = False

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
        return any(answer.race or answer.plan for _, answer in self.answers)


def split_cell(cell: Cell) -> TestCell:
    """Split a lesson's graded cell; a GrammarError names the lesson's file, too."""
    try:
        return split(cell.source, cell.name, cell.points)
    except GrammarError as error:
        raise GrammarError(f"{cell.place}, {error}") from None


@lru_cache(maxsize=1024)  # build and grader ask for each cell many times
def split(source: str, name: str, points: float = 0.0) -> TestCell:
    """Split a graded cell's source; raises GrammarError with the cell's name and the line."""
    hidden_lines = _hidden_lines(source, name)
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise GrammarError(f"cell {name}, line {error.lineno}: {error.msg}") from None
    for node in tree.body:
        if hidden_lines.get(node.lineno) != hidden_lines.get(node.end_lineno):
            raise GrammarError(_at(name, node, "a statement crosses a hidden block's border"))
    regions = groupby(tree.body, key=lambda node: hidden_lines.get(node.lineno))
    blocks = [_block(list(nodes), region is not None, name) for region, nodes in regions]
    try:
        explained = explanations(source, {*hidden_lines})
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
                raise GrammarError(_at(name, node, str(error))) from None
            if len(doubles) > len(places):
                places.append(len(steps))
        steps += [step for step, _ in cases]
        answers += [answer for _, answer in cases]
    held = tuple(zip(places, doubles.values(), strict=True))
    return Block(hidden, tuple(steps), tuple(answers), held, frozenset(read), frozenset(bound))


def _held(node: ast.stmt, step: Step, doubles: dict[str, DoubleSpec], name: str) -> Step:
    """Return a hidden block's step without what the grader holds; add that to `doubles`."""
    if is_declaration(node):
        double = declaration(node, doubles, lambda argument: _literal(argument, name))
        doubles[double.name] = double
        return Step("setup", double.stub)
    table = step.kind != "setup" and node.value.func.id == "expect_table"
    if table and (used := used_names([node]) & doubles.keys()):
        raise NotDeclared(
            f"a table uses no double of the grader's: compare {min(used)} by `expect`"
        )
    part = node.value.args[1] if step.kind == "value" and not table else node
    if not is_lookup(part, doubles):
        return step
    return Step("lookup", step.code)


def hidden_source_removed(source: str) -> str:
    """Return the source without its hidden blocks, as nbgrader's ClearHiddenTests leaves it."""
    pattern = rf"^[ \t]*{re.escape(BEGIN_HIDDEN)}.*?^[ \t]*{re.escape(_END_HIDDEN)}[^\n]*\n?"
    return re.sub(pattern, "", source, flags=re.DOTALL | re.MULTILINE).rstrip("\n")


def _hidden_lines(source: str, name: str) -> dict[int, int]:
    """Line number → number of the hidden block that it lies in."""
    lines, inside, block = {}, False, 0
    for number, line in enumerate(source.splitlines(), start=1):
        text = line.strip()
        if text == BEGIN_HIDDEN:
            if inside:
                raise GrammarError(f"cell {name}, line {number}: a hidden block inside another")
            inside, block = True, block + 1
        elif text == _END_HIDDEN:
            if not inside:
                raise GrammarError(f"cell {name}, line {number}: {_END_HIDDEN} without its BEGIN")
            inside = False
        elif inside:
            lines[number] = block
    if inside:
        raise GrammarError(f"cell {name}: {BEGIN_HIDDEN} without {_END_HIDDEN}")
    return lines


def _at(name: str, node: ast.AST, problem: str) -> str:
    return f"cell {name}, line {node.lineno}: {problem}"


def _statement(node: ast.stmt, name: str) -> list[tuple[Step, Answer | None]]:
    """Return a statement's step with its answer: several for a table, no answer for set-up."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in CALLS:
        for part in (*call.args, *call.keywords):
            _refuse_nested_expect(part, name)
        return _table(call, name) if call.func.id == "expect_table" else [_case(call, name)]
    _refuse_nested_expect(node, name)
    if found := assertion(node, lambda side: _is_literal(side, name)):
        raise GrammarError(_at(name, *found))
    return [(Step("setup", ast.unparse(node)), None)]


def _refuse_nested_expect(node: ast.AST, name: str) -> None:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in CALLS:
            problem = (
                f"{inner.id} stands inside another statement; it must be a statement of its own"
            )
            raise GrammarError(
                _at(
                    name,
                    inner,
                    f"{problem} (collect a list, compare it once; or write expect_table)",
                )
            )
        if isinstance(inner, ast.alias) and (inner.asname or inner.name) in CALLS:
            raise GrammarError(f"cell {name}: import {inner.name} in the lesson's first cell")


def _case(call: ast.Call, name: str) -> tuple[Step, Answer]:
    kind = call.func.id
    if kind == "expect_faster":
        return _race(call, name)
    if kind == "expect_cheaper":
        return _plan_race(call, name)
    if kind == "expect_log":
        return _log_case(call, name)
    counts = {"expect": 3, "expect_between": 4, "expect_raises": 3}
    if len(call.args) != counts[kind] or any(isinstance(a, ast.Starred) for a in call.args):
        raise GrammarError(_at(name, call, f"{kind} takes {counts[kind]} positional arguments"))
    allowed = {"expect": {"rel", "abs", "mistakes"}}.get(kind, set())
    _refuse_unknown(call, allowed, name)
    actual = call.args[1]
    label = _label(call.args[0], name)
    if kind == "expect_raises":
        return _raises_case(label, actual, call.args[2], name)
    options = _options(call, name)
    step = Step("value", ast.unparse(actual))
    if kind == "expect_between":
        low, high = (_literal(node, name) for node in call.args[2:])
        if not all(isinstance(bound, (int, float)) for bound in (low, high)):
            raise GrammarError(_at(name, call, "the bounds must be numbers"))
        if not low <= high:
            raise GrammarError(_at(name, call, "the lower bound is above the upper bound"))
        return step, Answer(label, kind, low=low, high=high)
    expected = _literal(call.args[2], name)
    flops = counts_flops(label, name, *options.get("mistakes", {}))
    return step, Answer(label, kind, expected=expected, flops=flops, **options)


def _race(call: ast.Call, name: str) -> tuple[Step, Answer]:
    """Return the case of `expect_faster(label, traced(program, x=(8, 8), …), like=…, …)`."""
    if len(call.args) != 2:
        raise GrammarError(_at(name, call, "expect_faster takes a label and traced(program, …)"))
    said = _said(call, {"like", "machine", "full"}, _RACE_OPTIONS | {"best"}, name)
    label, made = _label(call.args[0], name), call.args[1]
    given = _given(made, said.pop("like"), name)
    options = {key: _literal(value, name) for key, value in said.items()}
    machine, full, best = (options.pop(key, None) for key in ("machine", "full", "best"))
    if machine not in [*MACHINES] or not isinstance(full, (int, float)) or full <= 0:
        known_machines = ", ".join(MACHINES)
        problem = f"machine is one of {known_machines}, and full a positive number of ms"
        raise GrammarError(_at(name, call, problem))
    race = Race(given, machine, float(full), _best(best, full, call, name), options)
    return Step("tape", ast.unparse(made)), Answer(label, "expect_faster", race=race)


def _best(best: Any, full: float, call: ast.Call, name: str) -> float | None:
    """Return the best cost that is known, where the case says one."""
    if best is None:
        return None
    if not isinstance(best, (int, float)) or not 0 < best <= full:
        raise GrammarError(_at(name, call, "best is a cost, and no higher than full"))
    return float(best)


def _said(
    call: ast.Call, needed: set[str], options: set[str], name: str
) -> dict[str | None, ast.expr]:
    """Return what a call says by keyword; all that is needed, and nothing unknown."""
    _refuse_unknown(call, needed | options, name)
    said = {keyword.arg: keyword.value for keyword in call.keywords}
    if missing := sorted(needed - {str(key) for key in said}):
        raise GrammarError(_at(name, call, f"{call.func.id} needs {missing[0]}="))
    return said


def _given(made: ast.expr, like: ast.expr, name: str) -> str:
    """Return the code that traces the given program as `made` traces the student's."""
    if not isinstance(like, ast.Name):
        raise GrammarError(_at(name, like, "like is the name of a function in a locked cell"))
    known = isinstance(made, ast.Call) and ast.unparse(made.func) in ("traced", "race.traced")
    if not known or not all(isinstance(argument, ast.Name) for argument in made.args):
        raise GrammarError(_at(name, made, "a race's case is a call of traced(program, …)"))
    if len(made.args) != 1:
        raise GrammarError(_at(name, made, "traced takes one program, and shapes by name"))
    for keyword in made.keywords:
        if keyword.arg == "model" and _is_maker(keyword.value, name):
            continue
        if keyword.arg is None or not isinstance(_literal(keyword.value, name), (tuple, bool)):
            raise GrammarError(_at(name, made, "shapes are literal tuples: x=(1024, 8)"))
    return ast.unparse(ast.Call(made.func, [like], made.keywords))


def _log_case(call: ast.Call, name: str) -> tuple[Step, Answer]:
    """Return the case of `expect_log(label, log.data(), traced(program, …), rule=…, like=…, …)`."""
    if len(call.args) != 3 or any(isinstance(a, ast.Starred) for a in call.args):
        problem = "expect_log takes a label, a log and traced(program, …)"
        raise GrammarError(_at(name, call, problem))
    more = {"within", "draws", "state", "floor", "one_by_one"}
    said = _said(call, {"like", "machine", "rule"}, more, name)
    label, log, made = _label(call.args[0], name), *call.args[1:]
    given = _given(made, said.pop("like"), name)
    options = {key: _literal(value, name) for key, value in said.items()}
    machine, rule = options.pop("machine"), options.pop("rule")
    if machine not in [*MACHINES] or rule not in [*RULES_OF_A_LOG]:
        known = f"machine is one of {', '.join(MACHINES)}, and rule of {', '.join(RULES_OF_A_LOG)}"
        raise GrammarError(_at(name, call, known))
    code = f"[{ast.unparse(log)}, {ast.unparse(made)}]"
    case = LogCase(rule, given, machine, options)
    return Step("tape", code), Answer(label, "expect_log", log=case)


def _is_maker(node: ast.expr, name: str) -> bool:
    """Return True for what a race's model= may be: a function's name, or its call on literals."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            _literal(value, name)
        return True
    return isinstance(node, ast.Name)


def _plan_race(call: ast.Call, name: str) -> tuple[Step, Answer]:
    """Return the case of `expect_cheaper(label, call, rule=…, …, given=…, full=…)`."""
    if len(call.args) != 2 or any(isinstance(a, ast.Starred) for a in call.args):
        raise GrammarError(_at(name, call, "expect_cheaper takes a label and a plan"))
    if any(keyword.arg is None for keyword in call.keywords):
        raise GrammarError(_at(name, call, "expect_cheaper takes no argument **"))
    said = {keyword.arg: _literal(keyword.value, name) for keyword in call.keywords}
    if (rule := said.pop("rule", None)) not in [*RULES]:
        raise GrammarError(_at(name, call, f"rule is one of {', '.join(RULES)}"))
    needed = {*RULES[rule].parameters, "given", "full"}
    _refuse_unknown(call, needed | {"rule", "best"}, name)
    if missing := sorted(needed - said.keys()):
        raise GrammarError(_at(name, call, f"the rule {rule!r} needs {missing[0]}="))
    costs = given, full = said.pop("given"), said.pop("full")
    best = said.pop("best", None)
    if not all(isinstance(cost, (int, float)) for cost in costs) or not 0 < full < given:
        raise GrammarError(_at(name, call, "given and full are costs, and full is the lower one"))
    if unknown := [v for v in said.values() if isinstance(v, str) and v not in WORKLOADS]:
        problem = f"there is no {unknown[0]!r} in race.WORKLOADS"
        raise GrammarError(_at(name, call, problem))
    plan = PlanRace(rule, said, float(given), float(full), _best(best, full, call, name))
    label = _label(call.args[0], name)
    return Step("value", ast.unparse(call.args[1])), Answer(label, "expect_cheaper", plan=plan)


def _table(call: ast.Call, name: str) -> list[tuple[Step, Answer]]:
    """Return the cases of `expect_table(function, row, …)`."""
    _refuse_unknown(call, {"rel", "abs"}, name)
    function, *rows = call.args or [None]
    if not rows or any(isinstance(row, ast.Starred) for row in call.args):
        raise GrammarError(_at(name, call, "expect_table takes a function and its rows"))
    if not isinstance(function, (ast.Name, ast.Attribute, ast.Lambda)):
        raise GrammarError(_at(name, function, "expect_table takes a function's name or a lambda"))
    options = _options(call, name)
    cases = []
    for number, row in enumerate(rows, start=1):
        try:
            cases += _row(function, row, options, name)
        except GrammarError as error:
            raise GrammarError(f"{error} (row {number} of the table)") from None
    return cases


def _row(
    function: ast.expr, row: ast.expr, options: dict[str, Any], name: str
) -> Iterator[tuple[Step, Answer]]:
    """Yield a row's cases: one, or one for each tuple of arguments that has to raise."""
    parts = row.elts if isinstance(row, ast.Tuple) else []
    if len(parts) not in (3, 4) or any(isinstance(part, ast.Starred) for part in parts):
        example = "(label, arguments, result), or these with mistakes"
        raise GrammarError(_at(name, row, f"a row is a tuple: {example}"))
    label, (arguments, result, *mistakes) = _label(parts[0], name), parts[1:]
    exception = exception_name(result)
    several = exception and isinstance(arguments, ast.List)
    tuples = arguments.elts if several else [arguments]
    if not tuples or not all(isinstance(each, ast.Tuple) for each in tuples):
        how = "the arguments are a tuple, (x,) for one; a list of tuples where each has to raise"
        raise GrammarError(_at(name, row, how))
    if exception and mistakes:
        raise GrammarError(_at(name, row, "a row that expects an exception names no mistakes"))
    told = {"mistakes": _mistakes(mistakes[0], name)} if mistakes else {}
    for title, each in zip(row_labels(label, len(tuples)), tuples, strict=True):
        code = ast.unparse(ast.Call(function, each.elts, []))
        if exception:
            yield Step("raises", code), Answer(title, "expect_raises", exception=exception)
        else:
            expected = _literal(result, name)
            flops = counts_flops(title, name, *told.get("mistakes", {}))
            told |= {"flops": flops}
            yield Step("value", code), Answer(title, "expect", expected, **options, **told)


def _refuse_unknown(call: ast.Call, allowed: set[str], name: str) -> None:
    if unknown := [k.arg or "**" for k in call.keywords if k.arg not in allowed]:
        raise GrammarError(_at(name, call, f"{call.func.id} takes no argument {unknown[0]}"))


def _label(node: ast.expr, name: str) -> str:
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        raise GrammarError(_at(name, node, "the label must be a literal string"))
    return node.value


def _options(call: ast.Call, name: str) -> dict[str, Any]:
    """Return a call's tolerances and mistakes."""
    named = {k.arg: k.value for k in call.keywords}
    options = {key: _literal(named[key], name) for key in ("rel", "abs") if key in named}
    for option, value in options.items():
        if not isinstance(value, (int, float, type(None))):
            raise GrammarError(_at(name, call, f"{option} must be a number"))
    if "mistakes" in named:
        options["mistakes"] = _mistakes(named["mistakes"], name)
    return options


def _mistakes(node: ast.expr, name: str) -> dict[str, Any]:
    mistakes = _literal(node, name)
    if not (isinstance(mistakes, dict) and all(isinstance(text, str) for text in mistakes)):
        raise GrammarError(_at(name, node, "mistakes must be a dict of sentences"))
    return mistakes


def exception_name(node: ast.expr) -> str:
    """Return the name of one of Python's own exceptions; empty for anything else."""
    known = getattr(builtins, node.id, None) if isinstance(node, ast.Name) else None
    return node.id if isinstance(known, type) and issubclass(known, Exception) else ""


def _raises_case(
    label: str, action: ast.expr, exception: ast.expr, name: str
) -> tuple[Step, Answer]:
    arguments = action.args if isinstance(action, ast.Lambda) else None
    if arguments is None or any(
        (
            arguments.args,
            arguments.posonlyargs,
            arguments.kwonlyargs,
            arguments.vararg,
            arguments.kwarg,
        )
    ):
        raise GrammarError(_at(name, action, "expect_raises takes `lambda: …` without arguments"))
    if not exception_name(exception):
        raise GrammarError(_at(name, exception, "expect_raises takes a built-in exception's name"))
    answer = Answer(label, "expect_raises", exception=exception.id)
    return Step("raises", ast.unparse(action.body)), answer


_LITERAL_NODES = (
    ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.UnaryOp, ast.BinOp, ast.Load,
    ast.operator, ast.unaryop, ast.Attribute, ast.Call, ast.Name, ast.keyword,
)  # fmt: skip


def _literal(node: ast.expr, name: str) -> Any:
    """Return the value of an expression of literals, arithmetic, `math` and `np`, as plain data."""
    for inner in ast.walk(node):
        fine = isinstance(inner, _LITERAL_NODES)
        if isinstance(inner, ast.Name):
            fine = inner.id in ("math", "np")
        if isinstance(inner, ast.Call):
            fine = isinstance(inner.func, ast.Attribute)
        if not fine:
            problem = "expected values use literals, arithmetic, math and np only"
            raise GrammarError(_at(name, node, f"{problem}, not `{ast.unparse(inner)}`"))
    scope = {"math": math, "np": np, "__builtins__": {}}
    try:
        return to_plain_data(eval(compile(ast.Expression(node), name, "eval"), scope))
    except NotPlainData as error:
        raise GrammarError(_at(name, node, f"the expected value cannot be used: {error}")) from None
    except Exception as error:
        raise GrammarError(_at(name, node, f"`{ast.unparse(node)}` raises {error!r}")) from None


def _is_literal(node: ast.expr, name: str) -> bool:
    try:
        _literal(node, name)
    except GrammarError:
        return False
    return True


def _check_labels(cell: TestCell) -> None:
    labels = [answer.label for _, answer in cell.answers]
    if not labels:
        raise GrammarError(f"cell {cell.name}: a graded cell needs at least one expect")
    if cell.is_race and not all(answer.race or answer.plan for _, answer in cell.answers):
        raise GrammarError(f"cell {cell.name}: races have a cell of their own: they earn shares")
    for label in labels:
        if labels.count(label) > 1:
            raise GrammarError(f"cell {cell.name}: two cases have the label {label!r}")
