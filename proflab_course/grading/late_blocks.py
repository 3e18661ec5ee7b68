"""Find the hidden blocks that may run at the end of the notebook with the same result.

A block that depends on the notebook's state at its place needs a fork there. A block that reads
only names that no later code binds again can wait, and all such blocks share one fork at the end.
This file does not notice an object that a later cell changes; `second_look.py` corrects that.
"""

from __future__ import annotations

import re

from proflab_course.grading.answer_key import Key
from proflab_course.grading.defined_names import names_by_line
from proflab_course.grading.match_cells import Aligned, Slot

# Cells after which any name may mean something else.
_ANYTHING = re.compile(
    r"\bimport[ \t]*\*|\b(?:exec|globals|setattr)[ \t]*\(|\bget_ipython\b|\b__main__\b"
    r"|^[ \t]*%+(?:run|reset\w*|xdel|pylab|store|load\w*)\b",
    re.MULTILINE,
)


def late_blocks(aligned: Aligned, key: Key, executed: list[int]) -> set[tuple[int, int]]:
    """Return (a test cell's position, the block's number in it) of the blocks that may wait.

    executed: the positions of the cells that are executed, in order.
    """
    later: set[str] = set()
    may: list[tuple[int, int]] = []
    for position in reversed(executed):
        slot = aligned.slots[position]
        if slot.key is None or slot.key.kind != "test":
            if not _is_lessons(slot) and _ANYTHING.search(slot.cell.source):
                break
            later |= names_by_line(slot.cell.source)
            continue
        for number, block in reversed([*enumerate(key.tests[slot.key.grade_id].blocks)]):
            if not block.hidden:
                later |= block.bound
            elif not block.read & later:
                may.append((position, number))
    return _undisturbed(aligned, key, may[::-1])


def _undisturbed(aligned: Aligned, key: Key, may: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the blocks that read no name which an earlier one of these blocks binds."""
    found, bound = set(), set()
    for position, number in may:
        block = key.tests[aligned.slots[position].key.grade_id].blocks[number]
        if not block.read & bound:
            found.add((position, number))
            bound |= block.bound
    return found


def _is_lessons(slot: Slot) -> bool:
    """Return True for a cell whose text is the lesson's own."""
    return slot.key is not None and slot.key.kind == "locked"
