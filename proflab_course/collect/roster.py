"""Read a class list, and find the students on it by a platform's names and numbers.

A class list is Moodle's grading worksheet, a gradebook exported by Canvas or Brightspace, the
groups that Canvas exports, or a plain CSV with the columns that `nbgrader db student import` reads
(id, first_name, last_name, email).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from proflab_course.collect.attempts import Attempt
from proflab_course.collect.moodle_worksheet import (
    BLIND_NAMES,
    english_header,
    refuse_unknown_language,
)
from proflab_course.collect.platforms import ANONYMOUS
from proflab_course.course.csv_table import read_csv
from proflab_course.course.layout import CourseError
from proflab_course.course.words import few
from proflab_course.grading.limited_process import (
    Answer,
    CallFailed,
    TooMuchToRead,
    Unreadable,
    call_once,
)
from proflab_course.grading.limits import MB

# For each field the columns that may have it, best first; compared without case.
_COLUMNS = {
    "id": (
        "id number",
        "student_id",
        "sis login id",
        "login_id",
        "username",
        "orgdefinedid",
        "login",
        "id",
    ),
    "number": ("identifier", "canvas_id", "canvas_user_id", "lms_user_id"),
    "full": ("full name", "student", "name", "display name"),
    "first": ("first name", "first_name", "firstname"),
    "last": ("last name", "last_name", "lastname", "surname"),
    "email": ("email address", "email", "e-mail"),
    "submitted": ("last modified (submission)", "submitted", "submitted_at"),
    "group": ("group", "group_name", "team"),
}
# What a spreadsheet makes of a long number: the last digits of such an id are lost.
_ROUNDED = re.compile(r"\d[.,]?\d*[Ee]\+\d+", re.ASCII)
_ALSO = " ._-@+,'’·()"  # allowed in a student's id, besides letters and digits
_LONGEST_ID = 128  # bytes
_LARGEST = 16 * MB
NOT_THERE = "is not on the roster"


@dataclass(frozen=True)
class Student:
    """One line of a class list; empty strings for missing fields."""

    id: str
    first: str = ""
    last: str = ""
    email: str = ""
    number: str = ""
    submitted: str = ""
    group: str = ""

    @property
    def called(self) -> str:
        """The name for messages, or the id."""
        return " ".join(filter(None, [self.first, self.last])) or self.id


class Roster:
    """A class list; `match` finds the students of an attempt.

    of_moodle: its numbers are those of Moodle's participants, which no other platform uses, and its
    times those of one assignment. notes: sentences on what a person should look at.
    """

    def __init__(
        self, students: list[Student], of_moodle: bool = False, notes: Iterable[str] = ()
    ) -> None:
        self.students, self.of_moodle, self.notes = students, of_moodle, list(notes)

    @classmethod
    def read(cls, path: Path) -> Roster:
        """Read a CSV; raise CourseError if no column identifies students."""
        rows = _read_rows(path)
        names = english_header(rows[0]) if rows else []
        wanted = dict(_COLUMNS)
        if "student" in names:  # in Canvas's own file ID is Canvas's number
            wanted["number"] += ("id",)
        if "username" in names:  # in Brightspace's own file, whose ids are the usernames
            wanted["number"] += ("orgdefinedid",)
        places = {what: _place(path, names, columns) for what, columns in wanted.items()}
        of_moodle = "identifier" in names
        if not of_moodle and all(places[k] is None for k in ("full", "first", "last", "email")):
            refuse_unknown_language(path, rows)
        if places["id"] is None and places["number"] is None and places["email"] is None:
            known = ", ".join(_COLUMNS["id"])
            raise CourseError(f"{path} has no column that identifies students (such as {known})")
        cells = [{k: _cell(row, place) for k, place in places.items()} for row in rows[1:]]
        students = [_student(cell, of_moodle) for cell in cells if _is_student(cell)]
        ids = [student.id for student in students]
        if twice := sorted(one for one, count in Counter(ids).items() if count > 1):
            raise CourseError(
                f"{path} has the same id twice ({few(twice)}): give each student one of their own "
                "in a column student_id"
            )
        return cls(students, of_moodle, _rounded(path, ids))

    def match(self, attempt: Attempt, platform: str = "folder") -> tuple[list[Student], str]:
        """Return the student of an attempt, or all of a group; or none, with the reason."""
        if platform == "Canvas" and attempt.name == ANONYMOUS:
            reason = "Canvas has left out the name: end the anonymous grading, download again"
            return [], reason
        members = self._members(attempt) if platform in ("Moodle", "Canvas") else []
        if members:
            names = sorted({student.group for student in members})
            if len(names) > 1:
                return [], f"{attempt.name} may be the group {' or '.join(map(repr, names))}"
            return members, ""
        same, reason = self._same(attempt, platform)
        if len(same) == 1:
            return [self._timed(same[0], attempt, platform)], ""
        if same:
            alike = " and ".join(f"{s.called} ({s.id})" for s in same)
            number = f"number {attempt.number}" if attempt.number else "number"
            reason = f"{attempt.name} may be {alike}: give the {number} in the roster"
        return [], reason or f"{attempt.name} {NOT_THERE}"

    def _members(self, attempt: Attempt) -> list[Student]:
        """Return the members of the group with this name; Canvas adds the number of one of them."""
        name = _letters(attempt.name)
        return [s for s in self.students if name and _letters(s.group) == name]

    def _same(self, attempt: Attempt, platform: str) -> tuple[list[Student], str]:
        """Return the student with this number, login, address or name; number and name agree."""
        if attempt.number and self.of_moodle == (platform == "Moodle"):
            same = [s for s in self.students if attempt.number == s.number]
            fits = len(same) == 1 and _may_be_called(same[0], attempt.name)
            if platform == "Brightspace" and not fits:
                same = []  # its own number, which is not the OrgDefinedId of its gradebook
            elif same and not fits and len(same) == 1:
                other = f"{same[0].called} ({same[0].id})"
                return [], (
                    f"{attempt.name} has the number of {other}: for a group, give a roster with a "
                    "column `group`"
                )
            if same:
                return same, ""
        named = {attempt.name.lower(), *(alias.lower() for alias in attempt.aliases)}
        same = [s for s in self.students if named & {s.id.lower(), s.email}]
        if not same:
            names = {_letters(attempt.name), _in_order(attempt.name)}
            same = [s for s in self.students if names & _names_of(s)]
        if not same and platform == "folder":
            same = [s for s in self.students if _is_named_in(attempt.name, s)]
        return same, ""

    def _timed(self, student: Student, attempt: Attempt, platform: str) -> Student:
        """Return the student without the time of another assignment's worksheet."""
        foreign = platform != "Moodle" or student.number != attempt.number
        return replace(student, submitted="") if self.of_moodle and foreign else student


