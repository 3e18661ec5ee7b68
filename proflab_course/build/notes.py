"""Tell an instructor what the build does not refuse a lesson for.

Compared are the lesson as it is now and its notebooks as they were built last: what has gone since
may still be needed by older hand-ins, or be named by text that stayed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from proflab.lesson.names import bound_names
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import Lesson, Role, read_notebook
from proflab_course.course.words import few

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

_NAMED = re.compile(r"`(\w+)(?:\([^`]*\))?`")


def changed_since(lesson: Lesson, facts: Facts) -> Iterator[str]:
    """Yield a sentence for what hand-ins of the last release need, and for names that are gone."""
    course = facts.course
    try:
        former = read_notebook(course.source(lesson.name), lesson.name)
        given = _bound(former, "given")
        written = _bound(former, "exercise") | given
    except CourseError:  # it was never built, or is none of ours
        return
    if (cells := _worth_less(former, lesson)) and _is_handed_in(course, lesson.name):
        what = f"{few(cells)} had more points in the release before this one"
        yield f"{lesson.place}: {what}: grade its hand-ins by its own source/"
    now = _bound(lesson, "given", "exercise", "free")
    if (gone := sorted(given - now)) and _is_handed_in(course, lesson.name):
        what = f"the release before this one gave {few(gone)}, which its hand-ins may use"
        them = "it" if len(gone) == 1 else "them"
        yield f"{lesson.place}: {what}: keep giving {them} while you grade these hand-ins"
    everywhere = now.union(*(_bound(other, "given", "exercise") for other in facts.whole))
    for cell in lesson.named("text"):
        for name in sorted({*_NAMED.findall(cell.source)} & written - everywhere):
            yield f"{cell.where}: it names `{name}`, which no cell defines any more"


def _worth_less(former: Lesson, lesson: Lesson) -> list[str]:
    """Return the test cells that have fewer points than they had."""
    before = {cell.name: cell.points for cell in former.named("test")}
    return [c.name for c in lesson.named("test") if c.points < before.get(c.name, 0)]


def _is_handed_in(course: Course, lesson: str) -> bool:
    """Say whether somebody has handed in a lesson, so that a change of it may matter."""
    return any(course.root.glob(f"submitted/*/{lesson}"))


def _bound(lesson: Lesson, *roles: Role) -> set[str]:
    found: set[str] = set()
    for cell in lesson.named(*roles):
        found |= bound_names(cell.statements())
    return found
