"""Recognize cells in which questions are answered by letters, which are no exercises.

They are part of what a hand-in may contain, in the forms that releases have given them: a cell of
answers such as `concept_07_2 = None`, and a test cell with the keys. What is asked, a feature puts
into a lesson (`proflab_course/course/features.py`); the grader reads answers also without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from proflab.lesson.concepts import LETTERS as LETTERS

ORDERS = "proflab_concepts"  # of the source notebook: the order of options, by id
QUESTION_ID = re.compile(r"(\d\d)_(?:\d|[AE]\d?)", re.ASCII)
# Older releases have a cell for each answer, such as concept_07_2, and one more that tests it;
# notebooks of theirs are still handed in.
_CELL = re.compile(rf"(?:test_)?concept_(?:\d\d|{QUESTION_ID.pattern})", re.ASCII)
_OPEN = re.compile(r"^(concept_\w+) = None *(?:#.*)?$", re.ASCII | re.MULTILINE)
# As the feature of concept questions writes it; by it the grader knows an answer even where the
# feature is not installed.
_LABEL = re.compile(r"the answer to (\d\d\.\w{1,2})", re.ASCII)


def is_answer_cell(cell: str) -> bool:
    """Return True for the grade_id of answers to concept questions, or of their test cell.

    >>> is_answer_cell("concept_07"), is_answer_cell("test_concept_04_A1")
    (True, True)
    >>> is_answer_cell("test_gelu")
    False
    """
    return _CELL.fullmatch(cell) is not None


def question_of(label: str) -> str:
    """Return the id of the question whose key a hidden case has, by its label; "" for others.

    >>> question_of("the answer to 04.A1"), question_of("a wide one")
    ('04_A1', '')
    """
    match = _LABEL.fullmatch(label)
    return match[1].replace(".", "_") if match else ""


def answers_form(names: Iterable[str]) -> str:
    """Return the cell in which students answer, each answer still open."""
    lines = (f"{name} = None" for name in names)
    return "\n".join(['# Put "A", "B", "C" or "D" in place of each None.', *lines])


def open_answers(text: str) -> list[str]:
    """Return the names of the answers that a cell leaves open.

    >>> open_answers("# Put in letters.\\nconcept_07_1 = None\\nconcept_07_2 = None")
    ['concept_07_1', 'concept_07_2']
    """
    return _OPEN.findall(text)
