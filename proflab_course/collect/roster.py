"""Read a class list, and tell which student on it a platform's name or number means.

Taken are Moodle's grading worksheet, the gradebooks that Canvas and Brightspace export, and a plain
CSV with the columns that `nbgrader db student import` reads (id, first_name, last_name, email).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from proflab_course.collect.platforms import ANONYMOUS, Attempt
from proflab_course.course.csv_table import read_csv
from proflab_course.course.layout import CourseError

# For each thing that is wanted, the columns that hold it, best first; compared without case.
_COLUMNS = {
    "id": ("id number", "student_id", "sis login id", "username", "orgdefinedid", "login", "id"),
    "number": ("identifier", "canvas_id", "lms_user_id"),
    "full": ("full name", "student", "name", "display name"),
    "first": ("first name", "first_name", "firstname"),
    "last": ("last name", "last_name", "lastname", "surname"),
    "email": ("email address", "email", "e-mail"),
    "submitted": ("last modified (submission)", "submitted", "submitted_at"),
}


@dataclass(frozen=True)
class Student:
    """One line of a class list; empty strings where it says nothing."""

    id: str
    first: str = ""
    last: str = ""
    email: str = ""
    number: str = ""
    submitted: str = ""

    @property
    def called(self) -> str:
        """The name to be shown, or the id."""
        return " ".join(filter(None, [self.first, self.last])) or self.id


class Roster:
    """A class list; `match` finds the student whose attempt it is.

    of_moodle: its numbers are Moodle's participants', which mean nothing elsewhere.
    """

    def __init__(self, students: list[Student], of_moodle: bool = False) -> None:
        self.students, self.of_moodle = students, of_moodle

    @classmethod
    def read(cls, path: Path) -> Roster:
        """Read a CSV; CourseError where it has no column that identifies students."""
        rows = read_csv(path).rows
        names = [name.strip().lower() for name in rows[0]] if rows else []
        wanted = dict(_COLUMNS)
        if "student" in names:  # Canvas's own file: there ID is its number
            wanted["number"] += ("id",)
        places = {what: _place(path, names, columns) for what, columns in wanted.items()}
        if places["id"] is None and places["number"] is None and places["email"] is None:
            known = ", ".join(_COLUMNS["id"])
            raise CourseError(f"{path} has no column that identifies students (such as {known})")
        cells = [{k: _cell(row, place) for k, place in places.items()} for row in rows[1:]]
        students = [_student(cell) for cell in cells if _is_student(cell)]
        ids = [student.id for student in students]
        if twice := sorted({one for one in ids if ids.count(one) > 1}):
            raise CourseError(
                f"{path} has the same id twice ({', '.join(twice)}): give each student one of "
                "their own in a column student_id"
            )
        return cls(students, of_moodle="identifier" in names)

    def match(self, attempt: Attempt, platform: str = "folder") -> tuple[Student | None, str]:
        """Return the student of an attempt; None and the reason if that is nobody, or not clear."""
        same = []
        if attempt.number and self.of_moodle == (platform == "Moodle"):
            same = [s for s in self.students if attempt.number == s.number]
        named = attempt.name.lower()
        same = same or [s for s in self.students if named in (s.id.lower(), s.email)]
        if not same:
            names = {_letters(attempt.name), _in_order(attempt.name)}
            same = [s for s in self.students if names & _names_of(s)]
        if len(same) == 1:
            return same[0], ""
        if not same and platform == "Canvas" and attempt.name == ANONYMOUS:
            return None, "Canvas has left out the name: end the anonymous grading, download again"
        if not same:
            return None, f"{attempt.name} is not on the roster"
        alike = " and ".join(f"{s.called} ({s.id})" for s in same)
        return None, f"{attempt.name} may be {alike}: give the number in the roster"


def student_without_roster(attempt: Attempt, platform: str) -> Student:
    """Return the student that an attempt names by itself.

    Canvas's number is the same in all its archives and the name is not (it has no spaces); Moodle's
    is another for each assignment, so there the name is taken.
    """
    if platform == "folder":
        return Student(attempt.name)
    first, _, last = attempt.name.rpartition(" ")
    if platform == "Canvas":
        last = "" if attempt.name == ANONYMOUS else attempt.name
        return Student(attempt.number, last=last, number=attempt.number)
    return Student(safe_id(attempt.name), first, last, number=attempt.number)


def safe_id(name: str) -> str:
    """Return a name as it can be that of a folder: letters and digits of any script, and -."""
    plain = re.sub(r"['’`´.]", "", unicodedata.normalize("NFC", name)).casefold()
    return re.sub(r"[^\w]+", "-", plain).strip("-")


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


def _student(cell: dict[str, str]) -> Student:
    first, last = cell["first"], cell["last"]
    if cell["full"] and not (first or last):
        last, comma, first = (part.strip() for part in cell["full"].partition(","))
        if not comma:
            first, _, last = cell["full"].rpartition(" ")
    # Brightspace writes # before names, so that a spreadsheet leaves them alone.
    own, number = cell["id"].lstrip("#"), cell["number"]
    if "articipant" in number:  # Moodle's, another for each assignment: the last resort for an id
        own = own or cell["email"].partition("@")[0] or safe_id(number)
        number = re.sub(r"\D", "", number)
    own = own or number or cell["email"].partition("@")[0]
    return Student(own, first, last, cell["email"].lower(), number, cell["submitted"])


@functools.lru_cache(10_000)
def _names_of(student: Student) -> set[str]:
    """Return the ways in which a platform may write a student's name, letters only."""
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
