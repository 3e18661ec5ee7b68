"""Find the submissions of a lesson."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.layout import Course, CourseError
from proflab_course.course.words import few
from proflab_course.grading.reader import Reader

_MOST_NAMED = 10
# nbgrader's patterns take no name with a line break, and no database one whose bytes are no UTF-8,
# as an archive of old Windows leaves it: one such folder would end a command for the whole class.
_ODD = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")
_ODD_NAME = (
    "submitted/ has a folder {}, which is not graded: a line break or an unreadable letter is in "
    "its name, so rename it"
)


@dataclass(frozen=True)
class Work:
    """One submission to be graded. `fingerprint` is added by `resume.with_fingerprints`."""

    student: str
    folder: Path
    fingerprint: str = ""

    @property
    def stamp_folder(self) -> Path:
        """The folder of timestamp.txt: the student's own folder if the lesson has none in it."""
        return self.folder if self.folder.is_dir() else self.folder.parent


def find_work(course: Course, reader: Reader, students: list[str] | None) -> list[Work]:
    """Return the submissions of the reader's lesson: all of them, or those of `students`.

    Raises CourseError for a student who has no folder in submitted/, or one of `odd_names`, which
    are left out.
    """
    submitted, lesson = course.root / "submitted", reader.lessons.key.name
    found = _find_students(submitted, lesson, reader)
    for name in students or []:
        if not (submitted / name).is_dir() or name in (".", "..") or "/" in name:
            there = few(found, _MOST_NAMED) or "none with a hand-in of this lesson"
            raise CourseError(f"there is no folder submitted/{name}; there are {there}")
        if _ODD.search(name):
            raise CourseError(_ODD_NAME.format(ascii(name)))
    return [Work(name, submitted / name / lesson) for name in dict.fromkeys(students or found)]


def _find_students(submitted: Path, lesson: str, reader: Reader) -> list[str]:
    """Return the students with a folder for the lesson, or with its notebook elsewhere."""
    folders = [p for p in submitted.glob("*") if p.is_dir() and not _ODD.search(p.name)]
    return sorted(p.name for p in folders if (p / lesson).is_dir() or _has_strays(p, reader))


def odd_names(course: Course) -> list[str]:
    """Return a sentence on each folder in submitted/ that is left out for its name."""
    folders = sorted((course.root / "submitted").glob("*/"))
    return [_ODD_NAME.format(ascii(each.name)) for each in folders if _ODD.search(each.name)]


def _has_strays(student: Path, reader: Reader) -> bool:
    """Return True if the lesson's notebook is elsewhere in a student's folder, or may be."""
    try:
        return reader.has_strays(student)
    except Exception:  # grading meets the same error again and names it
        return True
