"""Read answers to concept questions out of a hand-in's replies, in the letters of concepts.toml."""

from __future__ import annotations

from dataclasses import dataclass

from proflab_course.course.concepts import LETTERS, ORDERS, question_of
from proflab_course.grading.answer_key import Key
from proflab_course.grading.plan import Reply


@dataclass(frozen=True)
class Answered:
    """Hold one answer: its letter in concepts.toml, whatever order the class saw."""

    letter: str
    right: bool


def answered(key: Key, label: str, reply: Reply, right: bool) -> dict[str, Answered]:
    """Return the answer in the reply to a hidden case, by its question's id; none if no letter.

    The class's order is undone by the key that the build wrote, so that a regrade needs no seed.
    """
    question, letter = question_of(label), reply.value
    if reply.state != "value" or not question:
        return {}
    if not isinstance(letter, str) or len(letter) != 1 or letter not in LETTERS:
        return {}
    order = key.metadata.get(ORDERS, {}).get(question, LETTERS)
    return {question: Answered(order[LETTERS.index(letter)], right)}
