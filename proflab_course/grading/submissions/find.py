"""Find the submissions of a lesson."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.layout import Course, CourseError
from proflab_course.course.words import few
from proflab_course.grading.reader import Reader

_MOST_NAMED = 10


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

    Raises CourseError for a student who has no folder in submitted/.
    """
    submitted, lesson = course.root / "submitted", reader.lessons.key.name
    found = _find_students(submitted, lesson, reader)
    for name in students or []:
        if not (submitted / name).is_dir() or name in (".", "..") or "/" in name:
            there = few(found, _MOST_NAMED) or "none with a hand-in of this lesson"
            raise CourseError(f"there is no folder submitted/{name}; there are {there}")
    return [Work(name, submitted / name / lesson) for name in dict.fromkeys(students or found)]


def _find_students(submitted: Path, lesson: str, reader: Reader) -> list[str]:
    """Return the students with a folder for the lesson, or with its notebook elsewhere."""
    folders = [path for path in submitted.glob("*") if path.is_dir()]
    return sorted(p.name for p in folders if (p / lesson).is_dir() or _has_strays(p, reader))


def _has_strays(student: Path, reader: Reader) -> bool:
    """Return True if the lesson's notebook is elsewhere in a student's folder, or may be."""
    try:
        return reader.has_strays(student)
    except Exception:  # grading meets the same error again and names it
        return True
