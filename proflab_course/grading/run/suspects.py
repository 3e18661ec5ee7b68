"""Find the student's functions that ran out of time, and the items of a plan that use them.

The code is searched for words and never parsed, because a stranger's code can crash a parser. A
name that is suspected wrongly only leaves less time to the code that uses it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from proflab_course.grading.defined_names import defined_functions, names_in_each
from proflab_course.grading.plan import Plan, RunBlock, RunCell, statements

_WORD = re.compile(r"[^\W\d]\w*")
_MOST_TEXT = 100_000  # characters


class Suspects:
    """The names in a plan that are suspected of taking too long, over all sessions of a hand-in."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.names: set[str] = set()
        self._cells: list[_Cell] | None = None
        self._concerned: set[str] = set()  # the suspects and the functions that use them

    def note(self, item: RunCell | RunBlock, code: str) -> None:
        """Suspect the functions that a statement uses, or if it names none, those of its block."""
        known = set().union(*(cell.defines for cell in self._read_cells()))
        for text in (code, _text_of(item)):
            if found := _words(text) & known:
                self.names |= found
                self._concerned = _users_of(self.names, self._read_cells())
                return

    def concern(self, item: RunCell | RunBlock) -> bool:
        """Return True if an item uses a suspect, itself or through other functions."""
        return bool(self.names) and not self._concerned.isdisjoint(_words(_text_of(item)))

    def _read_cells(self) -> list[_Cell]:
        if self._cells is None:
            cells = [item for item in self.plan if isinstance(item, RunCell) and not item.given]
            texts = [cell.code[:_MOST_TEXT] for cell in cells]
            defined = names_in_each(texts, names_in=defined_functions)
            known = set().union(*defined)
            self._cells = [
                _Cell(names, _words(text) & known)
                for text, names in zip(texts, defined, strict=True)
                if names
            ]
        return self._cells


@dataclass(frozen=True)
class _Cell:
    """The functions that a student's cell defines, and those that it uses."""

    defines: set[str]
    uses: set[str]


def _users_of(names: set[str], cells: list[_Cell]) -> set[str]:
    """Return these functions and all that use one, directly or not; visits each cell once."""
    users: dict[str, list[_Cell]] = {}
    for cell in cells:
        for name in cell.uses:
            users.setdefault(name, []).append(cell)
    found, left = set(names), list(names)
    while left:
        for cell in users.pop(left.pop(), ()):
            new = cell.defines - found
            found |= new
            left += new
    return found


def _text_of(item: RunCell | RunBlock) -> str:
    return "\n".join(code for _, code in statements(item))[:_MOST_TEXT]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))
