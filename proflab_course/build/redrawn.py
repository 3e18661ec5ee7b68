"""Compare what a build draws with what source/ has, by which hand-ins are graded.

That is the order of options, and the program of a lesson with a draw.py: students see both, and
their answers and programs are graded by those of source/.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from proflab_course.build import draw
from proflab_course.build.facts import Facts
from proflab_course.course.answer_cells import LETTERS, ORDERS
from proflab_course.course.features import buildings
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_notebook

_SAME = "give both builds the same --seed"


def refuse_other_orders(facts: Facts, names: Iterable[str]) -> None:
    """Raise CourseError for a lesson whose options stand in another order in source/."""
    for name in names:
        if _other_orders(_orders(facts.course, name), _drawn_orders(name, facts)):
            raise CourseError(
                f"{name}: options of its questions stand in another order than in source/, by "
                f"which hand-ins are graded: {_SAME}"
            )


def program_notes(course: Course, names: Iterable[str], made: Path) -> list[str]:
    """Return a sentence for each lesson whose drawn program is another one in source/.

    made: the folder with the lessons' folders.
    """
    what = "its program is another one than in source/, by which hand-ins are graded"
    return [
        f"{name}: {what}: {_SAME}, or hand out release/{name} of this course"
        for name in names
        if _other_program(course, name, made)
    ]


def redrawn_note(facts: Facts, names: Iterable[str], made: Path) -> list[str]:
    """Return a sentence on the lessons that were drawn before, and otherwise; none as a rule."""
    found = [name for name in names if _is_redrawn(facts, name, made)]
    if not found:
        return []
    what = "options or a program are drawn anew, by another seed or secret than before"
    return [f"{', '.join(found)}: {what}: grade hand-ins of the former release by its own source/"]


def _is_redrawn(facts: Facts, name: str, made: Path) -> bool:
    before, now = _orders(facts.course, name), _drawn_orders(name, facts)
    was_drawn = any(order != LETTERS for order in before.values())
    if was_drawn and _other_orders(before, now):
        return True
    course = facts.course
    return _other_program(course, name, course.root / "modules") and _other_program(
        course, name, made
    )


def _orders(course: Course, name: str) -> Mapping[str, str]:
    """Return the order of each question's options in source/; none without the lesson there."""
    if not course.source(name).exists():
        return {}
    found = read_notebook(course.source(name), name).notebook.metadata.get(ORDERS, {})
    return found if isinstance(found, Mapping) else {}


def _drawn_orders(name: str, facts: Facts) -> Mapping[str, str]:
    """Return the order of each question's options as this build draws it."""
    lesson = facts.taken[name].lesson
    parts = [part.metadata(lesson, facts).get(ORDERS, {}) for part in buildings()]
    return {question: order for part in parts for question, order in part.items()}


def _other_orders(before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    return any(before.get(question, order) != order for question, order in now.items())


def _other_program(course: Course, name: str, folder: Path) -> bool:
    """Say whether a drawn file of a lesson differs between source/ and a folder of lessons."""
    module = course.module(name).parent
    if not (module / draw.FILE).exists():
        return False
    # Any secret will do: only the names of the files are asked for.
    source, files = course.source(name).parent, draw.drawn(module, bytes(1)).files
    return any(
        (source / each).exists() and (source / each).read_bytes() != path.read_bytes()
        for each in files
        if (path := folder / name / each).exists()
    )
