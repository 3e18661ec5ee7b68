"""Read a class's answers to a lesson's concept questions, as grading has kept them.

They lie beside the guesses, in the letters of concepts.toml: grading undoes the order of the class
that the hand-in was built for, so that a later build with another seed changes nothing here.
"""

from __future__ import annotations

from sqlalchemy import text

from proflab_course.course.concepts import LETTERS
from proflab_course.course.layout import Course
from proflab_course.grading.submissions.read_guesses import Guess

ANSWERED = "concept question"
_ANSWERS = text("""
    SELECT student, json_extract(value, '$.name'), json_extract(value, '$.answer')
    FROM proflab_guesses, json_each(guesses)
    WHERE assignment = :assignment AND json_extract(value, '$.what') = :what
""")


def as_guess(question: str, letter: str) -> Guess:
    """Return an answer as grading stores it; question: its id, such as "07_2"."""
    return Guess(ANSWERED, None, letter, name=question)


def read_answers(course: Course, lesson: str) -> dict[str, dict[str, str]]:
    """Return, by student and question id, the letters answered, as concepts.toml has them.

    A question that a student left open has no entry, nor has a student who answered none.
    """
    from proflab_course.grading.records.gradebook import Book

    found: dict[str, dict[str, str]] = {}
    if not course.gradebook.exists():
        return found
    with Book(course.gradebook) as book, book.gradebook.engine.connect() as connection:
        rows = connection.execute(_ANSWERS, {"assignment": lesson, "what": ANSWERED})
        for student, question, letter in rows:
            if letter in LETTERS:
                found.setdefault(student, {})[question] = letter
    return found
