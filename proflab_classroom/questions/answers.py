"""Read a class's answers to a lesson's concept questions, as grading has kept them.

They lie beside the guesses, in the letters of concepts.toml: grading undoes the order of the class
that the hand-in was built for, so that a later build with another seed changes nothing here.
"""

from __future__ import annotations

from collections import Counter

from sqlalchemy import text

from proflab_course.course.answer_cells import LETTERS
from proflab_course.course.layout import Course
from proflab_course.grading.answers import ANSWERED, RIGHT
from proflab_course.grading.records.opened import opened_book

# Fields of Guess (grading/submissions/read_guesses.py) in a table of records/gradebook.py.
_ANSWERS = text("""
    SELECT student, json_extract(value, '$.name'), json_extract(value, '$.answer'),
           json_extract(value, '$.state')
    FROM proflab_guesses, json_each(guesses)
    WHERE assignment = :assignment AND json_extract(value, '$.what') = :what
""")


def read_answers(course: Course, lesson: str) -> dict[str, dict[str, str]]:
    """Return, by student and question id, the letters answered, as concepts.toml has them.

    A question that a student left open has no entry, nor has a student who answered none.
    """
    found: dict[str, dict[str, str]] = {}
    for student, question, letter, _ in _rows(course, lesson):
        if letter in LETTERS:
            found.setdefault(student, {})[question] = letter
    return found


def concept_points(course: Course, lesson: str) -> dict[str, int]:
    """Return how many questions each student with an answer has right."""
    found: Counter[str] = Counter()
    for student, _, _, state in _rows(course, lesson):
        found[student] += state == RIGHT
    return dict(found)


def _rows(course: Course, lesson: str) -> list[tuple[str, str, str, str]]:
    with opened_book(course) as book:
        if book is None:
            return []
        with book.gradebook.engine.connect() as connection:
            found = connection.execute(_ANSWERS, {"assignment": lesson, "what": ANSWERED})
            return [(str(s), str(q), str(letter), str(state)) for s, q, letter, state in found]
