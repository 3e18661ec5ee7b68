"""Audit what a lesson asks of its reader: words, the width of code, imports, minutes.

Measured is what a student meets of what its authors wrote, without hidden cases and solutions. A
lesson in which no heading says its minutes is held to none but the one on `# fmt: skip`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from proflab_course.build.sections import sections
from proflab_course.course.notebook import MARK_SCHEME, SOLUTION, Cell, Lesson, replace_regions
from proflab_course.course.test_cells import hidden_source_removed

WORDS, IMPORTS, WIDTH = 3_000, 8, 100
_ANSWER = "YOUR ANSWER HERE"
_LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")
_WORD = re.compile(r"[A-Za-zÀ-ÿ0-9][\w’'.,-]*")


def limit_mistakes(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each limit that a lesson, not yet stamped, exceeds."""
    for cell in lesson.cells:
        if cell.node.cell_type == "code" and (lines := _lines_with(cell.source, "# fmt: skip")):
            yield f"{cell.where}, line {lines[0]}: `# fmt: skip`; let the formatter lay it out"
    if all(section.minutes is None for section in sections(lesson)):
        return
    if (words := prose_words(lesson)) > WORDS:
        yield f"{lesson.place}: its prose has {words:,} words, {WORDS:,} at most: write less"
    for cell, line in wide_lines(lesson):
        shown = line.strip()[:40]
        yield f"{cell.where}: {len(line)} characters, {WIDTH} at most, in `{shown}…`"
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


def prose_words(lesson: Lesson) -> int:
    """Return how many words of prose a student meets."""
    words = 0
    for cell in lesson.cells:
        if cell.node.cell_type == "markdown":
            text = replace_regions(cell.source, MARK_SCHEME, ())
            text = replace_regions(text, SOLUTION, (_ANSWER,))
            words += len(_WORD.findall(_LINK.sub(r"\1", text)))
    return words


def wide_lines(lesson: Lesson) -> Iterator[tuple[Cell, str]]:
    """Yield each line of code that a student meets and that is too wide, with its cell."""
    for cell in lesson.cells:
        if cell.node.cell_type == "code":
            code = replace_regions(hidden_source_removed(cell.source), SOLUTION, ())
            yield from ((cell, line) for line in code.splitlines() if len(line) > WIDTH)


def _lines_with(source: str, words: str) -> list[int]:
    return [n for n, line in enumerate(source.splitlines(), start=1) if words in line]


def _imports(cell: Cell) -> bool:
    return cell.source.lstrip().startswith(("import ", "from "))


def _filled(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
