"""Put an instructor's private cases in the place of a lesson's: private/NN_slug.py.

The file is a lesson's text in jupytext's percent format with only the cells that are to be other
than the public ones. Each has the `grade_id` of a cell of the lesson:

- a test cell holds one region of hidden cases, which replaces those of the lesson, or with
  `tags=["extend"]` follows them;
- a cell graded by hand holds a mark scheme, which replaces the lesson's.

The lesson's own file stays as it is, so that merging the public course never meets these cells.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from proflab_course.cases.case import GrammarError
from proflab_course.cases.reader import split, split_cell
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import (
    HIDDEN,
    MARK_SCHEME,
    Cell,
    Lesson,
    read_percent,
    regions,
    replace_regions,
)

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

EXTEND = "extend"
_REGION = {"test": HIDDEN, "manual": MARK_SCHEME}


def overlay_path(root: Path, lesson: str) -> Path:
    """Return where the private cells of a lesson lie, if there are any."""
    return root / "private" / f"{lesson}.py"


def put_private_cases(lesson: Lesson, facts: Facts) -> Lesson:
    """Put an instructor's private cases into a lesson, where there are any."""
    apply_overlay(lesson, overlay_path(facts.course.root, lesson.name))
    return lesson


def apply_overlay(lesson: Lesson, path: Path) -> None:
    """Change the lesson's cells by its overlay; do nothing where there is none.

    Raises CourseError, which names the private file, for a cell that the lesson does not have, one
    that may not be overlaid, one that is there twice, one with another tag than `extend`, one that
    is not just one region, and one with cases that do not follow the grammar of test cells.
    """
    if not path.exists():
        return
    place = f"private/{path.name}"
    cells = {cell.name: cell for cell in lesson.cells if cell.name}
    seen: set[str] = set()
    for private in _read(path, lesson.name, place):
        public = cells.get(private.name)
        if public is None or public.role not in _REGION:
            raise CourseError(
                f"{private.where}: {lesson.name} has no test cell and no cell graded by hand of "
                "this grade_id; give it that of the cell whose hidden part it is"
            )
        if private.name in seen:
            raise CourseError(f"{private.where}: the cell is there twice; put both into one")
        seen.add(private.name)
        if unknown := [tag for tag in private.tags if tag != EXTEND]:
            raise CourseError(
                f'{private.where}: the tag "{unknown[0]}" says nothing here; write '
                f'tags=["{EXTEND}"] to keep the public cases, or no tag to replace them'
            )
        own = _only_region(private, _REGION[public.role])
        changed = _changed(public, own, extend=EXTEND in private.tags)
        if public.role == "test":
            _check_cases(private, public, changed)
        public.node.source = changed


def _read(path: Path, lesson: str, place: str) -> list[Cell]:
    """Return the overlay's cells that have a grade_id; text between them is for its reader."""
    cells = Lesson(lesson, place, read_percent(path, place)[1]).cells
    for cell in cells:
        if cell.node.cell_type == "code" and not cell.name and cell.source.strip():
            raise CourseError(f'{cell.where}: a code cell needs nbgrader={{"grade_id": "…"}}')
    return [cell for cell in cells if cell.name]


def _check_cases(private: Cell, public: Cell, together: str) -> None:
    """Raise GrammarError for a mistake that only the private cases make, alone or beside others."""
    split_cell(private)
    try:
        split(public.source, public.name)
    except GrammarError:
        return  # told of the public file
    try:
        split(together, private.name)
    except GrammarError as error:
        # A line of both cells together is a line of neither file.
        problem = re.sub(r"^cell [^ ,:]+(, line \d+)?: ", "", str(error))
        raise GrammarError(f"{private.where}: with the public cases, {problem}") from None


def _only_region(cell: Cell, delimiters: tuple[str, str]) -> list[str]:
    """Return the lines of a private cell's region, which is all that it holds."""
    begin, end = delimiters
    try:
        found = regions(cell.source, delimiters)
    except ValueError as error:
        raise CourseError(f"{cell.where}: {error}") from None
    lines = cell.source.strip().splitlines()
    if len(found) != 1 or lines[0].strip() != begin or lines[-1].strip() != end:
        raise CourseError(f"{cell.where}: it must hold `{begin}`, lines, `{end}` and nothing else")
    return found[0]


def _changed(public: Cell, own: list[str], extend: bool) -> str:
    """Return the public cell's text with the private region in it, at the place of its last."""
    delimiters = _REGION[public.role]
    begin, end = delimiters
    try:
        theirs = regions(public.source, delimiters)
    except ValueError as error:
        raise CourseError(f"{public.where}: {error}") from None
    kept = [line for region in theirs for line in region] if extend else []
    outside = replace_regions(public.source, delimiters, ()).rstrip("\n")
    return "\n".join([outside, begin, *kept, *own, end])
