"""Detect an archive of another lesson by the stamps in its notebooks."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from proflab_course.collect.attempts import Attempt
from proflab_course.collect.entries import Entry
from proflab_course.course.layout import CourseError
from proflab_course.course.release_stamp import STAMP, read_stamp
from proflab_course.grading.limited_process import Unreadable
from proflab_course.grading.submissions.file_names import is_notebook_name

_LARGEST = 8 * 1024**2
_MOST = 60  # notebooks of an attempt that are looked at
# In JSON a quote inside a text follows a backslash, so a match is a key, not a student's text.
_STAMPED = re.compile(rf'"{STAMP}"\s*:\s*(\{{[^{{}}]{{1,400}}\}})'.encode())


def lesson_of(entry: Entry, lessons: Collection[str]) -> str:
    """Return the lesson of the course that a notebook's stamp names; empty if none."""
    content = b""
    with contextlib.suppress(Unreadable):
        content = entry.read(_LARGEST) if entry.size <= _LARGEST else b""
    for match in _STAMPED.finditer(content):
        with contextlib.suppress(ValueError):
            lesson = read_stamp({STAMP: json.loads(match[1])}).get("lesson", "")
            if lesson in lessons:
                return lesson
    return ""


def refuse_other_lesson(
    attempts: Iterable[Attempt], lesson: str, lessons: Collection[str], source: Path
) -> None:
    """Raise CourseError if most hand-ins with a stamp have only another lesson's."""
    found = Counter(_lesson_of(attempt, lesson, lessons) for attempt in attempts)
    del found[""]
    if not found:
        return
    other, count = found.most_common(1)[0]
    if other != lesson and 2 * count > found.total():
        raise CourseError(
            f"{count} of {found.total()} notebooks in {source} are of {other}, not of {lesson}: "
            f"collect them as {other}"
        )


def _lesson_of(attempt: Attempt, lesson: str, lessons: Collection[str]) -> str:
    """Return the lesson of an attempt's notebooks: `lesson` if any has its stamp."""
    notebooks = [entry for path, entry in attempt.files.items() if is_notebook_name(path)]
    found = {lesson_of(entry, lessons) for entry in notebooks[:_MOST]} - {""}
    if lesson in found:
        return lesson
    return found.pop() if len(found) == 1 else ""
