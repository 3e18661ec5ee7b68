"""Cut a lesson into its sections, and sum up what each of them takes and earns.

A heading says how long its section takes, `## 3 · Attention · 15 min`: the build writes it there,
or the author of a lesson without a table in tracks.toml. Points are summed from the cells of the
section, so they are typed in no heading. What a running notebook may know of all this goes beside
it, into lesson.json.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from nbformat import NotebookNode

from proflab.lesson.names import bound_names, used_names
from proflab.lesson.outline import Exercise, LessonCell, Outline, digest
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import (
    MARK_SCHEME,
    SOLUTION,
    Cell,
    Lesson,
    Role,
    replace_regions,
)
from proflab_course.course.words import amount

_HEADING = re.compile(r"^## +(\S.*?) *$")
# The parts of a heading after its name, as the build writes them.
_MINUTES = re.compile(r"(\d+) min")
_POINTS = re.compile(r"[\d.]+ points?\b")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_KNOWN: tuple[Role, ...] = ("test", "answer test", "demo", "given", "setup")
# What nbgrader's ClearSolutions leaves in a cell of text: students read these words.
_ANSWER = "YOUR ANSWER HERE"
_LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")
_WORD = re.compile(r"[A-Za-zÀ-ÿ0-9][\w’'.,-]*")
BREAK = "**Take a break"  # how the paragraph begins that divides two sittings


@dataclass
class Section:
    """One section: its heading and the cell with it, and the cells that it holds, that one too.

    line: the heading's line in its cell, from 0. The cells before the first heading are a section
    without one.
    """

    heading: str = ""
    place: Cell | None = None
    line: int = 0
    cells: list[Cell] = field(default_factory=list)

    @property
    def minutes(self) -> int | None:
        """Minutes by the heading; None where it does not say."""
        found = (_MINUTES.fullmatch(part) for part in self._parts[1:])
        return next((int(match[1]) for match in found if match), None)

    @property
    def says_points(self) -> bool:
        """True where its heading has points in it."""
        return any(_POINTS.match(part) for part in self._parts[1:])

    @property
    def name(self) -> str:
        """Its number where it has one, else its title: what "section …" is followed by."""
        return self._parts[0]

    @property
    def _parts(self) -> list[str]:
        return [part.strip() for part in self.heading.split("·")]

    def points(self, role: str) -> float:
        """Return the points of its cells of a role: "test", or "manual" for those by hand."""
        return sum(cell.points for cell in self.cells if cell.role == role)


def sections(lesson: Lesson) -> list[Section]:
    """Return a lesson's sections in order, each beginning at a heading of the second level."""
    found = [Section()]
    for cell in lesson.cells:
        for line, heading in heading_lines(cell):
            found.append(Section(heading, cell, line))
        found[-1].cells.append(cell)
    return found


def heading_lines(cell: Cell) -> Iterator[tuple[int, str]]:
    """Yield the headings in a cell of text, each with its line; code in it has none."""
    if cell.role != "text":
        return
    fenced = False
    for number, line in enumerate(cell.source.splitlines()):
        if _FENCE.match(line):
            fenced = not fenced
        match = _HEADING.match(line)
        if match and not fenced:
            yield number, match[1]


def prose_words(lesson: Lesson) -> int:
    """Return how many words of prose a student meets."""
    words = 0
    for cell in lesson.cells:
        if cell.node.cell_type == "markdown":
            text = replace_regions(cell.source, MARK_SCHEME, ())
            text = replace_regions(text, SOLUTION, (_ANSWER,))
            words += len(_WORD.findall(_LINK.sub(r"\1", text)))
    return words


