"""Read answers to concept questions out of a hand-in's replies, in the letters of concepts.toml."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from proflab_course.course.concepts import LETTERS, ORDERS
from proflab_course.grading.answer_key import Key


@dataclass(frozen=True)
class Answered:
    """Hold one answer: its letter in concepts.toml, whatever order the class saw."""

    letter: str
    right: bool


def answered(key: Key, question: str, value: Any, right: bool) -> Answered | None:
    """Return a reply to a question as an answer; None where it is no letter.

    The class's order is undone by the key that the build wrote, so that a regrade needs no seed.
    """
    if not isinstance(value, str) or len(value) != 1 or value not in LETTERS:
        return None
    order = key.metadata.get(ORDERS, {}).get(question, LETTERS)
    return Answered(order[LETTERS.index(value)], right)
