"""Fold the code that a reader need not read: demo cells, and given cells that are long.

JupyterLab shows a folded cell's first line and its outputs; Colab shows a form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proflab_course.build.measures import filled_lines
from proflab_course.course.notebook import Lesson

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

OPEN_LINES = 8  # of a given cell that stays open, blank ones apart


def fold_code(lesson: Lesson, facts: Facts) -> Lesson:
    """Fold a lesson's demo cells, and its given cells of more lines than OPEN_LINES."""
    for cell in lesson.named("demo", "given"):
        if cell.role == "demo" or len(filled_lines(cell.source)) > OPEN_LINES:
            metadata = cell.node.metadata
            metadata["jupyter"] = {**metadata.get("jupyter", {}), "source_hidden": True}
            metadata["cellView"] = "form"
    return lesson
