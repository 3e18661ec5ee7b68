"""The map below a lesson's title: where it stands, what it needs, what is built in it, how long.

It is made from tracks.toml, the headings, and the paragraphs `**You need**` and `**You will not
build**` of the lesson's first cell, which move into it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import nbformat
from nbformat import NotebookNode

from proflab.lesson.names import used_names
from proflab.lesson.outline import place_of
from proflab.lesson.statements import BUILT
from proflab_course.build.measures import docstrings
from proflab_course.course.notebook import GIVEN_TAG, Cell, Lesson, set_cell_ids
from proflab_course.course.prose import paragraphs
from proflab_course.course.sections import (
    BREAK,
    Section,
    sections,
    split_at_headings,
    total_line,
)
from proflab_course.course.words import listed
from proflab_course.tracks.mentions import track_line
from proflab_course.tracks.times import LessonTimes

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

MAP_TAG = "map"
LINES = 18  # at most, blank ones apart
NEED, NOT_BUILT = "**You need**", "**You will not build**"
# The end of a docstring's first sentence that the map has no room for.
_TYPE = re.compile(
    r", (?:an? (?:int|float|str|string|bool|array|dict|list|tuple)|as an? .*|two ints)$"
)
_ERRORS = (
    "**Wrong arguments.** Numbers that make no sense (sizes below 1, negative times, empty lists, "
    "lists of different lengths, unknown names) raise ValueError with a sentence of yours."
)


@dataclass(frozen=True)
class _Row:
    """A line of the table. names: each linked to its section; section: where the first one is."""

    names: tuple[str, ...]
    section: Section
    purpose: str
    minutes: int
    points: float


def take_paragraphs(lesson: Lesson) -> dict[str, str]:
    """Take the paragraphs that the map will have out of a lesson's first cell."""
    node = lesson.notebook.cells[0]
    parts = paragraphs(node.source)
    taken = {mark: part for part in parts for mark in (NEED, NOT_BUILT) if part.startswith(mark)}
    node.source = "\n\n".join(part for part in parts if part not in taken.values())
    return taken


def put_map(lesson: Lesson, facts: Facts) -> Lesson:
    """Put the map below the first cell of a lesson whose headings say their points."""
    written = take_paragraphs(lesson)
    # A cell's id may follow from its text: headings have their points by now (passes.py).
    set_cell_ids(lesson.notebook)  # the map links to them
    lesson.notebook.cells.insert(1, map_cell(lesson, facts, written))
    return lesson


def map_cell(lesson: Lesson, facts: Facts, written: Mapping[str, str]) -> NotebookNode:
    """Return the map of a lesson whose cells have their ids.

    written: the author's own paragraphs, by `take_paragraphs`.
    """
    taken, times = facts.taken[lesson.name], None
    if facts.tracks is not None and facts.tracks.times[lesson.name].listed:
        times = facts.tracks.times[lesson.name]
    track = track_line(taken, facts)
    earlier = {each: home[:2] for each, home in facts.builders.items() if home < lesson.name}
    above = [track, _where(lesson.name, tuple(facts.taken)), _have(lesson, earlier)]
    above.append(written.get(NEED, ""))
    not_built = "" if track else written.get(NOT_BUILT, "")
    below = [not_built or _given_line(lesson, taken.gone), _time(lesson)]
    below.append(_ERRORS if _checks_arguments(lesson) else "")
    above, below = list(filter(None, above)), list(filter(None, below))
    rows = list(_rows(lesson, times))
    if len(above) + 2 + len(rows) + len(below) > LINES:
        rows = list(_by_section(rows))
    table = [_table(rows, times is not None)] if rows else []
    text = "\n\n".join([*above, *table, *below])
    return nbformat.v4.new_markdown_cell(text, metadata={"tags": [MAP_TAG]})


def _where(name: str, names: tuple[str, ...]) -> str:
    if len(names) < 2:
        return ""
    titles = (each.replace("_", " ") for each in names)
    pairs = zip(titles, names, strict=True)
    listed = " → ".join(f"**{title}**" if each == name else title for title, each in pairs)
    return f"**Where you are.** {listed}"


