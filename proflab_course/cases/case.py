"""Hold what every kind of case has: what is sent, what is kept, and what its call may say."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from proflab.checks.compare import Verdict
from proflab.checks.values import NotPlainData, to_plain_data
from proflab_course.course.layout import CourseError


class GrammarError(CourseError):
    """A graded cell that does not follow the grammar; the sentence names the cell and the line."""


# grading/run/statements.py sends each of them as "setup" or "value", so that the student's process
# cannot tell whether an exception is expected.
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
class Held:
    """Hold what the grader needs to work a value out before it can be judged, as a plan's cost.

    earns_share: whether the case earns a share of its points; traced: whether its value is a
    program's tape, so that code which cannot be traced is told by the exception alone, and what it
    is worth is worked out in a process of its own (`grading/races.py`).
    """

    earns_share: ClassVar[bool] = False
    traced: ClassVar[bool] = False

    def worked_out(self, value: Any) -> dict[str, Any]:
        """Return what plain data that came back are worth; a kind that is traced has no need."""
        raise NotImplementedError

    def judge(self, found: Mapping[str, Any]) -> Verdict:
        """Return the verdict on what was worked out; found["refused"] says why nothing was."""
        raise NotImplementedError


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
    held: Held | None = None

    @property
    def earns_share(self) -> bool:
        """True for a race, which earns a share of its points."""
        return self.held is not None and self.held.earns_share


Sent = tuple[Step, Answer]  # a case: what is sent of it, and what is kept


# ── what a case may say ──────────────────────────────────────────────────────────────────────


def at(name: str, node: ast.AST, problem: str) -> str:
    """Return a sentence on a line of a cell."""
    return f"cell {name}, line {node.lineno}: {problem}"  # type: ignore[attr-defined]


def called(call: ast.Call) -> str:
    """Return the name of the function that a case calls."""
    assert isinstance(call.func, ast.Name)
    return call.func.id


def positional(call: ast.Call, count: int, name: str, takes: str = "") -> list[ast.expr]:
    """Return a call's positional arguments; raise GrammarError if there are not `count`."""
    if len(call.args) != count or any(isinstance(each, ast.Starred) for each in call.args):
        takes = takes or f"{count} positional arguments"
        raise GrammarError(at(name, call, f"{called(call)} takes {takes}"))
    return call.args


def refuse_unknown(call: ast.Call, allowed: set[str], name: str) -> None:
    """Raise GrammarError for a keyword that is not allowed."""
    if unknown := [each.arg or "**" for each in call.keywords if each.arg not in allowed]:
        raise GrammarError(at(name, call, f"{called(call)} takes no argument {unknown[0]}"))


def said(call: ast.Call, needed: set[str], options: set[str], name: str) -> dict[str, ast.expr]:
    """Return what a call says by keyword; all that is needed, and nothing unknown."""
    refuse_unknown(call, needed | options, name)
    found = {str(keyword.arg): keyword.value for keyword in call.keywords}
    if missing := sorted(needed - found.keys()):
        raise GrammarError(at(name, call, f"{called(call)} needs {missing[0]}="))
    return found


def label_of(node: ast.expr, name: str) -> str:
    """Return a case's label."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        raise GrammarError(at(name, node, "the label must be a literal string"))
    return node.value


def tolerances(call: ast.Call, name: str) -> dict[str, Any]:
    """Return a call's tolerances and mistakes."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    options: dict[str, Any] = {}
    options |= {key: literal(named[key], name) for key in ("rel", "abs") if key in named}
    for option, value in options.items():
        if not isinstance(value, (int, float, type(None))):
            raise GrammarError(at(name, call, f"{option} must be a number"))
    if "mistakes" in named:
        options["mistakes"] = mistakes_of(named["mistakes"], name)
    return options


def mistakes_of(node: ast.expr, name: str) -> dict[str, Any]:
    """Return a case's mistakes: by sentence, the value that it explains."""
    mistakes = literal(node, name)
    if not (isinstance(mistakes, dict) and all(isinstance(text, str) for text in mistakes)):
        raise GrammarError(at(name, node, "mistakes must be a dict of sentences"))
    return mistakes


def best_cost(best: Any, full: float, call: ast.Call, name: str) -> float | None:
    """Return the best cost that is known of a race, where the case says one."""
    if best is None:
        return None
    if not isinstance(best, (int, float)) or not 0 < best <= full:
        raise GrammarError(at(name, call, "best is a cost, and no higher than full"))
    return float(best)


_LITERAL_NODES = (
    ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.UnaryOp, ast.BinOp, ast.Load,
    ast.operator, ast.unaryop, ast.Attribute, ast.Call, ast.Name, ast.keyword,
)  # fmt: skip


def literal(node: ast.expr, name: str) -> Any:
    """Return the value of an expression of literals, arithmetic, `math` and `np`, as plain data."""
    for inner in ast.walk(node):
        fine = isinstance(inner, _LITERAL_NODES)
        if isinstance(inner, ast.Name):
            fine = inner.id in ("math", "np")
        if isinstance(inner, ast.Call):
            fine = isinstance(inner.func, ast.Attribute)
        if not fine:
            problem = "expected values use literals, arithmetic, math and np only"
            raise GrammarError(at(name, node, f"{problem}, not `{ast.unparse(inner)}`"))
    # Only an instructor's text comes here, from modules/, private/ and source/, never a hand-in's.
    scope = {"math": math, "np": np, "__builtins__": {}}
    try:
        return to_plain_data(eval(compile(ast.Expression(node), name, "eval"), scope))
    except NotPlainData as error:
        raise GrammarError(at(name, node, f"the expected value cannot be used: {error}")) from None
    except Exception as error:
        raise GrammarError(at(name, node, f"`{ast.unparse(node)}` raises {error!r}")) from None


def is_literal(node: ast.expr, name: str) -> bool:
    """Return True if `literal` returns a value."""
    try:
        literal(node, name)
    except GrammarError:
        return False
    return True
