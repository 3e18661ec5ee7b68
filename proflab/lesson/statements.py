"""A cell's statements as they may stand in a file: those that define something, with their text.

For what is made of a student's notebooks: an assembled profiler, and mine.py.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

BUILT = "built"
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
KNOWN = frozenset({*dir(builtins), "__name__", "__file__", "get_ipython", "display"})
_LEFT_OUT = (
    ast.Expr, ast.Assert, ast.Delete, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith,
)  # fmt: skip
_MARKS = ("### BEGIN SOLUTION", "### END SOLUTION")  # nbgrader's
# Levels of a tree, below what Python allows functions that call themselves a few times a level.
_MOST_LEVELS = 200


def parsed(text: str) -> list[ast.stmt]:
    """Return a text's statements; SyntaxError for whatever Python cannot read, for any reason."""
    try:
        nodes = ast.parse(text).body
    except (ValueError, RecursionError, MemoryError):
        raise SyntaxError("it cannot be read") from None
    level: list[ast.AST] = list(nodes)
    for _ in range(_MOST_LEVELS):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return nodes
    raise SyntaxError("it is nested too deeply")


def written_statements(lines: list[str], nodes: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Yield each statement that defines something, with its text; imports one name at a time."""
    for previous, node in zip([None, *nodes], nodes, strict=False):
        if isinstance(node, ast.ImportFrom) and node.module == BUILT:
            # The names are there already, but for a second name given here.
            aliases = [f"{a.asname} = {a.name}" for a in node.names if a.asname]
            yield from ((ast.parse(text).body[0], text) for text in aliases)
        elif isinstance(node, IMPORTS):
            yield from ((single, ast.unparse(single)) for single in _single_imports(node))
        elif not isinstance(node, _LEFT_OUT):
            yield node, _text(lines, node, previous)


def _single_imports(node: ast.Import | ast.ImportFrom) -> Iterator[ast.stmt]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            yield ast.Import([alias])
        else:
            yield ast.ImportFrom(node.module, [alias], node.level)


def _text(lines: list[str], node: ast.stmt, previous: ast.stmt | None) -> str:
    """Return the statement as it was written, with the comment right above it."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    if previous is not None and (previous.end_lineno or 0) >= first:  # two on one line
        return ast.unparse(node)
    while first > 1 and lines[first - 2].startswith("#"):
        first -= 1
    kept = [line for line in lines[first - 1 : node.end_lineno] if line.strip() not in _MARKS]
    end = node.end_lineno or node.lineno
    if lines[end - 1][node.end_col_offset :].lstrip().startswith(";"):
        return ast.unparse(node)
    return "\n".join(kept).strip("\n")


def is_stub(node: ast.stmt) -> bool:
    """Return True if a function, or a class's method, still raises NotImplementedError."""
    if isinstance(node, ast.ClassDef):
        return any(is_stub(inner) for inner in node.body)
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    for statement in node.body:
        if isinstance(statement, ast.Return):
            return False
        if isinstance(statement, ast.Raise) and statement.exc is not None:
            raised = ast.unparse(statement.exc)
            # With a message, a solution may raise it: an operation that it has no rule for.
            if raised in ("NotImplementedError", "NotImplementedError()"):
                return True
    return False
