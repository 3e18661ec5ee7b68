"""Refuse assertions in a graded cell, because they earn no points and reveal hidden values.

For the splitter an `assert` is set-up, so it would be executed in the student's process, together
with its expected value. The error's sentence shows the call of `expect` to write instead, or of
`expect_table` for an assert in a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

_LOOPS = (ast.For, ast.While)
_TABLE = "`expect_table(function, (label, arguments, result), …)` with a row for each time around"


def assertion(node: ast.stmt, is_literal: Callable[[ast.expr], bool]) -> tuple[ast.AST, str] | None:
    """Return the first assertion in a statement, at any depth, with a sentence; None if none.

    is_literal: whether an expression may stand as an expected value.
    """
    repeated = {
        part for loop in ast.walk(node) if isinstance(loop, _LOOPS) for part in ast.walk(loop)
    }
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert):
            instead = _TABLE if inner in repeated else f"`{rewritten(inner, is_literal)}`"
            return inner, f"an assert earns no points: write {instead}"
        if isinstance(inner, ast.Call) and (name := _assertion_call(inner)):
            return inner, f"{name} earns no points: write `expect(label, actual, expected)`"
    return None


def rewritten(node: ast.Assert, is_literal: Callable[[ast.expr], bool]) -> str:
    """Return the call of `expect` that compares what an assert compares."""
    actual, expected = _sides(node.test, is_literal)
    message = node.msg.value if isinstance(node.msg, ast.Constant) else None
    label = message if isinstance(message, str) else ast.unparse(actual)
    return f"expect({_quoted(label)}, {ast.unparse(actual)}, {ast.unparse(expected)})"


def _sides(test: ast.expr, is_literal: Callable[[ast.expr], bool]) -> tuple[ast.expr, ast.expr]:
    """Return (actual, expected); for anything but `==`, expected is True."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        if is_literal(right):
            return left, right
        if is_literal(left):
            return right, left
    if isinstance(test, ast.Compare) or (
        isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    ):
        return test, ast.Constant(True)
    return ast.Call(ast.Name("bool"), [test], []), ast.Constant(True)


def _assertion_call(call: ast.Call) -> str:
    """Return the name of an assertion of numpy, unittest or the like; empty for other calls."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name if name.startswith("assert") else ""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', "'") + '"'
