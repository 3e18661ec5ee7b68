"""Say when a lesson is due, how its class stands to that, and what looks like a wrong date.

The dates are those of `course/dates.py`; where they say nothing, those of nbgrader's gradebook
count. Grading writes them into the gradebook, where formgrader, feedback and export find them.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proflab_course.course.dates import FILE, Dates, Extension
from proflab_course.course.words import amount
from proflab_course.grading.records.lateness import as_timedelta, rule_of
from proflab_course.grading.records.queries import read_handed

if TYPE_CHECKING:
    from proflab_course.grading.records.gradebook import Book

_ENOUGH = 5  # hand-ins of which one would be late as a rule


@dataclass(frozen=True)
class Deadline:
    """Hold a lesson's due date and a class's hand-ins: times in UTC and without a zone.

    due: None if none is known. in_book: what the gradebook has, as of the last grading.
    listed: whether the course's own file says it.
    handed: when each student handed in, None if unknown. extensions: by student.
    rule: what lateness costs, in words; "" for nothing.
    """

    dates: Dates
    due: datetime.datetime | None
    in_book: datetime.datetime | None
    listed: bool
    handed: Mapping[str, datetime.datetime | None]
    extensions: Mapping[str, Extension]
    rule: str = ""

    @classmethod
    def of(
        cls,
        dates: Dates,
        lesson: str,
        in_book: datetime.datetime | None,
        handed: Mapping[str, datetime.datetime | None],
        extensions: Mapping[str, Extension],
        rule: str = "",
    ) -> Deadline:
        """Return a lesson's deadline; in_book: the due date that nbgrader's gradebook has.

        extensions: those in the gradebook; the files' go before them.
        """
        due, listed = dates.due.get(lesson, in_book), dates.extensions_of(lesson)
        mine = dates.penalty(lesson)
        rule = mine.told if mine else rule
        given = extensions if listed is None else listed
        return cls(dates, due, in_book, lesson in dates.due, handed, given, rule)

    def due_of(self, student: str) -> datetime.datetime | None:
        """Return a student's own due date, with an extension."""
        extra = as_timedelta(self.extensions.get(student), self.due)
        return self.due if self.due is None or extra is None else self.due + extra

    @property
    def told(self) -> list[str]:
        """Return sentences on the due date, the class, and what looks like a wrong date."""
        if self.due is None:
            known = f"{FILE} has none" if self.dates.zone else f"{FILE} may name one"
            return [f"no due date is known, so nobody is late ({known})"]
        late = [s for s, at in self.handed.items() if at and at > (self.due_of(s) or at)]
        timed = sum(at is not None for at in self.handed.values())
        parts = [f"{len(late)} of {amount(timed, 'hand-in')} late"]
        if unknown := len(self.handed) - timed:
            parts.append(f"{unknown} without a time of submission")
        if more := sum(student in self.extensions for student in self.handed):
            parts.append(f"{more} with an extension")
        found = [f"due {self.shown_due}: {', '.join(parts)}"]
        if self.rule:
            found.append(f"lateness costs {self.rule}")
        return [*found, *self._asked(len(late), timed)]

    @property
    def shown_due(self) -> str:
        """Return the due date, and where it is from."""
        if self.due is None:
            return ""
        if not self.listed:  # as nbgrader understood it, which reads 03.12.2026 as 12 March
            return f"{Dates().shown(self.due)}, as nbgrader's gradebook has it"
        return f"{self.dates.shown(self.due)} ({FILE})"

    def _asked(self, late: int, timed: int) -> list[str]:
        """Return the question whether a date is right by which all are late, or nobody is."""
        where = f"it stands in {FILE}"
        if not self.listed:
            where = f"nbgrader reads 03.12.2026 as 12 March; write it into {FILE}"
        mean = f"is this the due date that you mean? ({where})"
        if timed > 1 and late == timed:
            return [f"all {timed} hand-ins are late: {mean}"]
        if timed >= _ENOUGH and not late and self.rule:
            return [f"none of {timed} hand-ins is late: {mean}"]
        return []

    @property
    def outdated(self) -> list[str]:
        """Return a sentence if the class was graded by another due date."""
        if self.due == self.in_book:
            return []
        was = self.dates.shown(self.in_book) if self.in_book else "none"
        return [f"graded when the due date was {was}: run `proflab grade` again"]

    def told_to(self, student: str) -> str:
        """Return sentences for a student's page: the due date, and when the hand-in came."""
        due, at = self.due_of(student), self.handed.get(student)
        if due is None:
            return ""
        extended = ", with your extension" if due != self.due else ""
        said = f"Due {self.dates.shown(due)}{extended}."
        if at is None:
            return said
        late = at - due
        if late <= datetime.timedelta(0):
            return f"{said} Handed in {self.dates.shown(at)}, in time."
        costs = f" Lateness costs {self.rule}." if self.rule else ""
        return f"{said} Handed in {self.dates.shown(at)}, {_duration(late)} late.{costs}"


def set_due(book: Book, lesson: str, dates: Dates) -> None:
    """Write a lesson's due date into nbgrader's row, if the course's dates have one."""
    if lesson in dates.due:
        with book.transaction() as rows:
            rows.find_assignment(lesson).duedate = dates.due[lesson]


def read_deadline(
    book: Book,
    lesson: str,
    dates: Dates,
    handed: Mapping[str, datetime.datetime | None] | None = None,
) -> Deadline:
    """Return a lesson's deadline.

    handed: when students handed in, where that is not yet in the gradebook.
    """
    with book.reading() as connection:
        due, known = read_handed(connection, lesson)
    if handed is None:
        handed = {student: at for student, (at, _) in known.items()}
    more = {student: extra for student, (_, extra) in known.items() if extra is not None}
    return Deadline.of(dates, lesson, due, handed, more, rule_of(book.penalties.plugin_inst))


def _duration(time: datetime.timedelta) -> str:
    """Return a time in its two largest units: "1 day 3 hours", "5 minutes"."""
    minutes = max(1, round(time.total_seconds() / 60))
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "day"), (hours, "hour"), (minutes, "minute")]
    return " ".join([amount(n, what) for n, what in parts if n][:2])
