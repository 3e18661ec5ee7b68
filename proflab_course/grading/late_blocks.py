"""Find the hidden blocks that may run at the end of the notebook with the same result.

A block that depends on the notebook's state at its place needs a fork there. A block that reads
only names that no later code binds again can wait, and all such blocks share one fork at the end,
where each begins with the names as they were then.

An object that a later cell changes is not noticed so, nor what late blocks do to each other. If
one of them costs an exercise its points, the notebook is executed again with that block at its
place, in a copy of its own. Only the block's replies are used of it (`one_execution.py`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from proflab_course.grading.answer_key import Key
from proflab_course.grading.defined_names import MAX_SCANNED, defined_names, names_by_line
from proflab_course.grading.match_cells import Aligned, Slot
from proflab_course.grading.one_execution import add_execution, is_hidden
from proflab_course.grading.plan import Plan, Reply, Result, RunBlock, Runner, Submission
from proflab_course.grading.run.time_allowance import NOT_REACHED

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
    later: set[str] = set()  # bound by visible cases
    cells: list[tuple[set[str], str]] = []  # what each other cell seems to bind, and its text
    may: set[tuple[int, int]] = set()
    left = MAX_SCANNED  # a notebook may be very long
    for position in reversed(executed):
        slot = aligned.slots[position]
        if slot.key is None or slot.key.kind != "test":
            text = slot.cell.source
            if not _is_lessons(slot) and _ANYTHING.search(text):
                break
            left -= len(text)  # names that functions bind count, too, if they may be global
            cells.append((names_by_line(text), text if left > 0 and "global" not in text else ""))
            continue
        for number, block in reversed([*enumerate(key.tests[slot.key.grade_id].blocks)]):
            if not block.hidden:
                later |= block.bound
            elif not (block.read & later or _bind(cells, block.read)):
                may.add((position, number))
    return may


def _bind(cells: list[tuple[set[str], str]], names: frozenset[str]) -> bool:
    """Return True if a cell binds one of the names; one that seems to is looked through once."""
    for place, (bound, text) in enumerate(cells):
        if text and names & bound:
            bound = defined_names(text)
            cells[place] = bound, ""
        if names & bound:
            return True
    return False


def _is_lessons(slot: Slot) -> bool:
    """Return True for a cell whose text is the lesson's own."""
    return slot.key is not None and slot.key.kind == "locked"


# ── a second look ─────────────────────────────────────────────────────────────────────────────


def in_doubt(plan: Plan, result: Result, costly: set[int]) -> set[int]:
    """Return the places in the plan of executed late blocks in the test cells `costly`."""
    return {
        index
        for index, (item, replies) in enumerate(zip(plan, result.replies, strict=True))
        if isinstance(item, RunBlock)
        and item.late
        and item.cell in costly
        and not any(_had_no_time(reply) for reply in replies)
    }


def _had_no_time(reply: Reply) -> bool:
    return reply.state == "lost" and reply.message != NOT_REACHED


def look_again(
    runner: Runner, submission: Submission, plan: Plan, result: Result, doubtful: set[int]
) -> Result:
    """Return the result with the replies of the doubtful blocks executed at their own places."""
    chosen = [place for place, item in enumerate(plan) if place in doubtful or not is_hidden(item)]
    items = (replace(plan[place], seconds=plan[place].seconds or 0.0) for place in chosen)
    shorter = tuple(replace(x, late=False) if isinstance(x, RunBlock) else x for x in items)
    second = runner.run(submission, shorter)
    replies = dict(enumerate(result.replies)) | dict(zip(chosen, second.replies, strict=True))
    place = None if second.place is None else chosen[second.place]
    second = replace(second, replies=[replies[n] for n in range(len(plan))], place=place)
    return add_execution(plan, result, second, doubtful)
