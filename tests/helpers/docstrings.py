"""What docstrings have to be: their first words an imperative, their examples true."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

# A first word that is no imperative: articles, questions, prepositions, "Returns".
_NOT_IMPERATIVE = re.compile(
    r"(A|An|The|This|What|Whether|How|Where|Who|Which|Is|Are|Does|Has|As|Of|In|Inside|With|Within|"
    r"Without|From|For|If|When|Not|No|Same|All|Each|Every|One|Nothing|Why|Elementwise|\w+s)\b|[^A-Z]"
)
_ENDS_WITH_S = ("Pass", "Process", "Express")


def is_imperative(docstring: str) -> bool:
    """Return True if a docstring's first word may be an imperative."""
    return docstring.split()[0] in _ENDS_WITH_S or not _NOT_IMPERATIVE.match(docstring)


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield (dotted name, node) of every function and method of a file."""

    def inside(node: ast.AST, names: str) -> Iterator[tuple[str, ast.FunctionDef]]:
        for child in ast.iter_child_nodes(node):
            own = f"{names}.{child.name}" if hasattr(child, "name") else names
            if isinstance(child, ast.FunctionDef):
                yield own, child
            yield from inside(child, own)

    yield from inside(ast.parse(path.read_text(encoding="utf-8")), path.stem)


def examples_of(module: str | ModuleType, **names: Any) -> list[doctest.DocTest]:
    """Return the examples of a module's docstrings.

    names: what a reader may use in an example without importing it.
    """
    finder = doctest.DocTestFinder(exclude_empty=True)
    module = importlib.import_module(module) if isinstance(module, str) else module
    found = finder.find(module, extraglobs=names)
    return [test for test in found if test.examples]


def run_examples(test: doctest.DocTest) -> None:
    """Run examples; fail with doctest's own report."""
    lines: list[str] = []
    failures = doctest.DocTestRunner().run(test, out=lines.append).failed
    assert not failures, "".join(lines)
