"""Read `expect_raises(label, lambda: …, ValueError)`, of which the lambda's body is sent.

What comes back are the names of the exception's classes, its own first, and its message.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any

from proflab.checks.compare import Verdict, compare_raised, show
from proflab_course.cases.case import (
    Answer,
    GrammarError,
    Sent,
    Step,
    at,
    label_of,
    positional,
    refuse_unknown,
)


def parse(call: ast.Call, name: str) -> list[Sent]:
    """Return the case of `expect_raises`."""
    label, action, exception = positional(call, 3, name)
    refuse_unknown(call, set(), name)
    if not isinstance(action, ast.Lambda) or ast.unparse(action.args):
        raise GrammarError(at(name, action, "expect_raises takes `lambda: …` without arguments"))
    if not (expected := exception_name(exception)):
        raise GrammarError(at(name, exception, "expect_raises takes a built-in exception's name"))
    return [raising(label_of(label, name), ast.unparse(action.body), expected)]


def raising(label: str, code: str, exception: str) -> Sent:
    """Return the case that code raises an exception."""
    return Step("raises", code), Answer(label, "expect_raises", exception=exception)


def exception_name(node: ast.expr) -> str:
    """Return the name of one of Python's own exceptions; empty for anything else."""
    known = getattr(builtins, node.id, None) if isinstance(node, ast.Name) else None
    is_exception = isinstance(known, type) and issubclass(known, Exception)
    return node.id if isinstance(node, ast.Name) and is_exception else ""


def judge_raised(answer: Answer, raised: list[str], message: str) -> Verdict:
    """Return the verdict on an exception, given the names of its classes, its own first."""
    if answer.call == "expect_raises":
        return compare_raised(raised, message, answer.exception)
    return Verdict(False, f"{raised[0]}: {message}" if message else raised[0])


def judge_no_exception(answer: Answer, value: Any) -> Verdict:
    """Return the verdict on a case that had to raise and yielded a value."""
    return compare_raised([], show(value), answer.exception)
