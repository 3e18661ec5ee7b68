"""Say what a question is as somebody is asked it: a stem, and options in their order.

`item.py` has a question as its file has it, by letters. A concept question for a platform is no
more than this; a question of a viva (`viva/questions.py`) adds what it takes to verify it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """Hold a question. key: the place of the right option, from 0.

    name: the exercise that it is about, or its id. text: code under the stem. results: what is
    said of each option afterwards; note: what is said of the whole.
    """

    name: str
    stem: str
    options: tuple[str, ...]
    key: int
    text: str = ""
    results: tuple[str, ...] = ()
    note: str = ""

    @property
    def about_own_code(self) -> bool:
        """Return True if it is about what the student has written; its options are code then."""
        return False
