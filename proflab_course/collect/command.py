"""`proflab collect`: sort a class's hand-ins from a platform's archive into submitted/."""

from __future__ import annotations

import argparse
import datetime
import functools
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from proflab_course.collect.attempts import Attempt, Sorted
from proflab_course.collect.entries import Source
from proflab_course.collect.lesson_stamps import refuse_other_lesson
from proflab_course.collect.platforms import FORMS, PLATFORMS, is_group_name, sort_entries
from proflab_course.collect.roster import (
    NOT_THERE,
    Roster,
    Student,
    is_student_id,
    student_without_roster,
)
from proflab_course.collect.store import Stored, entry_paths, last_attempts, remove_incoming, store
from proflab_course.collect.times import Clock, read_platform_time, unclear_time
from proflab_course.course.csv_table import harmless
from proflab_course.course.dates import FILE
from proflab_course.course.iso_time import has_zone
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.look_alikes import notes_on_look_alikes
from proflab_course.course.words import few
from proflab_course.grading.lock import only_grading
from proflab_course.grading.submissions.timestamp import parse_timestamp, read_timestamp


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "source",
        metavar="ARCHIVE_OR_FOLDER",
        type=Path,
        help="what you downloaded from the platform, packed or unpacked, or a folder of your own",
    )
    parser.add_argument("lesson", metavar="LESSON", help="01_parameters, or 01")
    parser.add_argument("--roster", metavar="CSV", type=Path, help="the class list")
    parser.add_argument(
        "--timezone",
        metavar="ZONE",
        help=f"the time zone of the platform's times, as Europe/Zurich (default: that of {FILE})",
    )
    parser.add_argument(
        "--platform",
        choices=PLATFORMS,
        help="what wrote the archive, if its outermost names do not tell",
    )


def run(arguments: argparse.Namespace) -> int:
    """Collect; return 1 if a hand-in was not taken."""
    course = Course.find()
    lesson = course.lesson(arguments.lesson, "source")
    zone = Clock.chosen(course, arguments.timezone)
    roster = Roster.read(arguments.roster) if arguments.roster else None
    lessons = course.lessons("source")
    with closing(Source(arguments.source)) as source:
        found = _sorted(source, lesson, set(lessons) - {lesson}, arguments.platform)
        refuse_other_lesson(found.attempts, lesson, lessons, source.path)
        # A grading must not read what is half stored.
        with only_grading(course, lesson):
            return _Collecting(course, lesson, source, found, roster, zone).run()


def _sorted(source: Source, lesson: str, others: Collection[str], platform: str | None) -> Sorted:
    """Return the attempts in an archive; raise CourseError if there are none."""
    found = sort_entries(source.entries, lesson, others, platform, source.path)
    found.left_out |= source.refused
    twice = dict.fromkeys(source.twice, "is there twice: the earlier one does not count")
    found.passed_over |= twice
    if not found.attempts:
        known = few([f"{path} {reason}" for path, reason in found.left_out.items()])
        said = f"holds nothing that can be graded: {known}" if known else "holds no hand-in"
        raise CourseError(f"{source.path} {said}")
    return found


