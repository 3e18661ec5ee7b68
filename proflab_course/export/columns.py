"""Find the column of a platform's file that takes what is exported, and no other.

A lesson's grades, what features export of it, such as the marks of its viva, and the sum of the
term each have a column of their own. Without one nothing is written: the column of a lesson holds
nothing but its grades.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.features import Column, features
from proflab_course.course.layout import CourseError
from proflab_course.course.words import few

TERM = "term"

# Columns that say who somebody is, so that what is left are assignments.
IDENTITY = {
    "canvas": ("Student", "ID", "SIS User ID", "SIS Login ID", "Root Account", "Section"),
    "moodle": (),
    "brightspace": ("OrgDefinedId", "Username", "Last Name", "First Name", "Email"),
}
END = "End-of-Line Indicator"  # Brightspace asks for it in a file to import
# Canvas's sums, which it does not import, and the number that it adds to an assignment's name.
_SUMS = re.compile(r"(.*\b)?(Current|Final|Override) (Score|Grade|Points|Status)")
_NUMBERED = re.compile(r"(?P<name>.*\S)\s*\(\d+\)")
# Brightspace's, such as "Essay Points Grade <Numeric MaxPoints:10>".
_BRIGHTSPACE_KIND = re.compile(r"\s*\w+ Grade <[^<>]*>$")


@dataclass(frozen=True)
class Wanted:
    """Say what to export. lesson: its name, or `TERM`; part: None for the grades.

    lessons: all of the course, whose grades have columns, too.
    """

    lesson: str
    part: Column | None = None
    lessons: tuple[str, ...] = ()

    @property
    def is_grades(self) -> bool:
        """Return True for a lesson's grades."""
        return self.lesson != TERM and not self.part

    @property
    def called(self) -> str:
        """Return what a message calls it."""
        if self.lesson == TERM:
            return "the term"
        return f"the {self.part.called} of {self.lesson}" if self.part else self.lesson

    @property
    def ending(self) -> str:
        """Return the end of the filled file's name, so that no export takes another's place."""
        if self.lesson == TERM:
            return f"_{TERM}_filled"
        return f"_{self.lesson[:2]}_{self.part.name}_filled" if self.part else "_filled"


def parts() -> list[Column]:
    """Return what can be exported of a lesson beside its grades."""
    return [column for feature in features() for column in feature.columns()]


def find_column(
    platform: str,
    path: Path,
    rows: Sequence[Sequence[str]],
    header: Sequence[str],
    wanted: Wanted,
    chosen: str | None,
) -> int:
    """Return the place of the column for what is exported.

    header: the columns' names, Moodle's in English. chosen: a column's name or a part of it. Raises
    CourseError, with the names that the file has, if there is no such column, or several, or if the
    chosen one is that of a lesson's grades and something else is exported.
    """
    if platform == "moodle":
        return _moodle_column(path, rows[0], header, wanted, chosen)
    there = _assignments(platform, rows)
    grades = {} if wanted.is_grades else _columns_of_grades(there, wanted.lessons)
    if chosen is None:
        found = _columns_of(there, wanted)
    else:
        found = [name for name in there if name == chosen]
        found = found or [name for name in there if _is_named(name, chosen)]
    if len(found) == 1 and found[0] in grades:
        raise CourseError(
            f"{path}: {found[0]!r} is the column of the grades of {grades[found[0]]}, not of "
            f"{wanted.called}: choose another one with --column"
        )
    if len(found) > 1 and len(set(found)) == 1:
        raise CourseError(f"{path} has {len(found)} columns called {found[0]!r}: rename one there")
    if len(found) != 1:
        many = "several columns" if found else "no column"
        others = found or [name for name in there if name not in grades]
        choice = f"choose one with --column ({few([repr(name) for name in others])})"
        add = "add one on the platform and export its file again"
        todo = choice if found else f"{choice}, or {add}" if others else add
        raise CourseError(f"{path} has {many} for {chosen or wanted.called}: {todo}")
    return list(header).index(found[0])


def _moodle_column(
    path: Path,
    own_header: Sequence[str],
    header: Sequence[str],
    wanted: Wanted,
    chosen: str | None,
) -> int:
    """Return the worksheet's one column of grades, which is that of one assignment."""
    place = list(header).index("Grade")
    name = own_header[place].strip()
    if chosen is not None and chosen not in (name, "Grade"):
        raise CourseError(f"{path} has no column for {chosen}: its only one is {name!r}")
    if chosen is None and not wanted.is_grades:
        raise CourseError(
            f"{path} has only the column {name!r}, of one assignment: download the worksheet of an "
            f"assignment for {wanted.called}, and add --column {name}"
        )
    return place


def _assignments(platform: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the columns of assignments that the platform imports."""
    own = [*IDENTITY[platform], END, "Integration ID"]
    below = [*(rows[1] if len(rows) > 1 else []), *[""] * len(rows[0])]
    columns = zip(rows[0], below, strict=False)
    there = [name for name, first in columns if "(read only)" not in f"{name} {first}"]
    there = [name for name in there if name not in own]
    if platform != "canvas":
        return there
    there = [name for name in there if not _SUMS.fullmatch(name)]
    return [name for name in there if _NUMBERED.fullmatch(name)] or there


def _columns_of_grades(there: Sequence[str], lessons: Sequence[str]) -> dict[str, str]:
    """Return the columns that are clearly those of a lesson's grades, each with its lesson."""
    columns = {lesson: _columns_of(there, Wanted(lesson)) for lesson in lessons}
    return {found[0]: lesson for lesson, found in columns.items() if len(found) == 1}


def _columns_of(there: Sequence[str], wanted: Wanted) -> list[str]:
    """Return the columns whose names say what is exported."""
    if wanted.lesson == TERM:
        return [name for name in there if _words(name)[:1] == [TERM]]
    own = [name for name in there if _part(name, wanted.lesson) == wanted.part]
    named = [name for name in own if _is_named(name, wanted.lesson)]
    return named or [name for name in own if _has_number(name, wanted)]


def _part(column: str, lesson: str) -> Column | None:
    """Return what a column's name says beside a lesson; a lesson's own name does not count."""
    words = [word for word in _words(column) if word not in lesson]
    found = (part for part in parts() if any(word.startswith(part.word) for word in words))
    return next(found, None)


def _has_number(column: str, wanted: Wanted) -> bool:
    """Return True for "Lesson 01" or "Viva 01"; a number alone may be a quiz's."""
    words = _words(column)
    numbers = [int(word) for word in words if word.isdecimal()]
    return numbers == [int(wanted.lesson[:2])] and ("lesson" in words or bool(wanted.part))


def _is_named(column: str, wanted: str) -> bool:
    return wanted in column or _squeezed(wanted) in _squeezed(_own_name(column))


def _own_name(column: str) -> str:
    """Return an assignment's name without the platform's additions."""
    numbered = _NUMBERED.fullmatch(column)
    return numbered["name"] if numbered else _BRIGHTSPACE_KIND.sub("", column)


def _words(column: str) -> list[str]:
    return re.findall(r"[^\W\d_]+|\d+", _own_name(column).casefold())


def _squeezed(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
