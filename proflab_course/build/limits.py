"""Audit what a lesson asks of its reader: lines, words, imports, a heading that says the time.

Measured is what a student meets of what its authors wrote: no hidden cases, a solution counted as
the stub that stands in its place, a line of code that is too long to be seen as several. A lesson
in which no heading says its minutes is not held to any.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from proflab_course.build.outline import sections
from proflab_course.course.notebook import MARK_SCHEME, SOLUTION, Cell, Lesson, replace_regions
from proflab_course.course.test_cells import hidden_source_removed

LINES, WORDS, IMPORTS = 600, 3_000, 8
# Lessons that are longer than they should be, and may not get longer still.
LONGER = {"05_profiler": 705, "07_scaling": 642}
_WIDTH = 100  # of a line of code; a longer one is read as several
_STUB = ("# YOUR CODE HERE", "raise NotImplementedError()")
_ANSWER = "YOUR ANSWER HERE"
_LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")
_WORD = re.compile(r"[A-Za-zÀ-ÿ0-9][\w’'.,-]*")


def limit_mistakes(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each limit that a lesson, not yet stamped, exceeds."""
    if all(section.minutes is None for section in sections(lesson)):
        return
    lines, words = size(lesson)
    most = LONGER.get(lesson.name, LINES)
    if lines > most:
        yield f"{lesson.place}: students meet {lines:,} lines, {most:,} at most: write less"
    if words > WORDS:
        yield f"{lesson.place}: its prose has {words:,} words, {WORDS:,} at most: write less"
    imports = next((cell for cell in lesson.named("given") if _imports(cell)), None)
    if imports is not None and (count := len(_filled(imports.source))) > IMPORTS:
        where = "the others go into the cells that need them"
        yield f"{imports.where}: {count} lines of imports, {IMPORTS} at most; {where}"
    for section in sections(lesson):
        exercises = [cell.name for cell in section.cells if cell.role == "exercise"]
        if exercises and section.minutes is None:
            place = section.place.where if section.place else lesson.place
            heading = f"`{section.heading}`" if section.heading else "the part before all headings"
            yield f"{place}: {heading} has an exercise and says no minutes (`## … · 15 min`)"


def size(lesson: Lesson) -> tuple[int, int]:
    """Return how many lines that are not blank a student meets, and how many words of prose."""
    lines = words = 0
    for cell in lesson.cells:
        if cell.node.cell_type == "markdown":
            text = replace_regions(cell.source, MARK_SCHEME, ())
            text = replace_regions(text, SOLUTION, (_ANSWER,))
            lines += len(_filled(text))
            words += len(_WORD.findall(_LINK.sub(r"\1", text)))
        else:
            code = _filled(replace_regions(hidden_source_removed(cell.source), SOLUTION, _STUB))
            lines += sum(math.ceil(len(line) / _WIDTH) for line in code)
    return lines, words


def _imports(cell: Cell) -> bool:
    return cell.source.lstrip().startswith(("import ", "from "))


def _filled(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
