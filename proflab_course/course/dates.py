"""Read a course's dates: when each lesson is due, what lateness costs, and who has more time.

They stand in private/dates.toml, all in ISO order:

    zone = "Europe/Zurich"     # of the times below, and of those that a platform writes

    [due]
    01 = "2026-12-01 18:00"
    02 = "2026-12-08 18:00"    # "none" takes back a date that the gradebook has

    [penalty]                  # a share of a student's points for each day that has begun
    "*" = { per_day = 0.1 }    # all lessons
    13 = { per_day = 0.2, free_days = 1 }

    [[extension]]
    student = "s1234567"
    lesson = "01"              # or "*"
    due = "2026-12-08 18:00"   # or days = 2, after the lesson's own date

Extensions may also stand in extensions.csv, a line each:

    student,lesson,due,days
    s7654321,*,,2
"""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from proflab_course.course.hand_table import HandTable
from proflab_course.course.iso_time import (
    from_clock,
    has_clock,
    has_zone,
    read_iso_time,
    read_zone,
    shown_time,
    which_date,
)
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.toml_table import Amount, Must, read_table, read_toml
from proflab_course.course.words import amount

FILE = "private/dates.toml"
EXTENSIONS = "extensions.csv"
ALL = "*"
NONE = "none"
_COLUMNS = ("student", "lesson", "due", "days")
# Without quotes TOML itself reads a date.
_Written = Annotated[
    str | datetime.datetime, Must('a date and a time in quotes, such as "2026-12-01 18:00"')
]

Extension = datetime.timedelta | datetime.datetime


@dataclass(frozen=True)
class Penalty:
    """Hold what lateness costs: a share of a student's points for each day after the free ones."""

    per_day: Annotated[float, Must("a share from 0 to 1, such as 0.1", lambda x: 0 <= x <= 1)]
    free_days: Amount = 0.0

    @property
    def told(self) -> str:
        """Return the rule in words; "" where lateness costs nothing."""
        if not self.per_day:
            return ""
        after = f" after {amount(self.free_days, 'free day')}" if self.free_days else ""
        return f"{100 * self.per_day:g} % of the points for each day that has begun{after}"


@dataclass(frozen=True)
class _ExtensionEntry:
    student: str
    lesson: str
    due: _Written | None = None
    days: Amount | None = None


@dataclass(frozen=True)
class _DatesFile:
    zone: str
    due: dict[str, _Written] = field(default_factory=dict)
    penalty: dict[str, Penalty] = field(default_factory=dict)
    extension: list[_ExtensionEntry] | None = None


@dataclass(frozen=True)
class ExtensionLine:
    """Hold one extension: `lesson` is a lesson's name, or * for all; where: its file and line."""

    student: str
    lesson: str
    extension: Extension
    where: str


@dataclass(frozen=True)
class Dates:
    """Hold a course's dates; times are in UTC and without a zone, as nbgrader's are.

    zone: that of the file, None without one. due: by lesson; None where a date is taken back.
    penalties: by lesson, or * for all. extensions: None where no file says anything of them.
    """

    zone: zoneinfo.ZoneInfo | None = None
    due: Mapping[str, datetime.datetime | None] = field(default_factory=dict)
    penalties: Mapping[str, Penalty] = field(default_factory=dict)
    extensions: tuple[ExtensionLine, ...] | None = None

    @classmethod
    def read(cls, course: Course) -> Dates:
        """Return the dates of a course; without its files, there are none.

        Raises CourseError, one sentence with file and line or key, for a mistake in them.
        """
        table = read_toml(course.root, FILE)
        if table is None:
            return cls(extensions=_each_once(_listed(course, None)))
        said = read_table(_DatesFile, table, FILE)
        zone = read_zone(said.zone, f"{FILE}: zone")
        due = {
            name: None if text == NONE else _moment(text, zone, where)
            for name, text, where in _by_lesson(course, said.due)
        }
        penalties = {name: each for name, each, _ in _by_lesson(course, said.penalty, "penalty")}
        listed = _listed(course, zone)
        if said.extension is not None:
            own = [_of_entry(course, e, zone, n) for n, e in enumerate(said.extension, 1)]
            listed = [*own, *(listed or ())]
        lines = _each_once(listed)
        for line in lines or ():
            _refuse_early(line, due.get(line.lesson), zone)
        return cls(zone, due, penalties, lines)

    def penalty(self, lesson: str) -> Penalty | None:
        """Return what lateness costs in a lesson; None where the file does not say."""
        return self.penalties.get(lesson, self.penalties.get(ALL))

    def extensions_of(self, lesson: str) -> dict[str, Extension] | None:
        """Return each student's extension for a lesson; one for it goes before one for all.

        None where no file says anything of extensions: those in the gradebook stay.
        """
        if self.extensions is None:
            return None
        for_all = {line.student: line.extension for line in self.extensions if line.lesson == ALL}
        own = {line.student: line.extension for line in self.extensions if line.lesson == lesson}
        return for_all | own

    def shown(self, at: datetime.datetime) -> str:
        """Return a time as pages show it: by the course's clock, with its zone."""
        return shown_time(at, self.zone)


