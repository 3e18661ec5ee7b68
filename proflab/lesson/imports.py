"""Which modules there are when a hand-in is graded, and which a student's cells import besides."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

# What `pip install .` installs for students, by the names under which Python imports it.
MODULES = ("numpy", "matplotlib", "tqdm", "IPython", "psutil", "threadpoolctl")


def imports_sentence(codes: Iterable[str], folder: Path) -> str:
    """Return a sentence on what the grader may not have of what this code imports; "" for nothing.

    folder: where the lesson's own modules and the student's are. An import inside of a `try` is
    prepared for its failure, and not meant.
    """
    known = {*sys.stdlib_module_names, *MODULES, "proflab"}
    names = {name for code in codes for name in _imported(code)} - known
    lacking = [n for n in sorted(names) if not any((folder / f).exists() for f in (n, f"{n}.py"))]
    if not lacking:
        return ""
    return (
        f"Perhaps not there when your work is graded: {', '.join(lacking)}. The grader has "
        f"Python's own modules, {', '.join(MODULES)} and the lesson's files; what needs another "
        "one may earn nothing."
    )


def _imported(code: str) -> Iterator[str]:
    """Yield the names of the modules that a cell's code imports, without those of a `try`."""
    try:
        waiting: list[ast.AST] = [ast.parse(code)]
    except (SyntaxError, ValueError):
        return
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif not (isinstance(node, ast.Try) and node.handlers):
            waiting += ast.iter_child_nodes(node)
