"""Fold the code that a reader need not read: demo cells, and given cells that are long.

JupyterLab shows a folded cell's first line and its outputs; Colab shows a form.
"""

from __future__ import annotations

from proflab_course.course.notebook import Cell, Lesson

OPEN_LINES = 8  # of a given cell that stays open, blank ones apart


def fold(lesson: Lesson) -> None:
    """Fold a lesson's demo cells, and its given cells of more lines than OPEN_LINES."""
    for cell in lesson.named("demo", "given"):
        if cell.role == "demo" or _lines(cell) > OPEN_LINES:
            metadata = cell.node.metadata
            metadata["jupyter"] = {**metadata.get("jupyter", {}), "source_hidden": True}
            metadata["cellView"] = "form"


def _lines(cell: Cell) -> int:
    return sum(bool(line.strip()) for line in cell.source.splitlines())