def split_at_headings(lesson: Lesson) -> Lesson:
    """Return the lesson with text cells that begin at their headings of the second level."""
    cells: list[NotebookNode] = []
    for cell in lesson.cells:
        if cell.role == "text":
            lines = cell.source.split("\n")
            begins = [0, *(line for line, _ in heading_lines(cell) if line), len(lines)]
            for begin, end in zip(begins, begins[1:], strict=False):
                part = copy.deepcopy(cell.node)
                part.source = "\n".join(lines[begin:end]).strip("\n")
                cells += [part] if part.source.strip() else []
        # Graded cells are no copies: what `--seed` draws later (build/draw.py) is in both lessons.
        elif cell.role in ("test", "exercise", "answer", "answer test", "manual"):
            cells.append(cell.node)
        else:
            cells.append(copy.deepcopy(cell.node))
    notebook = copy.copy(lesson.notebook)
    notebook.cells = cells
    return Lesson(lesson.name, lesson.place, notebook)


def stamp_headings(lesson: Lesson) -> None:
    """Write each section's points behind the minutes in its heading."""
    for section in sections(lesson):
        if (place := section.place) is None:
            continue
        if section.says_points:
            problem = f"the heading `{section.heading}` types its points"
            raise CourseError(f"{place.where}: {problem}; leave them to the build")
        points = _section_points(section)
        if section.minutes is not None and points:
            lines = place.source.split("\n")
            lines[section.line] = f"{lines[section.line].rstrip()} · {points}"
            place.node.source = "\n".join(lines)


def _section_points(section: Section) -> str:
    graded, by_hand = section.points("test"), section.points("manual")
    if graded and by_hand:
        return f"{amount(graded, 'point')} and {by_hand:g} by hand"
    if by_hand:
        return f"{amount(by_hand, 'point')} by hand"
    return amount(graded, "point") if graded else ""


def total_line(lesson: Lesson) -> str:
    """Return what the whole lesson takes and earns; empty where no heading says its minutes."""
    found = sections(lesson)
    minutes = [section.minutes for section in found if section.minutes is not None]
    if not minutes:
        return ""
    graded, by_hand = (sum(s.points(role) for s in found) for role in ("test", "manual"))
    essay = f" and {by_hand:g} for the essay" if by_hand else ""
    return f"About {_duration(sum(minutes))} · {amount(graded, 'point')}{essay}"


def _duration(minutes: int) -> str:
    """Return minutes to the nearest five, as a reader says them: 3 h 10 min."""
    hours, rest = divmod(5 * round(minutes / 5) or minutes, 60)
    return " ".join(filter(None, (f"{hours} h" * bool(hours), f"{rest} min" * bool(rest))))


def lesson_outline(lesson: Lesson, released: NotebookNode) -> Outline:
    """Return what a running notebook may know of its lesson.

    released: the lesson's notebook as students get it, by whose text cells are known.
    """
    found, tests = sections(lesson), lesson.tests
    exercises = {
        cell.name: Exercise(
            cell.name,
            section.name,
            section.minutes,
            {test.name: test.points for test in tests[cell.name]},
        )
        for section in found
        for cell in section.cells
        if cell.role == "exercise"
    }
    cells: dict[str, LessonCell] = {}
    providers: dict[str, set[str]] = {}
    for cell in Lesson(lesson.name, lesson.place, released).named(*_KNOWN):
        nodes = cell.statements()
        if cell.role == "given":
            providers |= {name: used_names([n]) for n in nodes for name in bound_names([n])}
        needs = reached(used_names(nodes), providers) & exercises.keys()
        cells[digest(cell.source)] = LessonCell(cell.name, _kind(cell), tuple(sorted(needs)))
    by_hand = [section for section in found if section.points("manual")]
    essay = sum(s.points("manual") for s in by_hand), by_hand[-1].name if by_hand else ""
    return Outline(lesson.name, exercises, cells, essay)


def _kind(cell: Cell) -> str:
    return "test" if cell.role == "answer test" else cell.role


def reached(names: set[str], providers: dict[str, set[str]]) -> set[str]:
    """Return names and those that the lesson's given functions need for them."""
    found, ahead = set(), set(names)
    while ahead:
        name = ahead.pop()
        found.add(name)
        ahead |= providers.get(name, set()) - found
    return found
