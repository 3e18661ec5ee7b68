"""Change a function in one place of one line, in ways that keep it readable.

Lines that only raise are left alone, and so are docstrings: a change there shows nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

MOST_LINE = 88  # characters of a line that becomes an option
_OPERATORS = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "//"), ast.Pow: ("**", "*"),
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.And: ("and", "or"), ast.Or: ("or", "and"),
    ast.In: ("in", "not in"), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any", "sum": "max", "len": "sum"}


@dataclass(frozen=True)
class Change:
    """Hold a line, numbered from 1, as it was and as it is then, and the code with it."""

    line: int
    before: str
    after: str
    code: str


def changes(code: str) -> list[Change]:
    """Return the code's changes in the order of its lines; none if it is not Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return []
    lines = code.splitlines()
    found: dict[str, Change] = {}
    for node in _changed_nodes(tree):
        for line, start, end, text in _edits(node, lines):
            if made := _made(lines, line, start, end, text):
                found.setdefault(made.code, made)
    return sorted(found.values(), key=lambda change: change.line)


def _changed_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of functions' bodies, without those whose only effect is an error."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)):
            continue
        if isinstance(child, ast.If) and _only_raises(child.body):
            for other in child.orelse:
                yield other
                yield from _changed_nodes(other)
            continue
        if isinstance(child, ast.ExceptHandler) and _only_raises(child.body):
            continue
        yield child
        yield from _changed_nodes(child)


def _only_raises(body: list[ast.stmt]) -> bool:
    return all(isinstance(statement, (ast.Raise, ast.Assert)) for statement in body)


def _edits(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """Yield (line, start, end, new text): columns in bytes, as `ast` counts them."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield from _operator(left, right, op, lines)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield from _operator(left, right, op, lines)
        case ast.BoolOp(op=op, values=[left, right]):
            yield from _operator(left, right, op, lines)
        case ast.AugAssign(target=left, op=op, value=right):
            yield from _operator(left, right, op, lines)
        case ast.Constant(value=bool() as value):
            yield *_place(node), str(not value)
        case ast.Constant(value=int() as value):
            yield *_place(node), str(value + 1)
            if value > 0:
                yield *_place(node), str(value - 1)
        case ast.Constant(value=float() as value):
            yield *_place(node), repr(2 * value)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=inside):
            if node.lineno == inside.lineno:
                yield node.lineno, node.col_offset, inside.col_offset, ""
        case ast.IfExp(body=one, orelse=other) if node.lineno == node.end_lineno:
            line = lines[node.lineno - 1].encode()
            first, last = (line[p.col_offset : p.end_col_offset] for p in (one, other))
            between = line[one.end_col_offset : other.col_offset]
            text = (last + between + first).decode("utf-8", "replace")
            yield node.lineno, one.col_offset, other.end_col_offset or 0, text
        case ast.Call(func=ast.Name(id=name) as function) if name in _FUNCTIONS:
            yield *_place(function), _FUNCTIONS[name]


def _place(node: ast.expr) -> tuple[int, int, int]:
    """Return a node's line, start and end; the end is 0 if it has several lines."""
    end = node.end_col_offset or 0
    return node.lineno, node.col_offset, end if node.lineno == node.end_lineno else 0


def _operator(
    left: ast.expr, right: ast.expr, op: ast.AST, lines: list[str]
) -> Iterator[tuple[int, int, int, str]]:
    if type(op) not in _OPERATORS or left.end_lineno != right.lineno:
        return
    old, new = _OPERATORS[type(op)]
    start, end = left.end_col_offset or 0, right.col_offset
    between = lines[right.lineno - 1].encode()[start:end].decode("utf-8", "replace")
    if between.count(old) == 1:
        yield right.lineno, start, end, between.replace(old, new)


def _made(lines: list[str], line: int, start: int, end: int, text: str) -> Change | None:
    """Return the change, or None if it is none, is too long to print, or is no Python."""
    before = lines[line - 1].encode()
    after = (before[:start] + text.encode() + before[end:]).decode("utf-8", "replace")
    if end <= start or after == lines[line - 1] or len(after.strip()) > MOST_LINE:
        return None
    code = "\n".join([*lines[: line - 1], after, *lines[line:]])
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return None
    return Change(line, lines[line - 1].strip(), after.strip(), code)
