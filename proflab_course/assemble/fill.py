"""Fill a student's profiler with the course's own code: what is given, and what is not written.

The course's code comes from modules/ where there is a course. A class's tree has none: there it is
in the last lesson's built.py, and in given.py, which holds what the class is not asked to write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from proflab.lesson.statements import DEFINITIONS, parsed, written_statements
from proflab_course.assemble.gather import NOWHERE, Collection, Statement, gather
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import GIVEN_TAG, Lesson, read_module

GIVEN = "given.py"  # beside the lessons of a class's tree
# As `render` of command.py writes it between lessons.
_TITLE = re.compile(r"^# ── (\d\d_\w+) ─+$", re.MULTILINE)


def course_code(folder: Path) -> list[Statement]:
    """Return the course's own code, as far as it is there, in course order.

    folder: of the lessons.
    """
    try:
        course = Course.find()
        return gather(read_module(course.module(n), n) for n in course.lessons()).statements
    except CourseError:
        files = [*sorted(folder.glob("[0-9][0-9]_*/built.py"))[-1:], folder / GIVEN]
        found = [s for path in files if path.is_file() for s in _read(path)]
        return sorted(found, key=lambda statement: statement.lesson)


def _read(path: Path) -> Iterator[Statement]:
    """Yield the statements of a file that `render` has written."""
    text = path.read_text(encoding="utf-8")
    # What follows that line is build/make.py's own: _USE_MINE.
    head, *parts = _TITLE.split(text.partition("\n# ── yours, where there are any ──")[0])
    lessons = [("", head), *zip(parts[::2], parts[1::2], strict=True)]
    for lesson, code in lessons:
        for node, written in written_statements(code.splitlines(), parsed(code)):
            statement = Statement(lesson, path.name, node, written, True)
            if "__all__" not in statement.binds and "__future__" not in written:
                yield statement


def lacks(own: Collection, lessons: Iterable[Lesson], course: list[Statement]) -> bool:
    """Return True if the course has anything that a student did not write, or was given."""
    there = {name for s in own.statements for name in s.binds}
    given = any(GIVEN_TAG in cell.tags for lesson in lessons for cell in lesson.named("given"))
    defined = {name for s in course if isinstance(s.node, DEFINITIONS) for name in s.binds}
    return given or bool(own.unwritten and course) or not defined <= there


def filled(own: Collection, lessons: Iterable[Lesson], course: list[Statement]) -> Collection:
    """Return what a student wrote, and the course's own code for all else.

    own: gathered from these lessons. Of the course's code, a name that the student's code defines
    is defined anew below it, lesson by lesson, so that the student's counts.
    """
    theirs = {name for s in course for name in s.binds}
    given = {cell.where for lesson in lessons for cell in lesson.named("given")}
    kept = [
        s
        for s in own.statements
        if s.is_import or not (_is_stub_of(s, own) or (s.where in given and s.binds <= theirs))
    ]
    order = {name: number for number, name in enumerate(sorted({s.lesson for s in course + kept}))}
    statements = sorted(
        [*(replace(s, where="") for s in course), *kept], key=lambda s: order[s.lesson]
    )
    unwritten = [name for name in own.unwritten if not _has(theirs, name)]
    # A note ends with a name and NOWHERE, which has five words.
    notes = [n for n in own.notes if not (n.endswith(NOWHERE) and n.split()[-6] in theirs)]
    stubs = [s for s in own.statements if _is_stub_of(s, own) and not s.binds & theirs]
    return Collection([*statements, *stubs], own.exercises, unwritten, notes)


def _is_stub_of(statement: Statement, own: Collection) -> bool:
    return bool(statement.binds & set(own.unwritten))


def _has(names: set[str], exercise: str) -> bool:
    """Return True if these names have an exercise: a function, or a class with its method."""
    return any(exercise == name or exercise.startswith(f"{name}_") for name in names)


def whose(own: Collection) -> str:
    """Return who wrote the exercises of a file that has the course's own code, too."""
    written = [name for name in own.exercises if name not in own.unwritten]
    if not written:
        return "So far its functions are the course's own: each one that you write replaces one."
    some = len(written) < len(own.exercises)
    count = f"{len(written)} of its {len(own.exercises)}" if some else "each of its"
    listed = f" ({', '.join(written)})" if len(written) <= 12 else ""
    return f"You wrote {count} exercises{listed}; the rest is the course's own."
