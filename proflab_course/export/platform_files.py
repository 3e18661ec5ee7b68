"""Fill in the grade file that a learning platform has exported; keep its other columns.

Formats, each as its platform documents it:
    Canvas       Gradebook › Export: `Student, ID, SIS User ID, SIS Login ID, Section`, and a column
                 `NAME (number)` for each assignment; the first row below may say "Points Possible"
                 and, of Canvas's own sums, "(read only)"
    Moodle       Assignment › Download grading worksheet: `Identifier` ("Participant 4711"),
                 `Full name, Email address, Grade, Maximum Grade, …`, in the language of Moodle
    Brightspace  Grades › Export: `OrgDefinedId, Username`, columns `NAME Points Grade <… MaxPoints:
                 100 …>`, `End-of-Line Indicator`
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from proflab_course.collect.moodle_worksheet import english_header, refuse_unknown_language
from proflab_course.collect.roster import safe_id
from proflab_course.course.csv_table import csv_text, harmless, read_csv
from proflab_course.course.layout import CourseError
from proflab_course.course.words import few

_IDENTITY = {
    "canvas": ("Student", "ID", "SIS User ID", "SIS Login ID", "Root Account", "Section"),
    "moodle": (),
    "brightspace": ("OrgDefinedId", "Username", "Last Name", "First Name", "Email"),
}
_IDS = {
    "canvas": ("SIS Login ID", "SIS User ID", "ID"),
    "moodle": ("ID number", "Username", "Email address", "Identifier"),
    "brightspace": ("Username", "OrgDefinedId", "Email"),
}
_MOODLE_COLUMNS = (
    "Identifier",
    "Full name",
    "ID number",
    "Username",
    "Email address",
    "Grade",
    "Maximum Grade",
)
_END = "End-of-Line Indicator"
# Canvas's sums, which it does not import, and the number that it adds to an assignment's name.
_SUMS = re.compile(r"(.*\b)?(Current|Final|Override) (Score|Grade|Points|Status)")
_NUMBERED = re.compile(r"(?P<name>.*\S)\s*\(\d+\)")
_BRIGHTSPACE_KIND = re.compile(r"\s*\w+ Grade <[^<>]*>$")


@dataclass(frozen=True)
class Points:
    """One student's points. grade: None if a mark by hand is missing.

    also: other names of the student, such as an address.
    """

    grade: float | None
    also: tuple[str, ...] = ()


@dataclass
class Filled:
    """A filled file's text, and the students without a grade or without a mark.

    absent: students with a grade who have no line in it, such as those who left the course.
    """

    text: str
    filled: int
    without: list[str]
    unmarked: list[str]
    absent: list[str]


def fill(
    platform: str, path: Path, grades: Mapping[str, Points], lesson: str, column: str | None = None
) -> Filled:
    """Return the platform's file with the students' grades in the lesson's column.

    column: its name or a part of it; by default the column that names the lesson. Raises
    CourseError if the file is not the platform's, has no such column or several, if a grade is
    above the platform's maximum, or if no student with a grade is in it.
    """
    rows, header, delimiter = _read(platform, path)
    target = _find_column(platform, path, rows, header, lesson, column)
    kept = [i for i, name in enumerate(header) if _is_kept(platform, name, i == target)]
    result, left = [[rows[0][i] for i in kept]], dict(grades)
    filled, without, unmarked = 0, [], []
    names = Counter(name for row in rows[1:] for name in _names(header, row))
    for row in rows[1:]:
        row = [*row, *[""] * (len(header) - len(row))]
        if _is_student(platform, header, row):
            own_names = [name for name in _names(header, row) if names[name] == 1]
            student = _student_of(platform, header, row, left, own_names)
            name = row[header.index("Student") if platform == "canvas" else 0]
            points = left.pop(student) if student else None
            if student is None or points is None:
                without.append(name)
            elif points.grade is None:
                unmarked.append(student)
            else:
                _check_maximum(platform, path, header, row, target, student, points.grade)
                row[target] = f"{points.grade:g}"
                filled += 1
        result.append([harmless(row[i]) for i in kept])
    if left and len(left) == len(grades):
        raise CourseError(
            f"{path} has no line for {few(sorted(left))}: export it again, or correct the ids"
        )
    text = csv_text(result, delimiter=delimiter)
    return Filled(text, filled, without, unmarked, sorted(left))


def _read(platform: str, path: Path) -> tuple[list[list[str]], list[str], str]:
    """Return the rows, the columns' names (Moodle's in English), and the delimiter."""
    table = read_csv(path)
    rows = table.rows
    header = rows[0] if rows else []
    if platform == "moodle":
        english = {name.lower(): name for name in _MOODLE_COLUMNS}
        header = [english.get(name, name) for name in english_header(header)]
    wanted = _IDENTITY[platform][:2] or ("Identifier", "Grade")
    if not set(wanted) <= set(header):
        if platform == "moodle":
            refuse_unknown_language(path, rows)
        columns = " and ".join(wanted)
        raise CourseError(f"{path} is not a grade file of {platform.title()}: it lacks {columns}")
    return rows, header, table.delimiter


def _find_column(
    platform: str,
    path: Path,
    rows: list[list[str]],
    header: list[str],
    lesson: str,
    column: str | None,
) -> int:
    if platform == "moodle":
        return header.index("Grade")
    there = _assignments(platform, rows)
    found = [name for name in there if column == name]
    found = found or [name for name in there if _is_named(name, column or lesson)]
    if not found and column is None:
        found = [name for name in there if _has_number(name, lesson)]
    if len(found) > 1 and len(set(found)) == 1:
        raise CourseError(f"{path} has {len(found)} columns called {found[0]!r}: rename one there")
    if len(found) != 1:
        many = "several columns" if found else "no column"
        choice = few([repr(name) for name in found or there]) or "none"
        raise CourseError(
            f"{path} has {many} for {column or lesson}: choose one with --column ({choice})"
        )
    return header.index(found[0])


def _assignments(platform: str, rows: list[list[str]]) -> list[str]:
    """Return the columns of assignments that the platform imports."""
    own = [*_IDENTITY[platform], _END, "Integration ID"]
    below = [*(rows[1] if len(rows) > 1 else []), *[""] * len(rows[0])]
    columns = zip(rows[0], below, strict=False)
    there = [name for name, first in columns if "(read only)" not in f"{name} {first}"]
    there = [name for name in there if name not in own]
    if platform != "canvas":
        return there
    there = [name for name in there if not _SUMS.fullmatch(name)]
    return [name for name in there if _NUMBERED.fullmatch(name)] or there


def _own_name(column: str) -> str:
    """Return an assignment's name without the platform's additions."""
    numbered = _NUMBERED.fullmatch(column)
    return numbered["name"] if numbered else _BRIGHTSPACE_KIND.sub("", column)


def _is_named(column: str, wanted: str) -> bool:
    return wanted in column or _squeezed(wanted) in _squeezed(_own_name(column))


def _has_number(column: str, lesson: str) -> bool:
    """Return True for "Lesson 01", the word and the number; a number alone may be a quiz's."""
    words = re.findall(r"[^\W\d_]+|\d+", _own_name(column).casefold())
    numbers = [int(word) for word in words if word.isdecimal()]
    return "lesson" in words and numbers == [int(lesson[:2])]


