"""Name the cell of the student's own that failed, where what follows fails for lack of its names.

A cell that ends with an error defines nothing, and each case that needs it raises NameError. The
student has to mend one cell, not twelve cases, so the cell's error is the reason of all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from proflab_course.grading.defined_names import names_in_each
from proflab_course.grading.match_cells import Aligned, Slot
from proflab_course.grading.plan import Reply

# The student's code may raise an error with any message, so each part of a pattern is bounded.
# A traced program's error is told by a sentence of proflab/lesson/race/trace.py.
_MISSING = re.compile(r"(?:`[^`]{1,200}` raised NameError: )?name '(\w{1,200})' is not defined")
# IPython's name of the cell, which tells a student nothing; the line does.
_PLACE = re.compile(r"\((?:<[^<>]{1,200}>|[\w.-]{1,200}), line (\d{1,7})\)$")
# What `_sentence` writes and the gradebook keeps: report/failed_cases.py knows causes by it.
_SENTENCE = re.compile(r"(?:not reached: )?(the cell of \w{1,200} ended with .*)", re.DOTALL)
_MOST_TEXT = 300


class BrokenCells:
    """The cells of a hand-in that ended with an error, by the names that they should define."""

    def __init__(self, aligned: Aligned, replies: Mapping[int, list[list[Reply]]]) -> None:
        """Read the outputs of all cells but tests; replies: by the cell's place."""
        failed = []
        for place, slot in enumerate(aligned.slots):
            is_test = slot.key is not None and slot.key.kind == "test"
            if not is_test and place in replies:
                outputs = replies[place][0][0].outputs
                failed += [(slot, o) for o in outputs if o["output_type"] == "error"][:1]
        self._sentences: dict[str, str] = {}
        names = names_in_each([slot.cell.source for slot, _ in failed])
        for (slot, error), defined in zip(failed, names, strict=True):
            earlier = self._of(error["ename"], error["evalue"])
            if earlier or slot.keeps_text:
                for name in sorted(defined - self._sentences.keys()):
                    self._sentences[name] = earlier or _sentence(slot, name, error)

    def cause(self, reply: Reply) -> str:
        """Return the sentence about the cell because of which a statement raised; "" if none."""
        return self._of(reply.raised[0], reply.message) if reply.raised else ""

    def _of(self, kind: str, message: str) -> str:
        missing = _MISSING.match(message) if kind in ("NameError", "Refused") else None
        return self._sentences.get(missing[1], "") if missing else ""


def shown_error(error: dict) -> str:
    """Return a cell's error in a line, with the line of the cell and without a file's name.

    >>> shown_error({"ename": "SyntaxError", "evalue": "'(' was never closed (<x>, line 2)"})
    "SyntaxError: '(' was never closed (line 2)"
    """
    text = _PLACE.sub(r"(line \1)", " ".join(str(error["evalue"]).split())[:_MOST_TEXT])
    return f"{error['ename']}: {text}" if text else str(error["ename"])


def consequence_of(reason: str) -> str:
    """Return the sentence about a cell that is the reason of a failed case; "" for other reasons.

    >>> consequence_of("not reached: the cell of f ended with SyntaxError: invalid syntax")
    'the cell of f ended with SyntaxError: invalid syntax'
    """
    match = _SENTENCE.fullmatch(reason)
    return match[1] if match else ""


def _sentence(slot: Slot, name: str, error: dict) -> str:
    called = slot.key.grade_id if slot.key is not None else name
    return f"the cell of {called} ended with {shown_error(error)}"
