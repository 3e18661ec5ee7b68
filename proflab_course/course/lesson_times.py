"""Read a lesson's table in tracks.toml: its minutes, its needs, and what serves each objective."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proflab_course.course.layout import CourseError

_NEED = re.compile(r"(\d\d)(?: §(\S+))?")


@dataclass(frozen=True)
class LessonTimes:
    """A lesson's exercises in order with their minutes of writing, its essay's, and its needs.

    needs: the earlier lessons whose ideas it builds on, as "02" or, with a section, "02 §8".
    purposes: what an exercise is for, in a few words, where its docstring does not say it well.
    objectives: by an objective's first words, the exercises and demo cells (names) and the items of
    the essay (numbers) that serve it.
    limited: whether it is held to the limits of build/limits.py, or only told of them.
    measured: the students by whose median the minutes were corrected; 0: they are estimates.
    listed: whether it has a table.
    """

    minutes: Mapping[str, int]
    essay: int = 0
    needs: tuple[str, ...] = ()
    purposes: Mapping[str, str] = field(default_factory=dict)
    objectives: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)
    limited: bool = False
    measured: int = 0
    listed: bool = True


def read_times(name: str, entry: dict[str, Any], file: str, limited: bool) -> LessonTimes:
    """Return what the table of a lesson says; CourseError for what is wrong within it."""
    where = f"{file}, lesson {name}"
    refuse_unknown(entry, {"needs", "essay", "minutes", "measured", "for", "objectives"}, where)
    measured, purposes = entry.get("measured", 0), entry.get("for", {})
    if not isinstance(purposes, dict) or not all(isinstance(p, str) for p in purposes.values()):
        raise CourseError(f"{where}: `for` holds a few words for an exercise, in quotes")
    if unknown := sorted(purposes.keys() - entry.get("minutes", {}).keys()):
        raise CourseError(f"{where}: `for` names {unknown[0]}, which has no minutes")
    minutes, essay, needs = entry.get("minutes", {}), entry.get("essay", 0), entry.get("needs", [])
    if not isinstance(minutes, dict) or not all(
        map(_is_count, (*minutes.values(), essay, measured))
    ):
        raise CourseError(f"{where}: minutes are whole numbers, such as `linear_parameters = 5`")
    for need in needs if isinstance(needs, list) else [needs]:
        match = _NEED.fullmatch(str(need))
        if not match or int(match[1]) >= int(name[:2]):
            raise CourseError(f'{where}: it needs {need!r}; write an earlier lesson as "02 §8"')
    objectives = _objectives(entry.get("objectives", {}), where)
    return LessonTimes(minutes, essay, tuple(needs), purposes, objectives, limited, measured)


def _objectives(entry: Any, where: str) -> dict[str, tuple[str | int, ...]]:
    """Return what serves each objective; nothing serves two, so that points add up."""
    told = "`objectives` names for each what serves it: exercises, demo cells, numbers of items"
    if not isinstance(entry, dict):
        raise CourseError(f"{where}: {told}")
    first: dict[str | int, str] = {}
    for words, served in entry.items():
        if not isinstance(served, list) or not all(
            isinstance(e, str) or _is_count(e) for e in served
        ):
            raise CourseError(f"{where}: {told}")
        for each in served:
            if each in first:
                problem = f"{each} serves {first[each]!r} and {words!r}: choose one objective"
                raise CourseError(f"{where}: {problem}")
            first[each] = words
    return {words: tuple(served) for words, served in entry.items()}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def refuse_unknown(data: dict[str, Any], keys: set[str], where: str) -> None:
    """Raise CourseError for an entry that a table may not have."""
    for key in sorted(data.keys() - keys):
        raise CourseError(f"{where} has an entry {key!r}; it may have {', '.join(sorted(keys))}")