def _squeezed(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _is_kept(platform: str, name: str, is_target: bool) -> bool:
    """Return True for a column that the platform needs for the import; others are left out."""
    if platform == "moodle":
        return True
    return is_target or name in _IDENTITY[platform] or name == _END


def _is_student(platform: str, header: list[str], row: list[str]) -> bool:
    if platform != "canvas":
        return True
    return bool(row[header.index("ID")].strip())


def _student_of(
    platform: str, header: list[str], row: list[str], left: Mapping[str, Points], names: list[str]
) -> str | None:
    """Return the student of a line by the first of its ids that belongs to one; else by name.

    The course's ids go before other names of students, because a platform's number may happen to
    be another student's id.
    """
    own = {student.casefold(): student for student in left}
    other = {name.casefold(): student for student in left for name in left[student].also}
    cells = {name: row[header.index(name)].strip() for name in _IDS[platform] if name in header}
    if "Identifier" in cells:  # "Participant 4711", in any language
        cells["Identifier"] = re.sub(r"^\D+", "", cells["Identifier"])
    ids = [cell.removeprefix("#").casefold() for cell in cells.values()]
    found = [own.get(each) for each in ids] + [other.get(each) for each in ids]
    return next(filter(None, [*found, *map(own.get, names)]), None)


def _names(header: list[str], row: list[str]) -> list[str]:
    """Return a line's name as the id that `proflab collect` makes without a class list."""
    cells = dict(zip(header, row, strict=False))
    first_last = f"{cells.get('First Name', '')} {cells.get('Last Name', '')}"
    names = (cells.get("Full name", ""), first_last, cells.get("Identifier", ""))
    return [found for found in map(safe_id, names) if found]


def _check_maximum(
    platform: str,
    path: Path,
    header: list[str],
    row: list[str],
    target: int,
    student: str,
    grade: float,
) -> None:
    """Raise CourseError for a grade above the platform's maximum, which it would refuse or cut."""
    if platform == "moodle":
        limit = row[header.index("Maximum Grade")] if "Maximum Grade" in header else ""
    else:
        limit = (re.findall(r"MaxPoints:([\d.]+)", header[target]) or [""])[0]
    try:
        most = float(limit.replace(",", "."))
    except ValueError:
        return
    if grade > most:
        raise CourseError(
            f"{student} has {grade:g} points, and {path} allows {most:g}: "
            "raise the maximum on the platform and export again"
        )