def _rounded(path: Path, ids: Iterable[str]) -> Iterator[str]:
    """Yield a sentence if ids are numbers that a spreadsheet has rounded, such as 2.02412E+11."""
    if found := [each for each in ids if _ROUNDED.fullmatch(each)]:
        what = f"{few(found)}: a spreadsheet has rounded numbers, so these are nobody's ids"
        yield f"{path}: {what}; export the list again, and do not save it in a spreadsheet"


def _may_be_called(student: Student, name: str) -> bool:
    """Return True if a word of a student's name is in `name`, or either name is missing."""
    given = _letters(name)
    words = [_letters(word) for word in re.split(r"[\s,-]+", f"{student.first} {student.last}")]
    telling = [word for word in words if len(word) > 2] or [word for word in words if word]
    return not telling or given in BLIND_NAMES or any(word in given for word in telling)


def _is_named_in(name: str, student: Student) -> bool:
    """Return True if a part of a longer name is a student's id, address or name: Lee_Ann_alee_47.

    Not for an id that could be any number, such as an attempt's or a year.
    """
    parts = _parts(name)
    given = [each for each in (student.id.casefold(), student.email) if each]
    telling = [each for each in given if len(each) >= (5 if each.isdecimal() else 3)]
    if any(f"_{each}_" in parts or f"_{each}@" in parts for each in telling):
        return True
    both = (f"{student.first} {student.last}", f"{student.last} {student.first}")
    return bool(student.first and student.last) and any(_parts(each) in parts for each in both)


def _parts(name: str) -> str:
    """Return the words of a name between underscores.

    >>> _parts("Copy of x - Ann Lee")
    '_copy_of_x_ann_lee_'
    """
    return re.sub(r"[\s,;()_]+(-[\s_]+)?", "_", f"_{name.casefold()}_")


