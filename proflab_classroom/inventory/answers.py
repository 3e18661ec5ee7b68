"""Read a class's answers to the inventory from its graded notebooks.

Only literals count, such as `answer_04a = "B"`: nothing of a student's is executed. Letters are
those of modules/inventory.toml.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proflab.lesson.statements import parsed
from proflab_classroom.inventory.items import FORMS, HALVES, SURE, InventoryItem, of_form
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_notebook

# The lines of notebooks.py's cells. A longer one is no answer, and could cost the parser much.
_LINE = re.compile(r"^(?:answer_|sure_|consent)[^\n]{0,120}$", re.MULTILINE)


@dataclass(frozen=True)
class Half:
    """Hold what a student answered, before or after the course.

    half: "before" or "after". form: the one that the notebook has. letters, sure: by item id, what
    was answered and how sure, from 1 to 4; an item that was left open has no entry.
    """

    student: str
    half: str
    form: int
    consent: bool = False
    letters: Mapping[str, str] = field(default_factory=dict)
    sure: Mapping[str, int] = field(default_factory=dict)


def read_halves(course: Course, items: Iterable[InventoryItem]) -> list[Half]:
    """Return the halves in which a student answered an item, by half and student."""
    items, found = list(items), []
    for lesson, half in HALVES.items():
        for path in sorted(course.root.glob(f"autograded/*/{lesson}/{lesson}.ipynb")):
            read = _read(path, path.parent.parent.name, half, items)
            if read is not None:
                found.append(read)
    return found


def _read(path: Path, student: str, half: str, items: list[InventoryItem]) -> Half | None:
    try:
        cells = read_notebook(path, path.stem).cells
    except CourseError:
        return None
    given: dict[str, Any] = {}
    for cell in cells:
        if cell.node.cell_type == "code":
            given |= literals(cell.source)
    letters = {form: _letters(of_form(items, form), given) for form in FORMS}
    # Nothing in a hand-in names its form: it is the one whose answers it has, 1 if as many of each.
    form = max(FORMS, key=lambda each: (len(letters[each]), -each))
    if not letters[form]:
        return None
    sure = {}
    for item in of_form(items, form):
        number = _text(given.get(f"sure_{item.id}"))
        if item.id in letters[form] and number in map(str, SURE):
            sure[item.id] = int(number)
    return Half(student, half, form, given.get("consent") is True, letters[form], sure)


def literals(source: str) -> dict[str, Any]:
    """Return the answers to which a cell assigns a number, a text, True, False or None.

    Only short lines are parsed, each by itself, for longer text can crash Python's parser.
    """
    found: dict[str, Any] = {}
    for line in _LINE.findall(source):
        try:
            statements = parsed(line)
        except (SyntaxError, ValueError):
            continue
        found |= {
            target.id: statement.value.value
            for statement in statements
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
            for target in statement.targets
            if isinstance(target, ast.Name)
        }
    return found


def _letters(items: list[InventoryItem], given: Mapping[str, Any]) -> dict[str, str]:
    """Return by item the file's letters of what students saw and chose."""
    found = {}
    for item in items:
        seen = _text(given.get(f"answer_{item.id}")).upper()
        if seen in item.shown:
            found[item.id] = item.shown[seen]
    return found


def _text(value: Any) -> str:
    return str(value).strip()
