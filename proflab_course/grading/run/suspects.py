"""Names of the student's functions that ran out of time, and which statements of a plan use them.

By words, never by parsing: a parser can be crashed by what it is given, and this is a stranger's.
To suspect one name too many merely leaves what uses it less time.
"""

from __future__ import annotations

import re

from proflab_course.grading.plan import Plan, RunBlock, RunCell, statements

_WORD = re.compile(r"[^\W\d]\w*")
# Only what stands at top level: that two classes have a method of one name connects nothing.
_DEFINED = re.compile(
    r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|^(\w+)[ \t]*=[ \t]*lambda\b", re.MULTILINE
)
_MOST_TEXT = 100_000


class Suspects:
    """One plan's names that are suspected of taking too long, over all turns of a hand-in."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.names: set[str] = set()
        self._uses: dict[str, set[str]] | None = None

    def note(self, item: RunCell | RunBlock, code: str) -> None:
        """Suspect the functions that a statement uses; if it names none, those of its block."""
        for text in (code, _text_of(item)):
            if found := _words(text) & self._used_by_name().keys():
                self.names |= found
                return

    def concern(self, item: RunCell | RunBlock) -> bool:
        """Return True if an item uses a suspect, itself or through other functions."""
        if not self.names:
            return False
        uses, seen = self._used_by_name(), set()
        left = _words(_text_of(item)) & uses.keys()
        while left:
            seen |= left
            if left & self.names:
                return True
            left = set().union(*(uses[name] for name in left)) - seen
        return False

    def _used_by_name(self) -> dict[str, set[str]]:
        """Return for each name that a student's cell defines the defined names in that cell."""
        if self._uses is None:
            cells = [item for item in self.plan if isinstance(item, RunCell) and not item.given]
            texts = [cell.code[:_MOST_TEXT] for cell in cells]
            defined = [{name for names in _DEFINED.findall(t) for name in names} for t in texts]
            known = set().union(*defined) - {""}
            self._uses = {name: set() for name in known}
            for text, names in zip(texts, defined, strict=True):
                used = _words(text) & known
                for name in names & known:
                    self._uses[name] |= used - {name}
        return self._uses


def _text_of(item: RunCell | RunBlock) -> str:
    return "\n".join(code for _, code in statements(item))[:_MOST_TEXT]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))
