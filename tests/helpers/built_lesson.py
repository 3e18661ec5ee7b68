"""The last lesson of a course that was built once: its notebook, its folder, and hand-ins of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from proflab_course.course.layout import Course


@dataclass(frozen=True)
class BuiltLesson:
    """A lesson of a course that `built` returns, which is not to be changed."""

    name: str
    built: Callable[[], Path]

    def course_in(self, place: Path) -> Course:
        """Copy the built course, without hand-ins, into `place`."""
        shutil.copytree(self.built(), place, dirs_exist_ok=True)
        (place / "submitted").mkdir()
        return Course(place)

    def source(self) -> NotebookNode:
        """Return the instructor's notebook."""
        return nbformat.read(Course(self.built()).source(self.name), as_version=4)

    def support(self) -> Path:
        """Return the lesson's folder, with built.py."""
        return self.built() / "release" / self.name

    def handed(self, **functions: str) -> NotebookNode:
        """Return the release with these exercises written; the others have their solution."""
        notebook = nbformat.read(self.support() / f"{self.name}.ipynb", as_version=4)
        cells = self.source().cells
        solved = {c.metadata.get("nbgrader", {}).get("grade_id"): c.source for c in cells}
        for cell in notebook.cells:
            about = cell.metadata.get("nbgrader", {})
            if about.get("solution") and cell.cell_type == "code":
                cell.source = functions.get(about["grade_id"], solved[about["grade_id"]])
        return notebook
