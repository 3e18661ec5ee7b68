"""The clauses of each docstring beside its visible cases: `python -m tests.cohort.clauses 07`.

Authors compare the two lists by eye: no program can tell which case tries which sentence. What can
be told is whether a limit is tried. A docstring's "at least 1", "Raises ValueError" and "below 0"
stand in the solution as conditions before a `raise`, and each of them is changed here: the whole
is left out, one part of it is left out, a bound is moved by one step. What is no longer refused
returns None. In lessons 01 to 03, which teach what to refuse, a visible case has to notice each; in
later ones a row is enough. What no case notices is listed below the cases.
"""

from __future__ import annotations

import ast
import copy
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from cohort.run import failures, lessons, solved

_OTHER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


def clauses(code: str) -> list[str]:
    """Return the clauses of an exercise's docstrings: sentences, and what a semicolon parts.

    An example states nothing and is left out.
    """
    nodes = ast.walk(ast.parse(code))
    texts = [ast.get_docstring(n) for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    text = " ".join(
        re.sub(r"^>>> .*?(?=^$|\Z)", "", text, flags=re.S | re.M) for text in texts if text
    )
    return re.split(r"(?<=[.;]) (?=[A-Za-z(])", " ".join(text.split()))


def visible_cases(lesson: str, exercise: str) -> list[str]:
    """Return the labels of the exercise's visible cases."""
    cells = solved(lesson).tests[exercise]
    return [answer.label for cell in cells for hidden, answer in cell.answers if not hidden]


def limits(code: str) -> dict[str, str]:
    """Return the code with one condition before a `raise` changed: changed condition → code."""
    found: dict[str, str] = {}
    for place, guard in enumerate(_guards(ast.parse(code))):
        for test in _changed(guard.test):
            tree = ast.parse(code)
            other = _guards(tree)[place]
            other.orelse = [ast.If(guard.test, [ast.Return(None)], other.orelse)]
            other.test = test
            found[ast.unparse(test)] = ast.unparse(ast.fix_missing_locations(tree))
    return found


def untried(lesson: str, exercise: str) -> list[str]:
    """Return the changed limits of the exercise that no visible case notices."""
    return [
        changed
        for changed, code in limits(solved(lesson).solutions[exercise]).items()
        if all(case.hidden for case in failures(solved(lesson), exercise, code))
    ]


def _guards(tree: ast.AST) -> list[ast.If]:
    ifs = (node for node in ast.walk(tree) if isinstance(node, ast.If))
    return [node for node in ifs if isinstance(node.body[-1], ast.Raise)]


def _changed(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the condition left out, and with one part of it left out or one bound moved."""
    yield ast.Constant(False)
    for place, node in enumerate(ast.walk(test)):
        for change in _changes(node):
            other = copy.deepcopy(test)
            change(list(ast.walk(other))[place])
            yield other


def _changes(node: ast.AST) -> Iterator[Callable[[ast.AST], object]]:
    if isinstance(node, ast.BoolOp):
        yield from (lambda n, at=at: n.values.pop(at) for at in range(len(node.values)))
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("min", "max"):
        several = range(len(node.args)) if len(node.args) > 1 else ()
        yield from (lambda n, at=at: n.args.pop(at) for at in several)
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            if other := _OTHER.get(type(op)):
                yield lambda n, at=at, other=other: n.ops.__setitem__(at, other())
            bound = node.comparators[at]
            if isinstance(op, ast.Lt) and isinstance(bound, ast.Constant) and bound.value == 1:
                yield lambda n, at=at: n.comparators.__setitem__(at, ast.Constant(0))


def main(numbers: list[str]) -> None:
    """Print the clauses, the visible cases and the untried limits of these lessons, or of all."""
    for lesson in [f"lesson_{number}" for number in numbers] or lessons():
        for exercise, code in solved(lesson).solutions.items():
            print(f"\n{lesson}: {exercise}")
            print("".join(f"  {clause}\n" for clause in clauses(code)), end="")
            print("".join(f"    ✓ {label}\n" for label in visible_cases(lesson, exercise)), end="")
            for changed in untried(lesson, exercise):
                print(f"    limit changed to {changed}: no visible case notices")


if __name__ == "__main__":
    main(sys.argv[1:])