def _have(lesson: Lesson, built: Mapping[str, str]) -> str:
    """Return a line on the functions of earlier lessons that this one uses."""
    taken: dict[str, list[str]] = {}
    used = used_names(node for cell in lesson.cells for node in cell.statements())
    for cell in lesson.cells:
        for node in cell.statements():
            if isinstance(node, ast.ImportFrom) and node.module == BUILT:
                for alias in (each for each in node.names if each.name in used):
                    if number := built.get(alias.name):
                        taken.setdefault(number, []).append(f"`{alias.name}`")
    if not taken:
        return ""
    listed = ", ".join(
        f"{', '.join(dict.fromkeys(taken[number]))} ({number})" for number in sorted(taken)
    )
    return f"**You have** {listed}: from `built.py`, or your own where they pass."


def _rows(lesson: Lesson, times: LessonTimes | None) -> Iterator[_Row]:
    points = {name: sum(test.points for test in tests) for name, tests in lesson.tests.items()}
    for section in sections(lesson):
        for cell in (cell for cell in section.cells if cell.role == "exercise"):
            purpose = times.purposes.get(cell.name, "") if times else ""
            minutes = times.minutes.get(cell.name, 0) if times else 0
            purpose = purpose or purpose_of(cell)
            yield _Row((_linked(cell.name, section),), section, purpose, minutes, points[cell.name])


def _linked(name: str, section: Section) -> str:
    """Return an exercise's name with a link to the cell that its section begins in."""
    # JupyterLab goes to a cell by this fragment; docs/site/lessons.py makes a page's anchor of it.
    return f"[`{name}`](#cell-id={section.place.node['id']})" if section.place else f"`{name}`"


def _by_section(rows: Iterable[_Row]) -> Iterator[_Row]:
    """Yield a row for all exercises of a section with points, and one for what is optional."""
    groups: dict[int, list[_Row]] = {}
    for row in sorted(rows, key=lambda row: not row.points):
        groups.setdefault(id(row.section) if row.points else 0, []).append(row)
    for group in groups.values():
        yield _Row(
            tuple(row.names[0] for row in group),
            group[0].section,
            "; ".join(row.purpose for row in group),
            sum(row.minutes for row in group),
            sum(row.points for row in group),
        )


def _table(rows: list[_Row], with_minutes: bool) -> str:
    heads = ["you will build", "what for", *(["min"] if with_minutes else []), "points"]
    lines = [f"| {' | '.join(heads)} |", "|---|---|" + "--:|" * (len(heads) - 2)]
    for row in rows:
        minutes = [f"{row.minutes}"] if with_minutes else []
        points = f"{row.points:g}" if row.points else "optional"
        purpose = row.purpose.replace("|", "\\|")
        lines.append(f"| {' | '.join([', '.join(row.names), purpose, *minutes, points])} |")
    return "\n".join(lines)


def purpose_of(cell: Cell) -> str:
    """Return what an exercise is for: its docstring's first sentence, up to a colon or semicolon.

    "Return" at its begin goes, and a type at its end.
    """
    summary = next(iter(docstrings(cell)), "").strip().split("\n\n")[0]
    sentence = re.split(r"[.:;](?:\s|$)", " ".join(summary.split()), maxsplit=1)[0]
    return _TYPE.sub("", sentence.removeprefix("Return ").strip())


def _given_line(lesson: Lesson, gone: tuple[str, ...]) -> str:
    """Return a line on what a track gives of sections that stay."""
    number = lesson.name[:2]
    elsewhere = {f"# Given: lesson {number}, {place_of(section)}." for section in gone}
    names = [
        f"`{cell.name}`"
        for cell in lesson.named("given")
        if GIVEN_TAG in cell.tags and cell.source.split("\n", 1)[0] not in elsewhere
    ]
    names = [name for name in names if name != "``"]
    if not names:
        return ""
    how = "are given, in folded cells" if len(names) > 1 else "is given, in a folded cell"
    they = "they" if len(names) > 1 else "it"
    return f"{NOT_BUILT} {listed(names)}: {they} {how} that you may read."


def _time(lesson: Lesson) -> str:
    """Return what the lesson takes and earns, and where its break is."""
    total = total_line(lesson)
    breaks = [
        section.name
        for section in sections(split_at_headings(lesson))
        for cell in section.cells
        if cell.role == "text" and any(part.startswith(BREAK) for part in paragraphs(cell.source))
    ]
    pause = f" The break is after {place_of(breaks[0])}." if breaks and breaks[0] else ""
    return f"**Time.** {total}.{pause}" if total else ""


def _checks_arguments(lesson: Lesson) -> bool:
    """Return True if an exercise of the lesson raises ValueError, and a case asks for one."""
    raising = (lesson.named("exercise"), lesson.named("test"))
    return all(any("ValueError" in cell.source for cell in cells) for cells in raising)
