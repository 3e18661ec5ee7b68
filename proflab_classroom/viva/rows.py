"""Questions of other makers, which go into the same sheet: rows of stem, options and key.

Concept questions (proflab_classroom/questions/concepts.py) fill a sheet when too few of a student's
own functions can be asked about, and the sheet says that they are not about them.
A maker of further rows adds a function to MAKERS. Rows about a race need the hand-in's own tapes,
and so a sandbox: they are made apart (`race_rows.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proflab_classroom.questions.asked import asked_concepts
from proflab_classroom.viva.questions import LETTERS, Draws, Question
from proflab_course.course.layout import Course


@dataclass(frozen=True)
class Row:
    """Hold a question whose key its maker has computed. own: it is about the student's work."""

    name: str
    stem: str
    options: tuple[str, ...]
    key: int
    note: str = ""
    own: bool = False

    def question(self) -> Question:
        """Return the row as a question of a sheet."""
        return Question(
            "race" if self.own else "row",
            self.name,
            self.stem,
            self.options,
            self.key,
            note=self.note,
        )


def concept_rows(course: Course, lesson: str, student: str) -> list[Row]:
    """Return the concept questions of the class's lesson; none where it has no concepts.toml."""
    return [
        Row(
            each.id,
            each.concept.stem,
            tuple(option.text for option in each.options),
            LETTERS.index(each.key),
            each.concept.why,
        )
        for each in asked_concepts(course, lesson)
    ]


# Each takes course, lesson and student, and returns rows; those about own work come first.
MAKERS: list[Callable[[Course, str, str], Sequence[Row]]] = [concept_rows]


def rows(
    course: Course, lesson: str, student: str, draws: Draws, own: Sequence[Row] = ()
) -> list[Question]:
    """Return all rows for a student's sheet, in a drawn order; own: about the student's work."""
    made = [*own]
    made += [row for maker in MAKERS for row in maker(course, lesson, student)]
    mixed = draws.mixed(made, "rows")
    return [row.question() for row in sorted(mixed, key=lambda row: not row.own)]
