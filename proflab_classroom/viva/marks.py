"""Take the marks of a viva back into the course, for report and export.

The file that the assistants fill in has the columns student, q1, q2, …: 1 for a right letter with a
reason that fits, 0 otherwise, empty where a question was not asked. What was read is kept in
private/viva/LESSON.csv; marks of students who come later are added to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.csv_table import csv_text, read_csv
from proflab_course.course.files import replace_file
from proflab_course.course.hand_table import NO, YES, HandTable
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.words import few

PASS_SHARE = 0.75  # 3 of 4


@dataclass(frozen=True)
class VivaMarks:
    """Hold a student's marks, question by question; None: not asked."""

    student: str
    marks: tuple[int | None, ...]

    @property
    def points(self) -> int:
        """Return the number of questions answered with a reason."""
        return sum(mark or 0 for mark in self.marks)

    @property
    def asked(self) -> int:
        """Return the number of questions asked."""
        return sum(mark is not None for mark in self.marks)

    @property
    def passed(self) -> bool:
        """Return True from three of four on."""
        return self.points >= PASS_SHARE * self.asked


def read_marks(path: Path, known: Collection[str]) -> dict[str, VivaMarks]:
    """Return the marks in a file; known: the students that the course has.

    Raises CourseError, with the line, for an unknown student, one who is there twice, or a mark
    other than 0, 1 or nothing.
    """
    table = HandTable.read(path, ("student", "q1"))
    questions = [name for name in table.header if re.fullmatch(r"q\d+", name)]
    found: dict[str, VivaMarks] = {}
    for row in table.rows(key=("student",)):
        student = row["student"]
        if student not in known:
            raise CourseError(f"{row.where}: {student!r} is no student of this course")
        marks = [row[name].casefold() for name in questions]
        if wrong := [mark for mark in marks if mark not in (*YES, *NO, "")]:
            raise CourseError(f"{row.where}: a mark is 0, 1 or empty, not {wrong[0]!r}")
        if any(marks):
            found[student] = VivaMarks(student, tuple(int(m in YES) if m else None for m in marks))
    return found


def kept_path(course: Course, lesson: str) -> Path:
    """Return where a lesson's marks are kept."""
    return course.root / "private" / "viva" / f"{lesson}.csv"


def kept_marks(course: Course, lesson: str) -> dict[str, VivaMarks]:
    """Return a lesson's marks; none if no viva was marked."""
    path = kept_path(course, lesson)
    if not path.exists():
        return {}
    names = {cells.get("student", "") for _, cells in read_csv(path).records()}
    return read_marks(path, names)


def keep_marks(course: Course, lesson: str, marks: dict[str, VivaMarks]) -> int:
    """Add marks to those that are kept, and return the number of students who have some."""
    together = kept_marks(course, lesson) | marks
    most = max((len(mark.marks) for mark in together.values()), default=0)
    rows: list[list[object]] = [["student", *(f"q{n}" for n in range(1, most + 1))]]
    for student in sorted(together):
        rows.append([student, *("" if m is None else m for m in together[student].marks)])
    path = kept_path(course, lesson)
    for folder in (path.parents[1], path.parent):  # as course/secret.py makes private/
        folder.mkdir(mode=0o700, exist_ok=True)
    replace_file(path, csv_text(rows).encode())
    return len(together)


def told(marks: dict[str, VivaMarks], named: bool = True) -> str:
    """Return a sentence on a class's marks; named: with the students who need another sheet."""
    below = sorted(mark.student for mark in marks.values() if not mark.passed)
    sentence = f"{len(marks) - len(below)} of {len(marks)} have three questions of four or more"
    return f"{sentence}; another sheet for {few(below)}" if below and named else sentence
