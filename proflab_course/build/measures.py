"""Measure what a lesson asks of its reader: words, cases, names, lines.

Measured is what a student meets of what its authors wrote, without hidden cases and solutions.
How much of each may be is in `limits`.
"""

from __future__ import annotations

import ast
import doctest
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from proflab import lesson as helpers
from proflab_course.cases.hidden_blocks import hidden_source_removed
from proflab_course.cases.raises import exception_name
from proflab_course.cases.reader import KINDS, split_cell
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import (
    GIVEN_TAG,
    SOLUTION,
    Cell,
    Lesson,
    read_statements,
    replace_regions,
)
from proflab_course.course.sections import prose_words

ERRORS_APART_FROM, ERRORS_EARN = 8, (0.5, 2)  # points of an exercise, and of its cell for errors
_HELPERS = "proflab.lesson"
_EXAMPLE = re.compile(r"^[ \t]*>>>.*?(?=^[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Measured:
    """Hold one figure of a lesson: what it is of (a rule of `limits`), how much, and where."""

    rule: str
    amount: int
    where: str
    shown: str = ""


def measured(lesson: Lesson, folder: Path) -> list[Measured]:
    """Return all figures of a lesson; `folder` has its own modules. Empty if it is not Python."""
    try:
        for cell in lesson.cells:
            read_statements(_visible(cell))
        for cell in lesson.named("test"):
            split_cell(cell)
    except (SyntaxError, CourseError):
        return []  # told by the audit
    found = [*_of_lesson(lesson, folder), *_of_exercises(lesson)]
    for cell in lesson.cells:
        if cell.node.cell_type == "code":
            found += _of_code(cell)
    return found


def _of_lesson(lesson: Lesson, folder: Path) -> Iterator[Measured]:
    place = lesson.place
    yield Measured("words", prose_words(lesson), place)
    imports = next((cell for cell in lesson.named("given") if _imports(cell)), None)
    if imports is not None:
        yield Measured("imports", len(filled_lines(imports.source)), imports.where)
    names, modules = _helpers(lesson, folder)
    yield Measured("helpers", len(names), place, ", ".join(sorted(names)))
    used = sorted(_behind_a_dot(lesson, modules))
    yield Measured("attributes", len(used), place, ", ".join(used))
    points = {name: sum(test.points for test in tests) for name, tests in lesson.tests.items()}
    for rule, with_points in (("exercises", True), ("optional", False)):
        found = [name for name, each in points.items() if bool(each) == with_points]
        yield Measured(rule, len(found), place, ", ".join(found))
    for_errors = [cell for cell in lesson.named("test") if _only_errors(cell)]
    shown = ", ".join(cell.name for cell in for_errors)
    yield Measured("error points", math.ceil(sum(c.points for c in for_errors)), place, shown)
    code = [_visible(cell) for cell in lesson.cells if cell.node.cell_type == "code"]
    yield Measured("lines", sum(len(filled_lines(each)) for each in code), place)


def _of_exercises(lesson: Lesson) -> Iterator[Measured]:
    tests = lesson.tests
    for cell in lesson.named("exercise"):
        words = _EXAMPLE.sub("", "\n".join(docstrings(cell))).split()
        yield Measured("doc words", len(words), cell.where)
        examples = _examples(docstrings(cell))
        yield Measured("no example", int(not examples), cell.where)
        asked = _asked_first(tests[cell.name])
        yield Measured("example asked", int(asked in examples), cell.where, asked)
        rows = sum(sum(_cases(test)) for test in tests[cell.name])
        yield Measured("error rows", rows, cell.where)
        yield Measured("errors apart", int(not _errors_apart(tests[cell.name])), cell.where)


def _examples(texts: Iterable[str]) -> list[str]:
    """Return what the examples in docstrings call."""
    found = (each for text in texts for each in doctest.DocTestParser().get_examples(text))
    try:
        return ["\n".join(map(ast.unparse, read_statements(each.source))) for each in found]
    except SyntaxError:
        return ["?"]  # the trial says why it does not hold


def _asked_first(tests: list[Cell]) -> str:
    """Return what the first visible case of an exercise's test cells asks."""
    cells = (split_cell(test) for test in tests)
    for block in (block for cell in cells for block in cell.blocks if not block.hidden):
        for step, answer in zip(block.steps, block.answers, strict=True):
            if answer is not None:
                return step.code
    return ""


def _errors_apart(tests: list[Cell]) -> bool:
    """Return True if cases for errors are in the last of an exercise's test cells.

    From some points on they are alone there and earn a part that is fixed.
    """
    having = [test for test in tests if any(_cases(test))]
    if having and having != tests[-1:]:
        return False
    if not having or sum(test.points for test in tests) < ERRORS_APART_FROM:
        return True
    return all(_cases(having[0])) and having[0].points in ERRORS_EARN


def _of_code(cell: Cell) -> Iterator[Measured]:
    for line in _visible(cell).splitlines():
        yield Measured("width", len(line), cell.where, line.strip()[:40])
    if cell.role == "test":
        yield Measured("cases", len(_cases(cell)), cell.where)
        yield Measured("points", math.ceil(cell.points), cell.where)  # 8.5 is above 8
    elif cell.role in ("demo", "given"):
        if GIVEN_TAG not in cell.tags:  # given by a track, and as long as its solution
            yield Measured(f"{cell.role} lines", len(filled_lines(cell.source)), cell.where)
    if cell.role == "demo" and GIVEN_TAG not in cell.tags:
        says = cell.source.lstrip().startswith("# ")
        yield Measured("says nothing", int(not says), cell.where)


def _cases(test: Cell) -> list[bool]:
    """Return for each visible case of a test cell whether it expects an error; a row is one."""
    found: list[bool] = []
    for node in read_statements(hidden_source_removed(test.source)):
        call = node.value if isinstance(node, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            continue
        if call.func.id == "expect_table":
            rows = (row for row in call.args[1:] if isinstance(row, ast.Tuple))
            found += [bool(exception_name(row.elts[2])) for row in rows]
        elif call.func.id in KINDS:
            found.append(call.func.id == "expect_raises")
    return found


def _only_errors(test: Cell) -> bool:
    cases = _cases(test)
    return bool(cases) and all(cases)


def _helpers(lesson: Lesson, folder: Path) -> tuple[set[str], set[str]]:
    """Return the names that a lesson imports of the course's helpers, and those of modules.

    A module is the package's, or lies in the lesson's folder.
    """
    place = Path(helpers.__path__[0])
    names: set[str] = set()
    modules: set[str] = set()
    for node in (node for cell in lesson.cells for node in _nodes(_visible(cell))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_HELPERS):
            names |= {alias.name for alias in node.names}
            inside = place.joinpath(*(node.module or "").split(".")[2:])
            modules |= {a.asname or a.name for a in node.names if _is_module(inside / a.name)}
        elif isinstance(node, ast.Import):
            modules |= {a.asname or a.name for a in node.names if _is_module(folder / a.name)}
    return names, modules


def _is_module(path: Path) -> bool:
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def _behind_a_dot(lesson: Lesson, modules: set[str]) -> set[str]:
    """Return what a reader meets as `module.name`; demo cells and given exercises are folded."""
    return {
        ast.unparse(node)
        for cell in lesson.cells
        if cell.role != "demo" and GIVEN_TAG not in cell.tags
        for node in _nodes(_visible(cell))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in modules
    }


@lru_cache(maxsize=2048)
def _nodes(text: str) -> tuple[ast.AST, ...]:
    return tuple(node for statement in read_statements(text) for node in ast.walk(statement))


def docstrings(cell: Cell) -> Iterator[str]:
    """Yield the docstrings of a cell that students see; none if its stub is not valid Python."""
    kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
    try:
        nodes = _nodes(_visible(cell))
    except SyntaxError:  # which the audit of the release says
        return
    for node in nodes:
        if isinstance(node, kinds):
            yield ast.get_docstring(node) or ""


def _visible(cell: Cell) -> str:
    """Return the Python of a cell of code that a student meets; a solution is `pass`."""
    return replace_regions(hidden_source_removed(cell.code), SOLUTION, ("pass",))


def _imports(cell: Cell) -> bool:
    return cell.source.lstrip().startswith(("import ", "from "))


def filled_lines(text: str) -> list[str]:
    """Return a text's lines, blank ones apart."""
    return [line for line in text.splitlines() if line.strip()]
