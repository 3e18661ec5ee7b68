"""Read the rows of `expect_table(function, row, …)`, each a case or several that have to raise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from proflab.checks.expect import row_labels
from proflab_course.cases.case import (
    GrammarError,
    Sent,
    at,
    label_of,
    mistakes_of,
    refuse_unknown,
    tolerances,
)
from proflab_course.cases.raises import exception_name, raising
from proflab_course.cases.value import equal_to


def parse(call: ast.Call, name: str) -> list[Sent]:
    """Return the cases of a table."""
    refuse_unknown(call, {"rel", "abs"}, name)
    function, *rows = call.args or [ast.Constant(None)]
    if not rows or any(isinstance(row, ast.Starred) for row in call.args):
        raise GrammarError(at(name, call, "expect_table takes a function and its rows"))
    if not isinstance(function, (ast.Name, ast.Attribute, ast.Lambda)):
        raise GrammarError(at(name, function, "expect_table takes a function's name or a lambda"))
    options = tolerances(call, name)
    cases: list[Sent] = []
    for number, row in enumerate(rows, start=1):
        try:
            cases += _row(function, row, options, name)
        except GrammarError as error:
            raise GrammarError(f"{error} (row {number} of the table)") from None
    return cases


def _row(function: ast.expr, row: ast.expr, options: dict[str, Any], name: str) -> Iterator[Sent]:
    """Yield a row's cases: one, or one for each tuple of arguments that has to raise."""
    parts = row.elts if isinstance(row, ast.Tuple) else []
    if len(parts) not in (3, 4) or any(isinstance(part, ast.Starred) for part in parts):
        example = "(label, arguments, result), or these with mistakes"
        raise GrammarError(at(name, row, f"a row is a tuple: {example}"))
    label, (arguments, result, *mistakes) = label_of(parts[0], name), parts[1:]
    exception = exception_name(result)
    several = arguments.elts if exception and isinstance(arguments, ast.List) else [arguments]
    tuples = [each for each in several if isinstance(each, ast.Tuple)]
    if not tuples or len(tuples) < len(several):
        how = "the arguments are a tuple, (x,) for one; a list of tuples where each has to raise"
        raise GrammarError(at(name, row, how))
    if exception and mistakes:
        raise GrammarError(at(name, row, "a row that expects an exception names no mistakes"))
    told = {"mistakes": mistakes_of(mistakes[0], name)} if mistakes else {}
    for title, each in zip(row_labels(label, len(tuples)), tuples, strict=True):
        code = ast.unparse(ast.Call(function, each.elts, []))
        if exception:
            yield raising(title, code, exception)
        else:
            yield equal_to(title, code, result, options | told, name)
