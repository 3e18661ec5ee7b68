"""Tell which lesson a notebook belongs to.

One name in common is no evidence: other courses, too, have a `Timer`, a `merge` or an `order`. A
notebook belongs to a lesson if it has a share of the names of the lesson's graded cells, or several
of its cells' texts. Otherwise its stamp decides, and then the share of the lesson's exercises that
it defines.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nbformat import NotebookNode

from proflab.lesson.outline import squeezed
from proflab_course.course.answer_cells import is_answer_cell
from proflab_course.course.release_stamp import read_stamp
from proflab_course.grading.answer_key import Key, meta
from proflab_course.grading.defined_names import defined_functions, names_in_each

_SHARE = 3  # one of so many of a lesson's names
_LEAST = 2  # names or texts of a lesson, however short it is
_TELLING = 60  # characters of a text that nobody writes by chance


@dataclass(frozen=True)
class Names:
    """Hold what tells a lesson: names of graded cells, of exercises, and texts of cells."""

    graded: frozenset[str] = frozenset()
    exercises: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()

    def without(self, texts: Iterable[str]) -> Names:
        """Return the same without these texts."""
        return Names(self.graded, self.exercises, self.texts.difference(texts))


@dataclass(frozen=True)
class Common:
    """Count the names of graded cells, exercises and texts that a notebook has of a lesson."""

    lesson: Names
    graded: int
    exercises: int
    texts: int

    @property
    def has_cells(self) -> bool:
        """Return True if the notebook has several of the lesson's cells, by name or by text."""
        return _is_share(self.graded, self.lesson.graded) or self.texts >= _LEAST

    @property
    def defines_exercises(self) -> bool:
        """Return True if the notebook defines a share of the lesson's exercises."""
        return _is_share(self.exercises, self.lesson.exercises)

    @property
    def total(self) -> int:
        """The names and texts in common."""
        return self.graded + self.exercises + self.texts


def _is_share(count: int, names: frozenset[str]) -> bool:
    return count >= max(_LEAST, len(names) / _SHARE)


class Lessons:
    """The lesson that is graded, and the others in source/, which are read when needed."""

    def __init__(self, key: Key, sources: Path | None = None) -> None:
        self.key = key
        self._sources = sources
        kept = [c for c in key.cells if c.kind not in ("solution", "manual")]
        self._own = Names(
            frozenset(c.grade_id for c in key.cells if c.kind in ("solution", "test", "manual")),
            frozenset(c.grade_id for c in key.cells if c.is_exercise),
            _telling(text for cell in kept for text in cell.texts),
        )

    @cached_property
    def _all(self) -> dict[str, Names]:
        """The names of all lessons, without texts that several of them have."""
        others = sorted(self._sources.glob("*/*.ipynb")) if self._sources else []
        found = {path.stem: _read_names(path) for path in others if path.stem == path.parent.name}
        found |= {self.key.name: self._own}
        counts = Counter(text for names in found.values() for text in names.texts)
        shared = {text for text, count in counts.items() if count > 1}
        return {lesson: names.without(shared) for lesson, names in found.items()}

    def folders(self) -> set[str]:
        """Return the names of the lessons and so of their folders."""
        there = [path.name for path in self._sources.iterdir()] if self._sources else []
        return {self.key.name, *there}

    def lesson_of(self, notebook: NotebookNode) -> str:
        """Return the name of a notebook's lesson; empty if it cannot be determined."""
        if _is_share(len(_marked(notebook) & self._own.graded), self._own.graded):
            return self.key.name
        common = self._common(notebook)
        stamp = read_stamp(notebook.metadata).get("lesson", "")
        by_cells = [name for name, found in common.items() if found.has_cells]
        by_exercises = [name for name, found in common.items() if found.defines_exercises]
        if not by_cells and (stamp or not by_exercises):
            return stamp
        candidates = by_cells or by_exercises
        return max(candidates, key=lambda name: (common[name].total, name == self.key.name))

    def has_anything(self, notebook: NotebookNode) -> bool:
        """Return True if a notebook has any name or text of the lesson that is graded."""
        return bool(_marked(notebook) & self._own.graded) or bool(
            self._common(notebook)[self.key.name].total
        )

    def _common(self, notebook: NotebookNode) -> dict[str, Common]:
        """Return for each lesson what a notebook has in common with it."""
        marked, texts = _marked(notebook), _telling(squeezed(c.source) for c in notebook.cells)
        code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        wanted = set().union(*(names.exercises for names in self._all.values()))
        defined = set().union(*names_in_each(code, wanted, defined_functions))
        return {
            lesson: Common(
                names,
                len(marked & names.graded),
                len(defined & names.exercises),
                len(texts & names.texts),
            )
            for lesson, names in self._all.items()
        }

    def is_untouched(self, notebook: NotebookNode) -> bool:
        """Return True if a notebook has only cells of today's release."""
        given = {squeezed(cell.released.source) for cell in self.key.cells}
        return all(squeezed(cell.source) in given for cell in notebook.cells)


def _marked(notebook: NotebookNode) -> set[str]:
    """Return the names that nbgrader's metadata gives a notebook's cells."""
    return {name for c in notebook.cells if isinstance(name := meta(c).get("grade_id"), str)}


def _telling(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(text for text in texts if len(text) >= _TELLING)


def _read_names(path: Path) -> Names:
    """Return what tells the lesson of a source notebook; nothing if it cannot be read."""
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        marks = [cell["metadata"].get("nbgrader", {}) for cell in cells]
        graded = [m for m in marks if m.get("grade") or m.get("solution")]
        exercises = [m["grade_id"] for m in graded if not m.get("grade")]
        texts = [
            squeezed("".join(cell["source"]))
            for cell, m in zip(cells, marks, strict=True)
            if not (m.get("grade") or m.get("solution"))
        ]
        return Names(
            frozenset(m["grade_id"] for m in graded),
            frozenset(name for name in exercises if not is_answer_cell(name)),
            _telling(texts),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Names()
