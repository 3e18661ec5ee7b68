"""proflab collect: take what a class handed in from a platform's archive into submitted/."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import zoneinfo
from pathlib import Path

from tqdm import tqdm

from proflab_course.collect.entries import read_entries
from proflab_course.collect.platforms import Attempt, Sorted, sort_entries
from proflab_course.collect.roster import Roster, Student, student_without_roster
from proflab_course.collect.store import Stored, entry_paths, last_attempts, store
from proflab_course.course.files import what_is_wrong
from proflab_course.course.layout import Course, CourseError
from proflab_course.grading.lock import only_grading
from proflab_course.grading.submissions.timestamp import has_zone, parse_timestamp, which_date

_LOCAL_FORMS = ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M", "%A, %B %d, %Y, %I:%M %p")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("source", metavar="ARCHIVE_OR_FOLDER", type=Path)
    parser.add_argument("lesson", metavar="LESSON", help="01_parameters, or 01")
    parser.add_argument("--roster", metavar="CSV", type=Path, help="the class list")
    parser.add_argument(
        "--timezone", metavar="ZONE", help="the time zone of the platform's times: Europe/Zurich"
    )


def run(arguments: argparse.Namespace) -> int:
    """Collect; returns 1 if what somebody handed in was not taken."""
    course = Course.find()
    lesson = course.lesson(arguments.lesson, "source")
    zone = _read_zone(arguments.timezone)
    roster = Roster.read(arguments.roster) if arguments.roster else None
    others = set(course.lessons("source")) - {lesson}
    found = sort_entries(read_entries(arguments.source), lesson, others)
    if not found.attempts:
        raise CourseError(f"{arguments.source} holds nothing that a student handed in")
    with only_grading(course, lesson):
        try:
            return _Collecting(course, lesson, found, roster, zone).run()
        except OSError as error:
            raise CourseError(
                f"some files could not be stored: {what_is_wrong(error)}, then run it again"
            ) from None


class _Collecting:
    """One run of the command: what was taken and what was not, for the table at its end."""

    def __init__(
        self,
        course: Course,
        lesson: str,
        found: Sorted,
        roster: Roster | None,
        zone: datetime.tzinfo | None,
    ) -> None:
        self.course, self.lesson, self.found = course, lesson, found
        self.roster, self.zone = roster, zone
        self.not_taken = dict(found.left_out)
        self.rows: list[tuple[str, str, Stored]] = []
        self.all_taken = True

    def run(self) -> int:
        """Store every student's last attempt, and print what became of all files."""
        students: dict[str, Student] = {}
        theirs: dict[str, list[Attempt]] = {}
        for attempt in self.found.attempts:
            student, reason = self._student_of(attempt)
            if student is None:
                self._refuse(attempt, reason)
                continue
            students[student.id] = student
            theirs.setdefault(student.id, []).append(attempt)
        for name, attempts in list(theirs.items()):
            numbers = sorted({attempt.number for attempt in attempts})
            if len(numbers) > 1:  # the platform knows them as several people
                del theirs[name]
                self._refuse_namesakes(students[name], attempts, numbers)
        for name in tqdm(sorted(theirs), "collecting", disable=None, leave=False):
            for attempt in theirs[name]:
                self._set_time(attempt, students[name], alone=len(theirs[name]) == 1)
            self._store(students[name], theirs[name])
        known = self.roster.students if self.roster else [students[name] for name in sorted(theirs)]
        _write_names(self.course, [student for student in known if _is_folder_name(student.id)])
        self._print()
        return 0 if self.all_taken else 1

    def _refuse_namesakes(self, student: Student, attempts: list[Attempt], numbers: list[str]):
        who = f"several students are called {student.called} ({', '.join(numbers)})"
        what = "with their numbers" if self.roster else "them apart"
        for attempt in attempts:
            self._refuse(attempt, f"{who}: give a --roster that tells {what}")

    def _refuse(self, attempt: Attempt, reason: str) -> None:
        self.all_taken = False
        self.not_taken |= dict.fromkeys(entry_paths(attempt), f"({reason})")

    def _student_of(self, attempt: Attempt) -> tuple[Student | None, str]:
        if self.roster is not None:
            student, reason = self.roster.match(attempt, self.found.platform)
        else:
            student, reason = student_without_roster(attempt, self.found.platform), ""
        if student is not None and not _is_folder_name(student.id):
            return None, f"{student.id!r} cannot be the name of a folder"
        return student, reason

    def _set_time(self, attempt: Attempt, student: Student, alone: bool) -> None:
        """Turn an attempt's time into UTC; the roster's time of submission comes first."""
        if attempt.at is not None:
            attempt.at = self._in_utc(attempt.at)
        if student.submitted and student.submitted != "-":
            at, problem = self._read_time(student.submitted)
            if alone or attempt.at is None:
                attempt.at, attempt.problem = (at, "") if at else (attempt.at, problem)

    def _read_time(self, text: str) -> tuple[datetime.datetime | None, str]:
        """Return a roster's time of submission in UTC: in ISO's order, or as Moodle writes it."""
        if (given := parse_timestamp(text)).at is not None:
            return (given.at if has_zone(text) else self._in_utc(given.at)), ""
        for form in _LOCAL_FORMS:
            with contextlib.suppress(ValueError):
                return self._in_utc(datetime.datetime.strptime(text.strip(), form)), ""
        said = f"the roster's time {text!r} is not clear{which_date(text)}"
        return None, f"{said}: write it as 2026-12-03 14:30:00 UTC"

    def _in_utc(self, at: datetime.datetime) -> datetime.datetime:
        """Return a time of the platform in UTC; of an hour that comes twice, the earlier."""
        local = at.replace(tzinfo=self.zone) if self.zone else at
        with contextlib.suppress(OverflowError, ValueError, OSError):  # the years 1 and 9999
            return local.astimezone(datetime.UTC).replace(tzinfo=None)
        return at

    def _store(self, student: Student, attempts: list[Attempt]) -> None:
        if len(attempts) > 1 and any(attempt.at is None for attempt in attempts):
            for attempt in attempts:
                why = attempt.problem or "several attempts, not all with a time"
                self._refuse(attempt, f"{why}: nobody knows which is the last, remove the others")
            return
        last, earlier = last_attempts(attempts)
        for attempt in earlier:
            self.not_taken |= dict.fromkeys(entry_paths(attempt), "is an earlier attempt")
        own_times = self.found.platform == "folder"
        stored = store(self.course, self.lesson, student.id, last, own_times)
        if last.late and last.at is None:
            stored.notes.append("marked late by Canvas")
        self.rows.append((student.id, student.called, stored))
        if stored.outcome == "not taken":
            self._refuse(last, "; ".join(stored.notes))

    def _print(self) -> None:
        counts = {}
        width = max((len(name) for name, *_ in self.rows), default=0)
        for name, called, stored in self.rows:
            counts[stored.outcome] = counts.get(stored.outcome, 0) + 1
            note = "; ".join(stored.notes)
            said = "" if called == name else f"{called}  "
            print(f"{name:<{width}}  {stored.outcome:<9}  {said}{note}".rstrip())
        if self.not_taken:
            print("\nnot taken:")
            for path, reason in sorted(self.not_taken.items()):
                print(f"  {path} {reason}")
        missing = self._missing()
        if missing:
            print("\non the roster, without a hand-in of this lesson:")
            for student in missing:
                print(f"  {student.id}  {student.called}".rstrip())
        if self.found.platform == "Canvas" and not any(a.at for a in self.found.attempts):
            print(
                "\nCanvas's archive has no times: lateness needs a roster with a column `submitted`"
            )
        order = ("taken", "replaced", "retimed", "unchanged", "not taken")
        total = ", ".join(f"{counts[outcome]} {outcome}" for outcome in order if outcome in counts)
        where = f"submitted/STUDENT/{self.lesson}/"
        print(f"\n{self.found.platform}: {total or 'nothing taken'} ({where})")

    def _missing(self) -> list[Student]:
        folder = self.course.root / "submitted"
        students = self.roster.students if self.roster else []
        return [s for s in students if not (folder / s.id / self.lesson).is_dir()]


def _is_folder_name(name: str) -> bool:
    odd = (
        not name or name.startswith(".") or "/" in name or "\\" in name or len(name.encode()) > 128
    )
    return not odd and name.isprintable()


def _read_zone(name: str | None) -> datetime.tzinfo | None:
    """Return the zone of the platform's times; None for that of this machine."""
    if name is None:
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        raise CourseError(f"--timezone {name} is not known: write it as Europe/Zurich") from None


def _write_names(course: Course, students: list[Student]) -> None:
    """Write names and addresses into the gradebook; what is there and not known here stays."""
    from proflab_course.grading.records.gradebook import Book

    with Book(course.gradebook) as book, book.transaction() as gradebook:
        for student in students:
            known = {"first_name": student.first, "last_name": student.last}
            known |= {"email": student.email, "lms_user_id": student.number}
            filled = {key: value for key, value in known.items() if value}
            gradebook.update_or_create_student(student.id, **filled)
