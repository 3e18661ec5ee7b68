"""Which behaviour each file of tests shows, and where it runs: `python tests/suite/behaviours.py`.

The first sentence of a file's docstring is the behaviour. Prints the table of README.md beside it,
which test_suite.py holds true.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
COSTS = Path(__file__).with_name("costs.csv")
WHOLE, PROVES, SOAK = "whole", "proves", "soak"
# The record's column that says which command of the Makefile runs a test: `test`, or `test-rest`.
RUNS_IN = "runs_in"
REST = "whole and not soak"  # the tests that .ci/test asks for in `make test-rest`
MARKED = re.compile(rb"\bwhole\b|\bchosen\b")  # their files: by the mark, or helpers/chosen.py


def runs_in(item: pytest.Item) -> str:
    """Return what the record says of a test."""
    return "rest" if item.get_closest_marker(WHOLE) else "test"


@dataclass
class TestFile:
    """A file of tests: what it shows, and the marks of its own and of its tests.

    shown_by: a file whose tests show the same in `make test`, where all of this one's are left out
    """

    __test__ = False
    path: str
    behaviour: str
    marks: set[str] = field(default_factory=set)
    shown_by: str = ""
    tests: dict[str, set[str]] = field(default_factory=dict)

    def in_make_test(self) -> list[str]:
        """Return the tests that `make test` runs."""
        left = {WHOLE, SOAK}
        return [name for name, marks in self.tests.items() if not (marks | self.marks) & left]


@cache
def files() -> dict[str, TestFile]:
    """Return each file of tests by its path in tests/."""
    paths = sorted(path for path in TESTS.rglob("test_*.py") if path.parent.name != "helpers")
    return {str(path.relative_to(TESTS)): _read(path) for path in paths}


def _read(path: Path) -> TestFile:
    tree = ast.parse(path.read_text("utf-8"))
    doc = " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())
    found = TestFile(str(path.relative_to(TESTS)), doc)
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            for mark, call in _marks(node.value):
                found.marks.add(mark)
                if mark == WHOLE and call is not None:
                    found.shown_by = str(ast.literal_eval(call.args[0]))
    for name, function in _functions(tree):
        found.tests[name] = {m for each in function.decorator_list for m, _ in _marks(each)}
    return found


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for each in inner:
            if isinstance(each, ast.FunctionDef) and each.name.startswith("test"):
                yield each.name, each


def _marks(node: ast.expr) -> Iterator[tuple[str, ast.Call | None]]:
    """Yield each `pytest.mark.…` of an expression, with its call if it is one."""
    for each in node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]:
        call = each if isinstance(each, ast.Call) else None
        name = ast.unparse(call.func if call else each)
        if name.startswith("pytest.mark."):
            yield name.removeprefix("pytest.mark."), call


@dataclass(frozen=True)
class Row:
    """A line of costs.csv: a test that takes half a second or more, or the rest of a file.

    in_make_test: whether `make test` runs it; of a test, it may run some parameters only.
    """

    path: str
    test: str
    in_make_test: bool
    cpu: float
    processes: int

    @property
    def function(self) -> str:
        """The test's function, without its parameters; empty for the rest of a file."""
        return self.test.partition("[")[0].rpartition("::")[2]


def costs() -> list[Row]:
    """Return the record of `make costs`."""
    with open(COSTS, newline="") as file:
        return [
            Row(
                each["test"].partition("::")[0].removeprefix("tests/"),
                each["test"].partition("::")[2],
                each[RUNS_IN] == "test",
                float(each["setup"]) + float(each["call"]),
                int(each["processes"]),
            )
            for each in csv.DictReader(file)
        ]


def table() -> str:
    """Return the table of behaviours, a section a folder, as Markdown."""
    lines = [
        "# What the tests show, and where each of them runs",
        "",
        "Made by `python tests/suite/behaviours.py > tests/suite/README.md`; CPU seconds are those",
        "of [costs.csv](costs.csv), which `make costs` renews. `make test` runs each behaviour",
        "once, `make test-all` everything.",
    ]
    cpu: dict[str, list[float]] = {}
    for row in costs():
        both = cpu.setdefault(row.path, [0.0, 0.0])
        both[not row.in_make_test] += row.cpu
    folder = ""
    for path, file in files().items():
        if path.rpartition("/")[0] != folder:
            folder = path.rpartition("/")[0]
            lines += ["", f"## {folder}", ""]
            lines += ["| behaviour | file | in `make test` | only in `make test-all` |"]
            lines += ["|---|---|--:|--:|"]
        quick, rest = cpu.get(path, [0.0, 0.0])
        where = f"{quick:.1f} s" if file.in_make_test() else f"→ {file.shown_by or 'soak'}"
        name = path.rpartition("/")[2]
        lines.append(f"| {file.behaviour} | {name} | {where} | {rest:.1f} s |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