class _Collecting:
    """One run of the command, with the rows of its table: hand-ins taken and not taken."""

    def __init__(
        self,
        course: Course,
        lesson: str,
        source: Source,
        found: Sorted,
        roster: Roster | None,
        clock: Clock,
    ) -> None:
        self.course, self.lesson, self.source, self.found = course, lesson, source, found
        self.roster, self.clock = roster, clock
        self.not_taken = found.passed_over | found.left_out
        self.rows: list[tuple[str, str, Stored]] = []
        self.all_taken = not found.left_out
        self.untimed: list[str] = []
        self.any_time = False  # of submission, from the archive or the roster

    def run(self) -> int:
        """Store every student's last attempt, and print the fate of all files."""
        remove_incoming(self.course, self.lesson)
        students: dict[str, Student] = {}
        theirs: dict[str, list[Attempt]] = {}
        unknown: list[str] = []
        for attempt in self.found.attempts:
            found, reason = self._students_of(attempt)
            if not found:
                unknown += [attempt.name] if reason.endswith(NOT_THERE) else []
                self._refuse(attempt, reason)
            for student in found:
                key = student.id.casefold()  # one folder on file systems without case
                students[key] = student
                # A copy, for each member of a group may have a time of submission of their own.
                theirs.setdefault(key, []).append(replace(attempt))
        # A single one may be a stranger; where nobody is known, the roster or the form is wrong.
        if len(unknown) == len(self.found.attempts) > 1:
            self._refuse_all(unknown)
        for key, attempts in list(theirs.items()):
            if len({attempt.owner for attempt in attempts}) > 1:
                self._refuse_namesakes(students[key], theirs.pop(key))
        for key in tqdm(sorted(theirs), "collecting", disable=None, leave=False):
            for attempt in theirs[key]:
                self._set_time(attempt, students[key], alone=len(theirs[key]) == 1)
            self._store(students[key], theirs[key])
        known = self.roster.students if self.roster else [students[key] for key in sorted(theirs)]
        _write_names(self.course, [student for student in known if is_student_id(student.id)])
        self._print()
        return 0 if self.all_taken and not self.untimed else 1

    def _refuse_all(self, names: list[str]) -> None:
        """Raise CourseError where the roster knows nobody: the form of the names, or the roster."""
        raise CourseError(
            f"none of the {len(names)} names in the archive ({few(sorted(names))}) is on the "
            f"roster: give that of this class, or name what was handed in {FORMS}"
        )

    def _refuse_namesakes(self, student: Student, attempts: list[Attempt]) -> None:
        """Refuse attempts of several names or numbers for one student, because one is another's."""
        numbers = sorted({attempt.number for attempt in attempts})
        if len(numbers) > 1:  # several people on the platform
            who = f"several students are called {student.called} ({', '.join(numbers)})"
            what = "with their numbers" if self.roster else "them apart"
            reason = f"{who}: give a --roster that tells {what}"
        else:
            names = " and ".join(sorted({repr(attempt.owner) for attempt in attempts}))
            reason = f"{names} would both be the student {student.id}: rename one"
        for attempt in attempts:
            self._refuse(attempt, reason)

    def _refuse(self, attempt: Attempt, reason: str) -> None:
        self.all_taken = False
        self.not_taken |= dict.fromkeys(entry_paths(attempt), f"({reason})")

    def _students_of(self, attempt: Attempt) -> tuple[list[Student], str]:
        """Return the students of an attempt, one or a group's members; or the reason for none."""
        platform = self.found.platform
        if self.roster is not None:
            found, reason = self.roster.match(attempt, platform)
        elif self._is_of_groups:
            return [], "these are hand-ins of groups: give a --roster with a column `group`"
        else:
            found, reason = [student_without_roster(attempt, platform)], ""
        if odd := [student.id for student in found if not is_student_id(student.id)]:
            return [], (
                f"{odd[0]!r} cannot be a student's id: let it begin with a letter or a digit, and "
                "have no signs that a shell, a spreadsheet or a file's path gives a meaning"
            )
        return found, reason

    @functools.cached_property
    def _is_of_groups(self) -> bool:
        """Return True if an archive seems to be of groups: by a name, or without Moodle's numbers.

        In such an archive students without a group cannot be told from groups.
        """
        platform, attempts = self.found.platform, self.found.attempts
        if platform not in ("Moodle", "Canvas"):
            return False
        return any(is_group_name(a.name) or not a.number for a in attempts)

    def _set_time(self, attempt: Attempt, student: Student, alone: bool) -> None:
        """Convert an attempt's time to UTC; prefer the roster's time of submission."""
        if attempt.at is not None:
            attempt.at, attempt.odd = self.clock.in_utc(attempt.at)
        if student.submitted and student.submitted != "-":  # as Moodle writes no time
            # A roster has one time for each student: of several attempts nobody knows whose it is.
            at, odd = self._read_time(student.submitted)
            if alone and at:
                attempt.at, attempt.odd, attempt.problem = at, odd, ""
            elif alone:
                attempt.problem = unclear_time(student.submitted)

    def _read_time(self, text: str) -> tuple[datetime.datetime | None, str]:
        """Return a roster's time of submission in UTC, from ISO order or Moodle's form.

        It comes with what is odd about it.
        """
        at = parse_timestamp(text).at
        if at is not None and has_zone(text):
            return at, ""
        at = at or read_platform_time(text)
        return self.clock.in_utc(at) if at else (None, "")

    def _store(self, student: Student, attempts: list[Attempt]) -> None:
        if len(attempts) > 1 and any(attempt.at is None for attempt in attempts):
            for attempt in attempts:
                why = attempt.problem or "several attempts, not all with a time"
                self._refuse(attempt, f"{why}: nobody knows which is the last, remove the others")
            return
        last, earlier = last_attempts(attempts)
        self.any_time |= last.at is not None
        for attempt in earlier:
            self.not_taken |= dict.fromkeys(entry_paths(attempt), "is an earlier attempt")
        own_times = self.found.platform == "folder"
        stored = store(self.course, self.lesson, student.id, last, self.source, own_times)
        if last.late and last.at is None:
            stored.notes.append("marked late by Canvas")
        if last.odd and last.at:
            stored.notes.append(f"{last.odd}: {self.clock.dates.shown(last.at)} was taken")
        self.rows.append((student.id, student.called, stored))
        self.all_taken &= not stored.lost
        if stored.outcome == "not taken":
            self._refuse(last, "; ".join(stored.notes))
        elif self.found.no_times and self._time_stored(student) is None:
            self.untimed.append(student.id)

    def _time_stored(self, student: Student) -> datetime.datetime | None:
        return read_timestamp(self.course.root / "submitted" / student.id / self.lesson).at

    def _print(self) -> None:
        counts: dict[str, int] = {}
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
        if self.found.platform == "Canvas" and not self.any_time:
            print(
                "\nCanvas's archive has no times: lateness needs a roster with a column `submitted`"
            )
        if self.untimed:
            print(
                "\nThe archive has no times of submission, only those of the download, so no time "
                f"is known of {few(self.untimed)}: give Moodle's grading worksheet of this "
                "assignment with --roster"
            )
        taken = {name for name, *_ in self.rows}
        there = {path.name for path in (self.course.root / "submitted").glob("*/")}
        listed = {student.id for student in self.roster.students} if self.roster else set()
        for sentence in notes_on_look_alikes(taken | there | listed, among=taken):
            print(f"\nnote: {sentence}")
        order = ("taken", "replaced", "retimed", "unchanged", "not taken")
        total = ", ".join(f"{counts[outcome]} {outcome}" for outcome in order if outcome in counts)
        where = f"submitted/STUDENT/{self.lesson}/"
        print(f"\n{self.found.platform}: {total or 'nothing taken'} ({where})")
        for note in self._notes():
            print(f"note: {note}")

    def _notes(self) -> Iterator[str]:
        """Yield how times and ids were read, and how the class stands to the due date."""
        from proflab_course.grading.records.deadline import read_deadline
        from proflab_course.grading.records.gradebook import Book

        if self.clock.used:
            yield self.clock.told
        yield from self.roster.notes if self.roster else ()
        handed = {
            folder.parent.name: read_timestamp(folder).at
            for folder in sorted((self.course.root / "submitted").glob(f"*/{self.lesson}"))
        }
        if handed:
            with Book(self.course.gradebook) as book:
                yield from read_deadline(book, self.lesson, self.clock.dates, handed).told

    def _missing(self) -> list[Student]:
        folder = self.course.root / "submitted"
        students = self.roster.students if self.roster else []
        return [s for s in students if not (folder / s.id / self.lesson).is_dir()]


def _write_names(course: Course, students: list[Student]) -> None:
    """Write names and addresses into the gradebook; keep those that the class list lacks."""
    from proflab_course.grading.records.gradebook import Book

    with Book(course.gradebook) as book, book.transaction() as gradebook:
        for student in students:
            known = {"first_name": student.first, "last_name": student.last}
            known |= {"email": student.email, "lms_user_id": student.number}
            # Students choose their names, which `nbgrader export` writes into a CSV as they are.
            filled = {key: harmless(value) for key, value in known.items() if value}
            gradebook.update_or_create_student(student.id, **filled)
