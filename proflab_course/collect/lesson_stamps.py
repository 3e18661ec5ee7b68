"""Tell by the stamps in notebooks that an archive is another lesson's."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from proflab_course.collect.attempts import Attempt
from proflab_course.collect.entries import DAMAGES, Entry
from proflab_course.course.layout import CourseError
from proflab_course.course.release_stamp import STAMP, read_stamp
from proflab_course.grading.submissions.find_notebook import is_notebook_name

_LARGEST = 8 * 1024**2
# In JSON a quote inside a text has a backslash before it: what fits is a key, not a student's text.
_STAMPED = re.compile(rf'"{STAMP}"\s*:\s*(\{{[^{{}}]{{1,400}}\}})'.encode())


def stamped_lesson(notebook: bytes, lessons: Collection[str]) -> str:
    """Return which of the course's lessons a notebook's stamp names; empty if none."""
    for match in _STAMPED.finditer(notebook):
        with contextlib.suppress(ValueError):
            lesson = read_stamp({STAMP: json.loads(match[1])}).get("lesson", "")
            if lesson in lessons:
                return lesson
    return ""


def refuse_other_lesson(
    attempts: Iterable[Attempt], lesson: str, lessons: Collection[str], source: Path
) -> None:
    """Raise CourseError if most hand-ins that hold a stamp hold another lesson's alone."""
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
    """Return the one lesson of an attempt's notebooks: `lesson` if one of them is of it."""
    notebooks = [entry for path, entry in attempt.files.items() if is_notebook_name(path)]
    found = {stamped_lesson(_content(entry), lessons) for entry in notebooks} - {""}
    if lesson in found:
        return lesson
    return found.pop() if len(found) == 1 else ""


def _content(entry: Entry) -> bytes:
    with contextlib.suppress(*DAMAGES):
        if entry.size <= _LARGEST:
            return entry.read()
    return b""
