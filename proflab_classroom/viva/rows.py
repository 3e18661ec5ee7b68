"""Fill a sheet with what is about no function of the student's: a race, and concept questions.

Concept questions (`questions/asked.py`) come last, when too few of a student's own functions can be
asked about, and the sheet says that they are not about them. Rows about a race need the hand-in's
own tapes, and so a sandbox: they are made apart (`race_rows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from proflab_classroom.questions.asked import asked_concepts
from proflab_classroom.viva.questions import Draws, SheetQuestion
from proflab_course.course.layout import Course


def rows(
    course: Course, lesson: str, draws: Draws, own: Sequence[SheetQuestion] = ()
) -> list[SheetQuestion]:
    """Return all rows for a student's sheet, in a drawn order; first own, about the student's race.

    A lesson without a concepts.toml has no concept questions.
    """
    concepts = [each.as_question() for each in asked_concepts(course, lesson)]
    asked = [
        SheetQuestion(q.name, q.stem, q.options, q.key, note=q.note, kind="row") for q in concepts
    ]
    return sorted(draws.mixed([*own, *asked], "rows"), key=lambda row: not row.about_own_code)
