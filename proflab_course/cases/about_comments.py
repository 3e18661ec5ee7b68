"""Read the author's explanations of hidden cases, which students may see after the deadline.

An explanation is a comment above a case in a hidden block; nothing else of the block is shown:

    # about: an expanded tensor has the memory of the one that it shows, however large it looks.
    expect("an expanded tensor counts the memory that it has", tracked(expanded), 32)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from proflab.checks.expect import row_labels

_ABOUT = re.compile(r"#\s*about:\s*(.*)")


class MisplacedExplanation(ValueError):
    """An explanation that is not above a hidden case; the sentence names the line."""


def explanations(source: str, hidden: set[int]) -> dict[str, str]:
    """Return the explanation of each hidden case of a test cell that has one, by its label.

    hidden: the numbers of the lines in hidden blocks. Raises MisplacedExplanation for an
    explanation that is not directly above a hidden case.
    """
    if "about:" not in source:
        return {}
    lines = source.splitlines()
    cases = {line: labels for node in ast.parse(source).body for line, labels in _labels(node)}
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not (begin := _ABOUT.fullmatch(line.strip())):
            continue
        words, end = [begin[1]], number
        while end < len(lines) and lines[end].strip().startswith("# "):
            words.append(lines[end].strip().removeprefix("# "))
            end += 1
        labels = cases.get(end + 1)
        if labels is None or end + 1 not in hidden:
            raise MisplacedExplanation(
                f"line {number}: `# about:` must stand directly above a hidden case"
            )
        found |= dict.fromkeys(labels, " ".join(" ".join(words).split()))
    return found


def _labels(node: ast.stmt) -> Iterator[tuple[int, list[str]]]:
    """Yield the line of each case, or of each row of a table, with its labels."""
    call = getattr(node, "value", None)
    if not (isinstance(node, ast.Expr) and isinstance(call, ast.Call)):
        return
    if getattr(call.func, "id", "") == "expect_table":
        for row in call.args[1:]:
            if isinstance(row, ast.Tuple) and len(row.elts) > 2:
                tuples = row.elts[1].elts if isinstance(row.elts[1], ast.List) else [row.elts[1]]
                if label := _text(row.elts[0]):
                    yield row.lineno, row_labels(label, len(tuples))
    elif call.args and (label := _text(call.args[0])):
        yield node.lineno, [label]


def _text(node: ast.expr) -> str:
    label = getattr(node, "value", "")
    return label if isinstance(label, str) else ""
