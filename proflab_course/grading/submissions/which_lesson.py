"""Tell which lesson a notebook belongs to: by its cells' names, its stamp, or its definitions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nbformat import NotebookNode

from proflab.lesson.outline import squeezed
from proflab_course.course.release_stamp import read_stamp
from proflab_course.grading.answer_key import Key, meta
from proflab_course.grading.defined_names import names_in_each


@dataclass(frozen=True)
class Names:
    """The names of a lesson's graded cells that no other lesson has, and the exercises of these."""

    graded: frozenset[str]
    exercises: frozenset[str]


class Lessons:
    """The lesson that is graded, and the others in source/, which are read when needed."""

    def __init__(self, key: Key, sources: Path | None = None) -> None:
        self.key = key
        self._sources = sources
        self._own = Names(
            frozenset(c.grade_id for c in key.cells if c.kind in ("solution", "test", "manual")),
            frozenset(c.grade_id for c in key.cells if c.kind == "solution"),
        )

    @cached_property
    def _all(self) -> dict[str, Names]:
        others = sorted(self._sources.glob("*/*.ipynb")) if self._sources else []
        found = {path.stem: _read_names(path) for path in others if path.stem == path.parent.name}
        return found | {self.key.name: self._own}

    def folders(self) -> set[str]:
        """Return the names of the lessons and so of their folders."""
        there = [path.name for path in self._sources.iterdir()] if self._sources else []
        return {self.key.name, *there}

    def lesson_of(self, notebook: NotebookNode) -> str:
        """Return the name of a notebook's lesson; empty if it cannot be determined."""
        marked = {name for c in notebook.cells if isinstance(name := meta(c).get("grade_id"), str)}
        own = len(marked & self._own.graded)
        if own and 2 * own >= len(marked):
            return self.key.name
        stamp = read_stamp(notebook.metadata).get("lesson", "")
        return self._most("graded", marked) or stamp or self._by_what_it_defines(notebook)

    def _by_what_it_defines(self, notebook: NotebookNode) -> str:
        code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        wanted = set().union(*(names.exercises for names in self._all.values()))
        return self._most("exercises", set().union(*names_in_each(code, wanted)))

    def _most(self, kind: str, names: set[str]) -> str:
        """Return the lesson with most of these names, in a tie the graded one; empty if none."""
        counts = {lesson: len(getattr(all_, kind) & names) for lesson, all_ in self._all.items()}
        best = max(counts, key=lambda lesson: (counts[lesson], lesson == self.key.name))
        return best if counts[best] else ""

    def fits(self, notebook: NotebookNode) -> bool:
        """Return True if a notebook belongs to the lesson that is graded."""
        return self.lesson_of(notebook) == self.key.name

    def is_untouched(self, notebook: NotebookNode) -> bool:
        """Return True if a notebook has only cells of today's release."""
        given = {squeezed(cell.released.source) for cell in self.key.cells}
        return all(squeezed(cell.source) in given for cell in notebook.cells)


def _read_names(path: Path) -> Names:
    """Return the names in a source notebook; none if it cannot be read."""
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        marks = [cell["metadata"].get("nbgrader", {}) for cell in cells]
        graded = [m for m in marks if m.get("grade") or m.get("solution")]
        exercises = (m["grade_id"] for m in graded if not m.get("grade"))
        return Names(frozenset(m["grade_id"] for m in graded), frozenset(exercises))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Names(frozenset(), frozenset())
