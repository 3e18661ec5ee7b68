"""Audit what belongs to demo cells alone: the lesson's demos.py, and the guesses of its readers.

The grader leaves demo cells out, so nothing that earns points may rest on either.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from proflab.lesson.names import bound_names, used_names
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import DEMOS, GUESS_TAG, Cell, Lesson, demos_imports

_PREFIX = "guess_"  # as proflab/lesson/first_guess.py, which keeps no other guess


def demos_mistakes(lesson: Lesson, folder: Path) -> Iterator[str]:
    """Yield what is wrong with demos.py in `folder`, and with the cells that use it."""
    path = folder / f"{DEMOS}.py"
    offered = None
    if path.is_file():
        try:
            offered = bound_names(ast.parse(path.read_text(encoding="utf-8")).body)
        except SyntaxError as error:
            yield f"{Path(lesson.place).parent}/{path.name}, line {error.lineno}: {error.msg}"
            return
        except ValueError:
            yield f"{Path(lesson.place).parent}/{path.name} is not in UTF-8: save it as such"
            return
    taken: set[str] = set()
    for cell in lesson.cells:
        nodes = cell.statements()
        imported = list(demos_imports(nodes))
        for node in imported:
            yield from _import_mistakes(cell, node, offered)
        taken |= bound_names(imported)
        own = bound_names(node for node in nodes if node not in imported)
        if cell.role == "demo":
            continue
        for name in sorted(used_names(nodes) & taken):
            yield f"{cell.where}: {name} is of {DEMOS}.py, which only demo cells may use"
        taken -= own


def _import_mistakes(
    cell: Cell, node: ast.Import | ast.ImportFrom, offered: set[str] | None
) -> Iterator[str]:
    if cell.role not in ("demo", "given"):
        yield f"{cell.where}: import {DEMOS} in the imports cell or in a demo cell"
    if isinstance(node, ast.Import) and len(node.names) > 1:
        yield f"{cell.where}: import {DEMOS} in a statement of its own"
    if offered is None:
        yield f"{cell.where}: there is no {DEMOS}.py beside the lesson"
    elif isinstance(node, ast.ImportFrom):
        for name in sorted({alias.name for alias in node.names} - offered):
            yield f"{cell.where}: {DEMOS}.py defines no {name}"


def guess_mistakes(lesson: Lesson) -> Iterator[str]:
    """Yield the guesses that are not as they should be, and the cells that may not read them."""
    asked: set[str] = set()
    for cell in lesson.cells:
        if GUESS_TAG in cell.tags:
            yield from _guess_cell_mistakes(cell)
            asked |= bound_names(cell.statements())
            continue
        nodes = cell.statements()
        for name in sorted(name for name in bound_names(nodes) if name.startswith(_PREFIX)):
            yield f"{cell.where}: {name} is for a cell that is tagged {GUESS_TAG}"
        for name in sorted(name for name in used_names(nodes) if name.startswith(_PREFIX)):
            if cell.role != "demo":
                yield f"{cell.where}: {name} is a guess, which only demo cells may read"
            elif name not in asked:
                yield f"{cell.where}: no cell above asks for {name}"


def _guess_cell_mistakes(cell: Cell) -> Iterator[str]:
    if cell.nbgrader:
        yield f"{cell.where}: a guess is the student's own: give its cell no grade_id"
    nodes = cell.statements()
    if not nodes or not all(map(_asks, nodes)):
        yield f"{cell.where}: a cell of guesses holds only lines such as `{_PREFIX}size = None`"


def _asks(node: ast.stmt) -> bool:
    """Return True for `guess_… = None`."""
    if not (isinstance(node, ast.Assign) and len(node.targets) == 1):
        return False
    target, value = node.targets[0], node.value
    named = isinstance(target, ast.Name) and target.id.startswith(_PREFIX)
    return named and isinstance(value, ast.Constant) and value.value is None


def shared_guesses(lessons: Iterable[Lesson]) -> Iterator[str]:
    """Yield a line for each name of a guess that two cells of the course ask for."""
    first: dict[str, Cell] = {}
    for cell in (cell for lesson in lessons for cell in lesson.cells if GUESS_TAG in cell.tags):
        try:
            names = sorted(bound_names(cell.statements()))
        except CourseError:
            continue  # told by the lesson's own audit
        for name in names:
            if name in first:
                yield f"{cell.where}: {name} is asked for in another cell, {first[name].where}"
            first.setdefault(name, cell)
