"""Read what an instructor chose for the course: the table [course] of private/course.toml.

[course]
ai = "tutor"       # the policy on AI assistants, of build/policies.toml
board = "names"    # what a class sees of each other in races: see Settings
variants = "student"  # whose numbers hidden cases have: one's own, or those of the class
concept_points = 1 # a right answer to a concept question is a point beside the 100
lessons = ["01", "02"]  # those that a class has had, for the inventory; else the track's
lock = true        # a demo cell waits for its reader's guess
regrade = "Hand the file in as the assignment Questions."   # or false: no questions on feedback
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from proflab_course.course.layout import Course, CourseError
from proflab_course.course.toml_table import Must, read_table, read_toml

SETTINGS = "private/course.toml"
_MOST_REGRADE = 300
_WHERE = f"a sentence of at most {_MOST_REGRADE} characters on where to hand in"


def _are_numbers(lessons: list[str]) -> bool:
    return all(re.fullmatch(r"\d\d", each, re.ASCII) for each in lessons)


def _is_short(regrade: bool | str) -> bool:
    return len(str(regrade)) <= _MOST_REGRADE


@dataclass(frozen=True)
class Settings:
    """Hold the choices; a default is what an instructor has who chose nothing.

    board: costs with the aliases that students chose, with names, with neither, or no board at all.
    """

    ai: str | None = None
    board: Literal["aliases", "names", "anonymous", "off"] = "aliases"
    variants: Literal["class", "student"] = "class"
    concept_points: Annotated[
        Literal[0, 1], Must("1 for a point for each concept question, or 0 for none")
    ] = 0
    lessons: (
        Annotated[list[str], Must('a list of numbers such as ["01", "02"]', _are_numbers)] | None
    ) = None
    lock: bool = False
    regrade: Annotated[bool | str, Must(f"true, false or {_WHERE}", _is_short)] = True


@dataclass(frozen=True)
class _SettingsFile:
    course: Settings = Settings()


def read_settings(root: Path) -> Settings:
    """Return the choices of the course at `root`.

    Raises CourseError, one sentence, for a file with a mistake.
    """
    settings = read_table(_SettingsFile, read_toml(root, SETTINGS) or {}, SETTINGS).course
    course = Course(root)
    known = {name[:2]: name for name in (*course.lessons(), *course.lessons("source"))}
    for number in settings.lessons or ():
        if known and number > max(known):  # a lesson below may be another tree's
            there = ", ".join(sorted(known))
            raise CourseError(f"{SETTINGS}: course.lessons: there is no lesson {number} ({there})")
    return settings
