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
from proflab_course.course.csv_table import Foreign, csv_text, read_csv
from proflab_course.course.layout import CourseError
from proflab_course.course.words import few
from proflab_course.export.columns import END, IDENTITY, Wanted, find_column

# Columns in which a student's id is looked for, the likeliest first.
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


@dataclass(frozen=True)
class Points:
    """One student's points. grade: None if a mark by hand is missing.

    also: other names of the student, such as an address. again: whether the essay was handed in
    again after it was marked.
    """

    grade: float | None
    also: tuple[str, ...] = ()
    again: bool = False


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
    platform: str, path: Path, grades: Mapping[str, Points], wanted: Wanted, column: str | None
) -> Filled:
    """Return the platform's file with the students' grades in the column of what is exported.

    column: its name or a part of it; None for the column that says what is exported. Raises
    CourseError if the file is not the platform's, has no such column or several, if a grade is
    above the platform's maximum, or if no student with a grade is in it.
    """
    rows, header, delimiter = _read(platform, path)
    target = find_column(platform, path, rows, header, wanted, column)
    kept = [i for i, name in enumerate(header) if _is_kept(platform, name, i == target)]
    head: list[str] = [Foreign(rows[0][i]) for i in kept]
    result, left = [head], dict(grades)
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
        result.append([_kept_cell(platform, row[i]) for i in kept])
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
    wanted = IDENTITY[platform][:2] or ("Identifier", "Grade")
    if not set(wanted) <= set(header):
        if platform == "moodle":
            refuse_unknown_language(path, rows)
        columns = " and ".join(wanted)
        raise CourseError(f"{path} is not a grade file of {platform.title()}: it lacks {columns}")
    return rows, header, table.delimiter


def _is_kept(platform: str, name: str, is_target: bool) -> bool:
    """Return True for a column that the platform needs for the import; others are left out."""
    if platform == "moodle":
        return True
    return is_target or name in IDENTITY[platform] or name == END


def _kept_cell(platform: str, cell: str) -> str:
    """Return a cell that others wrote: Moodle stores its comments, so there it stays as it is."""
    return Foreign(cell) if platform == "moodle" else cell


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
