"""Read a lesson's table in tracks.toml: its minutes, its needs, and what serves each objective."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from proflab_course.course.layout import CourseError
from proflab_course.course.toml_table import Count, Must, Texts, read_table

_NEED = re.compile(r"(\d\d)(?: §(\S+))?")


_Minutes = Annotated[int, Must("whole minutes", lambda minutes: minutes >= 0)]
_Served = Annotated[
    list[str | Count], Must("a list of what serves it: exercises, demo cells, numbers of items")
]


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


@dataclass(frozen=True)
class _LessonTimes:
    """Hold what a lesson's table may say; see `LessonTimes`, whose `purposes` are here `for`."""

    needs: Texts = field(default_factory=list)
    essay: _Minutes = 0
    minutes: dict[str, _Minutes] = field(default_factory=dict)
    measured: Count = 0
    for_: dict[str, str] = field(default_factory=dict)
    objectives: dict[str, _Served] = field(default_factory=dict)


def read_times(name: str, entry: dict[str, Any], file: str, limited: bool) -> LessonTimes:
    """Return what the table of a lesson says; CourseError for what is wrong within it."""
    where = f"{file}, lesson {name}"
    said = read_table(_LessonTimes, entry, where)
    if unknown := sorted(said.for_.keys() - said.minutes.keys()):
        raise CourseError(f"{where}: `for` names {unknown[0]}, which has no minutes")
    for need in said.needs:
        match = _NEED.fullmatch(need)
        if not match or int(match[1]) >= int(name[:2]):
            raise CourseError(f'{where}: it needs {need!r}; write an earlier lesson as "02 §8"')
    return LessonTimes(
        said.minutes,
        said.essay,
        tuple(said.needs),
        said.for_,
        _each_once(said.objectives, where),
        limited,
        said.measured,
    )


def _each_once(
    objectives: Mapping[str, list[str | int]], where: str
) -> dict[str, tuple[str | int, ...]]:
    """Return what serves each objective; nothing serves two, so that points add up."""
    first: dict[str | int, str] = {}
    for words, served in objectives.items():
        for each in served:
            if each in first:
                problem = f"{each} serves {first[each]!r} and {words!r}: choose one objective"
                raise CourseError(f"{where}: {problem}")
            first[each] = words
    return {words: tuple(served) for words, served in objectives.items()}
