"""Read extensions from extensions.csv, and compute a penalty for each day of lateness.

    student,lesson,due,days
    s1234567,01_parameters,2026-12-08 18:00 Europe/Zurich,
    s7654321,*,,2

A line gives one student another due date, or days (1, 0.5) after the due date, for one lesson or
for all (*). The extension is written into nbgrader's gradebook, where formgrader, feedback and
export find it. If the file exists, extensions in the gradebook that it does not name are removed.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Container
from dataclasses import dataclass

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float

from proflab_course.course.csv_table import read_csv
from proflab_course.course.layout import Course, CourseError
from proflab_course.grading.submissions.timestamp import parse_timestamp

FILE = "extensions.csv"
_COLUMNS = ("student", "lesson", "due", "days")
_DAY = 86_400

Extension = datetime.timedelta | datetime.datetime


class PenaltyPerDay(LateSubmissionPlugin):
    """Take off a share of the points for each day that has begun after the due date."""

    per_day = Float(0.1, help="the share of a student's points that each day costs").tag(
        config=True
    )
    free_days = Float(0.0, help="days that cost nothing").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Return the points to take off, at most all of them; None for none."""
        days = math.ceil(total_seconds_late / _DAY - self.free_days)
        return min(score, score * self.per_day * days) if days > 0 else None


@dataclass(frozen=True)
class _Line:
    """One line of the file: `lesson` is a lesson's name, or * for all."""

    student: str
    lesson: str
    extension: Extension
    where: str


def read_extensions(course: Course, lesson: str) -> dict[str, Extension] | None:
    """Return each student's extension for a lesson; None where the course has no extensions.csv.

    A line for the lesson overrides one for all. Raises CourseError, with the number of the line,
    for a line that cannot be read.
    """
    lines = _read_lines(course)
    if lines is None:
        return None
    for_all = {line.student: line.extension for line in lines if line.lesson == "*"}
    return for_all | {line.student: line.extension for line in lines if line.lesson == lesson}


def unknown_students(course: Course, known: Container[str]) -> list[str]:
    """Return the lines of the file that name no student of the course, each with that name.

    known: the students in the gradebook, which has those of a class list. Students with a folder
    in submitted/ are known, too.
    """
    return [
        f"{line.where}: {line.student}"
        for line in _read_lines(course) or []
        if line.student not in known and not (course.root / "submitted" / line.student).is_dir()
    ]


def _read_lines(course: Course) -> list[_Line] | None:
    """Return the lines of extensions.csv; None where there is no such file."""
    path = course.root / FILE
    if not path.exists():
        return None
    table = read_csv(path)
    names = set(table.header)
    if not {"student", "lesson"} <= names or not {"due", "days"} & names:
        raise CourseError(f"{FILE} must begin with the line `{','.join(_COLUMNS)}`")
    lines = []
    for number, given in table.records():
        cells = {name: given.get(name, "").strip() for name in _COLUMNS}
        where = f"{FILE}, line {number}"
        if not re.fullmatch(r"[^/\0]+", cells["student"]) or cells["student"] in (".", ".."):
            raise CourseError(f"{where}: {cells['student']!r} is not the name of a student")
        lesson = _lesson(course, cells["lesson"], where)
        lines.append(_Line(cells["student"], lesson, _extension(cells, where), where))
    return lines


def _lesson(course: Course, given: str, where: str) -> str:
    try:
        return given if given == "*" else course.lesson(given, "source")
    except CourseError as error:
        raise CourseError(f"{where}: {error}; write * for all lessons") from None


def _extension(cells: dict[str, str], where: str) -> Extension:
    if bool(cells["due"]) == bool(cells["days"]):
        raise CourseError(f"{where}: give either a due date or days")
    if cells["due"]:
        given = parse_timestamp(cells["due"])
        if given.at is None:
            raise CourseError(
                f"{where}: the due date {cells['due']!r} is not clear; "
                "write it as 2026-12-03 14:30:00 UTC"
            )
        return given.at
    try:
        days = float(cells["days"])
        return datetime.timedelta(days=days)
    except (ValueError, OverflowError):
        raise CourseError(f"{where}: {cells['days']!r} is not a number of days") from None


def as_timedelta(
    extension: Extension | None, due: datetime.datetime | None
) -> datetime.timedelta | None:
    """Return an extension as nbgrader stores it: the time after the lesson's due date."""
    if due is None:
        return None  # an extension needs a due date to be added to
    return extension - due if isinstance(extension, datetime.datetime) else extension
