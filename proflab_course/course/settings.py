"""Read what an instructor chose for the course: the table [course] of private/course.toml.

[course]
ai = "tutor"       # the policy on AI assistants, of build/policies.toml
board = "names"    # what a class sees of each other in races, one of BOARDS
variants = "student"  # whose numbers hidden cases have, one of VARIANTS
concept_points = 1 # a right answer to a concept question is a point beside the 100
lessons = ["01", "02"]  # those that a class has had, for the inventory; else the track's
lock = true        # a demo cell waits for its reader's guess
regrade = "Hand the file in as the assignment Questions."   # or false: no questions on feedback
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from proflab_course.course.layout import CourseError

SETTINGS = "private/course.toml"
_KEYS = ("ai", "board", "concept_points", "lessons", "lock", "regrade", "variants")
# Costs with the aliases that students chose, with names, with neither, or no board at all.
BOARDS = ("aliases", "names", "anonymous", "off")
# Whether each student has hidden cases with numbers of their own.
VARIANTS = ("class", "student")
_MOST_REGRADE = 300


def read_settings(root: Path) -> dict[str, Any]:
    """Return the choices by key; none without the file.

    Raises CourseError, one sentence, for a file with a mistake.
    """
    path = root / SETTINGS
    if not path.exists():
        return {}
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CourseError(f"{SETTINGS} cannot be read: {error}") from None
    course = settings.get("course", {})
    known = isinstance(course, dict) and set(settings) <= {"course"} and set(course) <= {*_KEYS}
    if not known:
        keys = ", ".join(_KEYS[:-1])
        allowed = f"with the keys {keys} and {_KEYS[-1]}, and no more"
        raise CourseError(f"{SETTINGS} may hold a table [course] {allowed}")
    chosen_of(course, "board", BOARDS)
    chosen_of(course, "variants", VARIANTS)
    if not isinstance(course.get("lock", False), bool):
        raise CourseError(f"{SETTINGS}: lock must be true or false, not {course['lock']!r}")
    points = course.get("concept_points", 0)
    if points not in (0, 1) or isinstance(points, bool):
        what = "1 for a point for each concept question, or 0 for none"
        raise CourseError(f"{SETTINGS}: concept_points must be {what}, not {points!r}")
    lessons = course.get("lessons", [])
    numbers = isinstance(lessons, list) and all(isinstance(each, str) for each in lessons)
    if not numbers or not all(re.fullmatch(r"\d\d", each, re.ASCII) for each in lessons):
        raise CourseError(f'{SETTINGS}: lessons must be a list of numbers such as ["01", "02"]')
    regrade = course.get("regrade", True)
    if not isinstance(regrade, (bool, str)) or len(str(regrade)) > _MOST_REGRADE:
        what = f"a sentence of at most {_MOST_REGRADE} characters"
        raise CourseError(f"{SETTINGS}: regrade must be true, false or {what} on where to hand in")
    return course


def chosen_of(settings: dict[str, Any], key: str, choices: tuple[str, ...]) -> str | None:
    """Return a choice, None if there is none; CourseError for one that is not among `choices`."""
    name = settings.get(key)
    if name is None or name in choices:
        return name
    listed = ", ".join(f'"{each}"' for each in choices)
    raise CourseError(f"{SETTINGS}: {key} must be one of {listed}, not {name!r}")
