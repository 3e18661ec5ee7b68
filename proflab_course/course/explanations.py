"""Read what a lesson's writer says of hidden cases, for students when the deadline is over.

It stands in the hidden block, as a comment above the case, and is released with nothing else of it:

    # about: an expanded tensor has the memory of the one that it shows, however large it looks.
    expect("an expanded tensor counts the memory that it has", tracked(expanded), 32)
"""

from __future__ import annotations

import ast
import re

_ABOUT = re.compile(r"#\s*about:\s*(.*)")


class MisplacedExplanation(ValueError):
    """An explanation that stands above no hidden case; the sentence names the line."""


def explanations(source: str, hidden: set[int]) -> dict[str, str]:
    """Return the explanation of each hidden case of a test cell that has one, by its label.

    hidden: the numbers of the lines that lie in hidden blocks.
    Raises MisplacedExplanation for one that does not stand directly above a hidden case.
    """
    if "about:" not in source:
        return {}
    lines = source.splitlines()
    cases = {node.lineno: label for node in ast.parse(source).body if (label := _label(node))}
    found = {}
    for number, line in enumerate(lines, start=1):
        if not (begin := _ABOUT.fullmatch(line.strip())):
            continue
        words, end = [begin[1]], number
        while end < len(lines) and lines[end].strip().startswith("# "):
            words.append(lines[end].strip().removeprefix("# "))
            end += 1
        label = cases.get(end + 1)
        if label is None or end + 1 not in hidden:
            raise MisplacedExplanation(
                f"line {number}: `# about:` must stand directly above a hidden case"
            )
        found[label] = " ".join(" ".join(words).split())
    return found


def _label(node: ast.stmt) -> str:
    """Return a case's label; empty for another statement."""
    call = getattr(node, "value", None)
    if isinstance(node, ast.Expr) and isinstance(call, ast.Call) and call.args:
        label = getattr(call.args[0], "value", "")
        return label if isinstance(label, str) else ""
    return ""
