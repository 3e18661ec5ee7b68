"""Says which hidden blocks see the same at the notebook's end as at their own place.

A block that must see the notebook as it is at its place needs a fork there. One that reads only
names that nothing binds again can wait, and all that wait share one fork at the end. What this
file cannot see, such as an object that a later cell changes, is made good by `second_look.py`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from proflab.lesson.names import bound_names, used_names
from proflab_course.course.test_cells import Block
from proflab_course.grading.answer_key import Key
from proflab_course.grading.defined_names import names_by_line
from proflab_course.grading.match_cells import Aligned, Slot

# Cells after which any name may mean something else.
_ANYTHING = re.compile(
    r"\bimport[ \t]*\*|\b(?:exec|globals|setattr)[ \t]*\(|\bget_ipython\b|\b__main__\b"
    r"|^[ \t]*%+(?:run|reset\w*|xdel|pylab|store|load\w*)\b",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Names:
    """The names that code reads from what was there before it, and those that it binds."""

    read: frozenset[str]
    bound: frozenset[str]


def late_blocks(aligned: Aligned, key: Key) -> set[tuple[int, int]]:
    """Return (a test cell's position, the block's number in it) of the blocks that may wait."""
    by_cell = _names_of_lesson(key)
    later: set[str] = set()
    may: list[tuple[int, int]] = []
    for position in reversed(range(len(aligned.slots))):
        slot = aligned.slots[position]
        if slot.cell.cell_type != "code":
            continue
        if not _is_lessons(slot):
            if _ANYTHING.search(slot.cell.source):
                break
            later |= names_by_line(slot.cell.source)
            continue
        for number, names, hidden in reversed(by_cell[slot.key.grade_id]):
            if not hidden:
                later |= names.bound
            elif not names.read & later:
                may.append((position, number))
    return _undisturbed(aligned, by_cell, may[::-1])


def _undisturbed(aligned: Aligned, by_cell: dict, may: list[tuple[int, int]]) -> set:
    """Return those that read nothing which one of those before it binds."""
    found, bound = set(), set()
    for position, number in may:
        _, names, _ = by_cell[aligned.slots[position].key.grade_id][number]
        if not names.read & bound:
            found.add((position, number))
            bound |= names.bound
    return found


def _is_lessons(slot: Slot) -> bool:
    """Return True for a cell whose text is the lesson's own."""
    return slot.key is not None and slot.key.kind in ("test", "locked")


def _names_of_lesson(key: Key) -> dict[str, list[tuple[int, Names, bool]]]:
    """Return for each cell of the lesson's own (number, names, hidden) of its blocks."""
    if "names" not in key.derived:
        found = {
            name: [(n, _names_of_block(b), b.hidden) for n, b in enumerate(test.blocks)]
            for name, test in key.tests.items()
        }
        for cell in key.cells:
            if cell.kind == "locked":
                bound = frozenset(names_by_line(cell.master.source))
                found[cell.grade_id] = [(0, Names(frozenset(), bound), False)]
        key.derived["names"] = found
    return key.derived["names"]


def _names_of_block(block: Block) -> Names:
    read: set[str] = set()
    bound: set[str] = set()
    for step in block.steps:
        statements = ast.parse(step.code).body
        read |= used_names(statements) - bound
        bound |= bound_names(statements)
    return Names(frozenset(read), frozenset(bound))
