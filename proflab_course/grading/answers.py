"""Read answers to questions by letters out of a hand-in's replies, as grading keeps them.

They are stored beside the guesses, in the letters of the order in which the questions are written:
the order of the class is undone, so that a later build with another seed changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from nbformat import NotebookNode

from proflab_course.course.answer_cells import LETTERS, ORDERS, question_of
from proflab_course.grading.answer_key import Key, meta
from proflab_course.grading.plan import Reply
from proflab_course.grading.submissions.read_guesses import Guess

# In gradebooks of any age: the feature of concept questions asks the database for it.
ANSWERED = "concept question"  # what a stored answer is called, beside the guesses
RIGHT = "right"  # the state of an answer that is
# What the digest of an answer in words is called there: a mark by hand is of one text.
ESSAY = "essay"


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


def as_guesses(answers: Mapping[str, Answered]) -> list[Guess]:
    """Return answers as grading stores them, by the questions' ids, such as "07_2"."""
    return [
        Guess(ANSWERED, None, each.letter, name=question, state=RIGHT if each.right else "")
        for question, each in answers.items()
    ]


def essay_digests(notebook: NotebookNode, names: Collection[str]) -> list[Guess]:
    """Return a digest of each cell that people mark: of its text and what is pasted into it."""
    found = []
    for cell in notebook.cells:
        if (name := str(meta(cell).get("grade_id"))) in names:
            digest = hashlib.sha256(cell.source.strip().encode("utf-8", "replace"))
            if pictures := cell.get("attachments"):
                digest.update(json.dumps(pictures, sort_keys=True).encode())
            found.append(Guess(ESSAY, None, digest.hexdigest()[:16], name=name))
    return found