def student_without_roster(attempt: Attempt, platform: str) -> Student:
    """Return the student of an attempt without a class list.

    Canvas's number is the same in all archives, while its names have no spaces; Moodle's number
    changes with each assignment, so its name is used. Other platforms give a login or an address.
    """
    if platform == "folder":
        return Student(attempt.name)
    first, _, last = attempt.name.rpartition(" ")
    if platform == "Canvas":
        last = "" if attempt.name == ANONYMOUS else attempt.name
        return Student(attempt.number, last=last, number=attempt.number)
    email = next((alias for alias in attempt.aliases if "@" in alias), "")
    login = attempt.aliases[0].partition("@")[0] if attempt.aliases else safe_id(attempt.name)
    if login == attempt.name:
        first = last = ""
    return Student(login, first, last, email, number=attempt.number)


def safe_id(name: str) -> str:
    """Return a name as a folder's name: letters and digits of any script, and -."""
    plain = re.sub(r"['’`´.]", "", unicodedata.normalize("NFC", name)).casefold()
    return re.sub(r"[^\w]+", "-", plain).strip("-")


def is_student_id(name: str) -> bool:
    """Return True for an id that every shell, spreadsheet and page reads as a name.

    >>> is_student_id("ann.lee"), is_student_id("-rf"), is_student_id("=cmd()")
    (True, False, False)
    """
    first = name[:1].isalnum()
    plain = all(c.isalnum() or unicodedata.category(c)[0] == "M" or c in _ALSO for c in name)
    return first and plain and name == name.strip() and len(name.encode()) <= _LONGEST_ID


def _read_rows(path: Path) -> list[list[str]]:
    """Return a table's rows; students choose the names in it, so a limited process reads it."""
    try:
        return call_once(_answer_rows, str(path))[0]
    except (TooMuchToRead, CallFailed) as error:
        raise CourseError(f"{path} cannot be read ({error.reason}): is it a class list?") from None
    except Unreadable as error:
        raise CourseError(error.reason) from None


def _answer_rows(path: str) -> Answer:
    try:
        return read_csv(Path(path), _LARGEST).rows, []
    except CourseError as error:
        raise Unreadable(str(error)) from None


def _place(path: Path, names: list[str], columns: tuple[str, ...]) -> int | None:
    column = next((column for column in columns if column in names), None)
    if column is not None and names.count(column) > 1:
        raise CourseError(f"{path} has two columns called {column!r}: remove the one not meant")
    return None if column is None else names.index(column)


def _cell(row: list[str], place: int | None) -> str:
    return row[place].strip() if place is not None and place < len(row) else ""


def _is_student(cell: dict[str, str]) -> bool:
    """Return False for empty lines, and for the line of Canvas that holds the points possible."""
    named = any(cell[what] for what in ("id", "number", "full", "first", "last", "email"))
    only_points = cell["full"].lower().startswith("points possible")
    return named and not only_points and "student, test" not in cell["full"].lower()


def _student(cell: dict[str, str], of_moodle: bool) -> Student:
    first, last = cell["first"], cell["last"]
    if cell["full"] and not (first or last):
        last, comma, first = (part.strip() for part in cell["full"].partition(","))
        if not comma:
            first, _, last = cell["full"].rpartition(" ")
    # Brightspace writes # before names, so that spreadsheets do not convert them.
    own, number = cell["id"].lstrip("#"), cell["number"].lstrip("#")
    if of_moodle:  # "Participant 4711", new in each assignment: an id only without another
        own = own or cell["email"].partition("@")[0] or safe_id(number)
        number = re.sub(r"\D", "", number)
    own = own or number or cell["email"].partition("@")[0]
    return Student(
        own, first, last, cell["email"].lower(), number, cell["submitted"], cell["group"]
    )


@functools.lru_cache(10_000)
def _names_of(student: Student) -> set[str]:
    """Return the forms in which a platform may write a student's name, letters only."""
    both = (f"{student.first}{student.last}", f"{student.last}{student.first}")
    written = {_letters(name) for name in both} | {_in_order(f"{student.first} {student.last}")}
    return {_letters(student.id), *written} - {""}


def _letters(name: str) -> str:
    """Return the letters and digits of a name, without accents and case: müller is muller."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in plain if letter.isalnum())


def _in_order(name: str) -> str:
    """Return the words of a name in alphabetical order, so that Doe, Jane is Jane Doe."""
    words = sorted(filter(None, map(_letters, re.split(r"[\s,]+", name))))
    return f"={' '.join(words)}" if words else ""