def _by_lesson(course: Course, table: Mapping, key: str = "due") -> Iterator[tuple]:
    """Yield the lesson's name, the value and the place of each entry; no lesson has two."""
    seen: dict[str, str] = {}
    for given, value in table.items():
        where = f"{FILE}: {key}.{given}"
        name = ALL if given == ALL and key == "penalty" else _lesson(course, given, where)
        if name in seen:
            raise CourseError(f"{where}: {seen[name]} is the same lesson: keep one of the two")
        seen[name] = given
        yield name, value, where


def _lesson(course: Course, given: str, where: str) -> str:
    """Return a lesson's name; it may be one that the course's track does not have."""
    try:
        return course.lesson(given, "modules", "source")
    except CourseError as error:
        raise CourseError(f"{where}: {error}") from None


def _moment(
    given: str | datetime.datetime,
    zone: zoneinfo.ZoneInfo | None,
    where: str,
    whole_days: bool = False,
) -> datetime.datetime:
    """Return the moment that a date and a time mean, strictly: never a guess.

    zone: where the text has none; None: UTC. whole_days: a date alone is its first moment.
    """
    text = given.isoformat(" ") if isinstance(given, datetime.datetime) else given.strip()
    try:
        at = read_iso_time(text)
    except ValueError as error:
        reason = f"{text!r}, {error}{which_date(text)}"
        raise CourseError(f"{where} is {reason}: write it as 2026-12-03 18:00") from None
    if not (whole_days or has_clock(text)):
        raise CourseError(f"{where} is {text!r}, without a time of day: write {text} 18:00")
    if zone is None or has_zone(text):
        return at
    moment, odd = from_clock(at, zone)
    if odd:
        raise CourseError(f"{where}: {odd}: choose another time, or add its offset, as +01:00")
    return moment


def _of_entry(
    course: Course, entry: _ExtensionEntry, zone: zoneinfo.ZoneInfo, number: int
) -> ExtensionLine:
    """Return an extension that stands in private/dates.toml."""
    where = f"{FILE}: extension, number {number}"
    lesson = ALL if entry.lesson == ALL else _lesson(course, entry.lesson, where)
    if (entry.due is None) == (entry.days is None):
        raise CourseError(f"{where}: give either due or days")
    if entry.due is not None:
        extension: Extension = _moment(entry.due, zone, f"{where}: due")
    else:
        extension = _days(entry.days or 0.0, where)
    return ExtensionLine(_student(entry.student, where), lesson, extension, where)


def _listed(course: Course, zone: zoneinfo.ZoneInfo | None) -> list[ExtensionLine] | None:
    """Return the lines of extensions.csv; None where there is no such file.

    zone: of times that name none; None: UTC.
    """
    path = course.root / EXTENSIONS
    if not path.exists():
        return None
    table = HandTable.read(path, _COLUMNS[:2], EXTENSIONS, _COLUMNS[2:])
    if not {"due", "days"} & {*table.header}:
        raise CourseError(f"{EXTENSIONS} must begin with the line `{','.join(_COLUMNS)}`")
    lines = []
    for row in table.rows():
        try:
            lesson = ALL if row["lesson"] == ALL else _lesson(course, row["lesson"], row.where)
        except CourseError as error:
            raise CourseError(f"{error}; write * for all lessons") from None
        if bool(row["due"]) == bool(row["days"]):
            raise CourseError(f"{row.where}: give either a due date or days")
        due, days = row["due"], row["days"]
        if due:
            where = f"{row.where}: the due date"
            extension: Extension = _moment(due, zone, where, whole_days=True)
        else:
            extension = _days(days, row.where)
        lines.append(
            ExtensionLine(_student(row["student"], row.where), lesson, extension, row.where)
        )
    return lines


def _student(given: str, where: str) -> str:
    # A student's name is the name of a folder, in submitted/ and in autograded/.
    if not re.fullmatch(r"[^/\0]+", given) or given in (".", ".."):
        raise CourseError(f"{where}: {given!r} is not the name of a student")
    return given


def _days(given: float | str, where: str) -> datetime.timedelta:
    """Return the time that a number of days is, such as 2 or 0.5."""
    try:
        days = float(given)
        extension = datetime.timedelta(days=days)
    except (ValueError, OverflowError):
        raise CourseError(f"{where}: {given!r} is not a number of days") from None
    if days < 0:
        what = f"{given} days take time away instead of giving more"
        raise CourseError(f"{where}: {what}: write a number above 0")
    return extension


def _refuse_early(
    line: ExtensionLine, due: datetime.datetime | None, zone: zoneinfo.ZoneInfo | None
) -> None:
    """Raise CourseError for an extension that ends before its lesson is due for all."""
    end = line.extension
    if due is not None and isinstance(end, datetime.datetime) and end < due:
        early = f"{shown_time(end, zone)} is before the due date of {line.lesson}"
        raise CourseError(f"{line.where}: {early}, {shown_time(due, zone)}: give a later time")


def _each_once(lines: list[ExtensionLine] | None) -> tuple[ExtensionLine, ...] | None:
    """Return the extensions; CourseError where a student has two for one lesson."""
    seen: dict[tuple[str, str], str] = {}
    for line in lines or ():
        earlier = seen.setdefault((line.student, line.lesson), line.where)
        if earlier != line.where:
            what = f"{line.student} has an extension for {line.lesson} already ({earlier})"
            raise CourseError(f"{line.where}: {what}: keep one of the two")
    return None if lines is None else tuple(lines)
