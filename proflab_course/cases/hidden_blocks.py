"""Find hidden blocks in a cell's text, and read them as trees: cases, and set-up that changes.

The reader (reader.py) asks where they lie; vary.py, which draws numbers for them, asks which of
their lines depend on which. What a case means is said in the file of its kind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from proflab.lesson.names import bound_names, used_names
from proflab_course.cases.case import GrammarError
from proflab_course.course.notebook import HIDDEN, numbered_regions, replace_regions

BEGIN_HIDDEN, END_HIDDEN = HIDDEN
Span = tuple[int, int]  # of bytes in a cell's source


def hidden_source_removed(source: str) -> str:
    """Return the source without its hidden blocks, as nbgrader's ClearHiddenTests leaves it."""
    return replace_regions(source, HIDDEN, ()).rstrip("\n")


def hidden_lines(source: str, name: str) -> dict[int, int]:
    """Return, by the number of a line, the number of the hidden block that it lies in.

    Raises GrammarError, with the cell's name, for a block without its end or begin.
    """
    try:
        blocks = numbered_regions(source, HIDDEN)
    except ValueError as error:
        raise GrammarError(f"cell {name}: {error}") from None
    return {number: block for block, lines in enumerate(blocks, start=1) for number in lines}


def hidden_blocks(source: str, name: str) -> list[list[ast.stmt]]:
    """Return the statements of each hidden block; raises GrammarError as `hidden_lines` does."""
    lines = hidden_lines(source, name)
    found: dict[int, list[ast.stmt]] = {}
    for node in ast.parse(source).body:
        if node.lineno in lines:
            found.setdefault(lines[node.lineno], []).append(node)
    return list(found.values())


class Spans:
    """Say where nodes stand in a source, in bytes, as `ast` counts columns."""

    def __init__(self, source: str) -> None:
        self._starts = [0]
        for line in source.encode().splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def of(self, node: ast.expr) -> Span:
        """Return the first byte of a node, and the one behind its last."""
        begin = self._starts[node.lineno - 1] + node.col_offset
        return begin, self._starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)


# ── cases ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class ValueCase:
    """Hold a case that expects a value: its label, the expression asked, and its text's nodes."""

    label: str
    call: ast.expr
    actual: ast.expr
    expected: ast.expr
    line: int
    mistakes: bool


def is_case(node: ast.stmt) -> bool:
    """Return True for a call of an `expect` function; all other statements are set-up."""
    return _function(node).startswith("expect")


def value_cases(node: ast.stmt) -> Iterator[ValueCase]:
    """Yield the cases of a statement that expect a value: an `expect`, rows of a table."""
    name = _function(node)
    if name not in ("expect", "expect_table"):
        return
    call = node.value  # type: ignore[attr-defined]
    if name == "expect":
        if len(call.args) == 3:
            mistakes = any(keyword.arg == "mistakes" for keyword in call.keywords)
            label, actual, expected = call.args
            yield ValueCase(label.value, actual, actual, expected, node.lineno, mistakes)
        return
    function, *rows = call.args
    for row in rows:
        label, arguments, expected, *mistakes = row.elts
        if isinstance(arguments, ast.Tuple) and not isinstance(expected, ast.Name):
            asked = ast.Call(function, arguments.elts, [])
            yield ValueCase(label.value, asked, arguments, expected, row.lineno, bool(mistakes))


def _function(node: ast.stmt) -> str:
    call = node.value if isinstance(node, ast.Expr) else None
    return getattr(call.func, "id", "") if isinstance(call, ast.Call) else ""


# ── set-up ───────────────────────────────────────────────────────────────────────────────────


def bindings(node: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    """Return each target of an assignment with its value: two of `a, b = f(), g()`."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return []
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def changed_names(node: ast.stmt, cell: set[str]) -> set[str]:
    """Return the names whose objects a set-up line may change, of those that the cell binds."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef)):
        targets = getattr(node, "targets", [getattr(node, "target", node)])
        parts = [t for t in targets if isinstance(t, (ast.Attribute, ast.Subscript))]
        return bound_names(targets) | used_names(parts) & cell
    return (bound_names([node]) | used_names([node])) & cell
