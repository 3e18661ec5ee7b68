"""Stand-ins for a GPU in a lesson's test cells: small documents, and kernels' lines run in Python.

What may not enter: expected values, and FLOPs or bytes of a kernel.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def events(*ms: float, gap: float = 0.25) -> list[list[float]]:
    """Return event pairs of these lengths, one after the other with `gap` ms between them."""
    pairs, now = [], 1.0
    for length in ms:
        pairs.append([now, now + length])
        now += length + gap
    return pairs


def document(l2_bytes: int = 4 * 1024**2, empty_ms: float = 0.004, **rows: list[dict]) -> dict:
    """Return the document of a card that does not exist, with rows: `stream=[…], gemm=[…]`."""
    card = {
        "name": "a card that does not exist",
        "compute_capability": [7, 5],
        "multiprocessors": 8,
        "l2_bytes": l2_bytes,
        "memory_bytes": 2**33,
    }
    return {
        "constructed": True,
        "command": "a test cell",
        "date": "2026-01-31",
        "driver": "none",
        "versions": {},
        "cpu": "none",
        "card": card,
        "empty_ms": empty_ms,
        "rows": rows,
    }


def stream(ms, elements, reads=1, writes=1, itemsize=4, passes=1, kernel="copy") -> dict:
    """Return a row of kind stream. ms: the lengths of its event pairs."""
    what = {"kernel": kernel, "elements": elements, "reads": reads, "writes": writes}
    return what | {"itemsize": itemsize, "passes": passes, "events": events(*ms)}


def fma(ms, threads, fmas, accumulators, dtype="float32") -> dict:
    """Return a row of kind fma. ms: the lengths of its event pairs."""
    what = {"threads": threads, "fmas": fmas, "accumulators": accumulators, "dtype": dtype}
    return what | {"events": events(*ms)}


def gemm(ms, m, k, n, dtype="float32") -> dict:
    """Return a row of kind gemm, (m, k) by (k, n). ms: the lengths of its event pairs."""
    return {"m": m, "k": k, "n": n, "dtype": dtype, "events": events(*ms)}


def trial(name, host_ms, ms, flops, bytes, dtype="float32") -> dict:
    """Return a row of kind trial: a length by the host's clock and by the device's a call."""
    what = {"name": name, "dtype": dtype, "flops": flops, "bytes": bytes}
    return what | {"host_ms": list(host_ms), "events": events(*ms)}


# ── a kernel's lines ─────────────────────────────────────────────────────────────────────────


def run_lines(text: str, **values: float) -> dict[str, float]:
    """Return what C's assignments `name = expression;` leave in their names, run in order.

    Expressions have names, numbers, + − * and fmaf(a, b, c), which is a · b + c. Returns the
    names that were assigned. Raises ValueError, one sentence, for a line of any other form.
    """
    scope, assigned = dict(values), {}
    for name, value in _assignments(text):
        scope[name] = assigned[name] = _value(value, scope)
    return assigned


def names_read(text: str) -> list[str]:
    """Return the names that the lines read, sorted, each once."""
    found = set()
    for _, value in _assignments(text):
        names = (n.id for n in ast.walk(value) if isinstance(n, ast.Name))
        found |= set(names) - {"fmaf"}
    return sorted(found)


def chain_length(text: str) -> int:
    """Return how many fmaf wait for one another: 1 if each line has its own accumulator."""
    depth: dict[str, int] = {}
    for name, value in _assignments(text):
        before = max(
            (depth.get(n.id, 0) for n in ast.walk(value) if isinstance(n, ast.Name)), default=0
        )
        depth[name] = before + _count_fmaf(value)
    return max(depth.values(), default=0)


def count_fmaf(text: str) -> int:
    """Return how many fmaf the lines call."""
    return sum(_count_fmaf(value) for _, value in _assignments(text))


def _count_fmaf(value: ast.expr) -> int:
    return sum(isinstance(node, ast.Call) for node in ast.walk(value))


def _assignments(text: str) -> list[tuple[str, ast.expr]]:
    if not isinstance(text, str):
        raise ValueError(f"lines of C are a text, not a {type(text).__name__}")
    parts = [part.strip() for part in text.split(";")]
    if parts.pop():
        raise ValueError(f"a line of C ends in a semicolon: {text.strip()[-40:]!r} does not")
    return [_assignment(" ".join(part.split())) for part in parts]


def _assignment(line: str) -> tuple[str, ast.expr]:
    try:
        body = ast.parse(line).body
    except SyntaxError:
        body = []
    node = body[0] if len(body) == 1 else None
    simple = isinstance(node, ast.Assign) and len(node.targets) == 1
    if not simple or not isinstance(node.targets[0], ast.Name):
        raise ValueError(f"{line + ';'!r} is not of the form `name = expression;`")
    return node.targets[0].id, node.value


def _value(node: ast.expr, scope: dict[str, float]) -> Any:
    if isinstance(node, ast.Name):
        if node.id not in scope:
            raise ValueError(f"nothing gives {node.id} a value")
        return scope[node.id]
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, scope)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        apply: Callable = _OPERATORS[type(node.op)]
        return apply(_value(node.left, scope), _value(node.right, scope))
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "fmaf" and len(node.args) == 3:
        a, b, c = (_value(argument, scope) for argument in node.args)
        return a * b + c
    raise ValueError(f"{ast.unparse(node)!r} is more than names, numbers, + - * and fmaf(a, b, c)")
