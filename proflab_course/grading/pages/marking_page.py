"""Put above an answer in formgrader what features offer for its marking, such as a mark scheme.

`MarkScheme` is a preprocessor of formgrader's own page (see jupyter_config.py), before
`DisarmMarkup`, which leaves alone what is already HTML.
"""

from __future__ import annotations

from pathlib import Path

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from proflab_course.course.features import features
from proflab_course.course.layout import CourseError
from proflab_course.grading.answer_key import kind_of
from proflab_course.grading.pages.render import Inert


class MarkScheme(NbGraderPreprocessor):
    """Insert what features offer above each answer that a person marks."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Return the notebook with such cells; unchanged where the page is of no graded lesson."""
        place = Path(str(resources.get("metadata", {}).get("path", ""))).resolve()
        lesson = str(resources.get("assignment_id", ""))
        # It lies in autograded/STUDENT/LESSON/ of its course.
        if len(place.parents) < 3 or place.name != lesson:
            return nb, resources
        try:
            cells = [
                each
                for cell in nb.cells
                for each in (*_schemes(place.parents[2], lesson, cell), cell)
            ]
        except CourseError as error:
            self.log.warning("No mark scheme above the essay of %s: %s", lesson, error)
            return nb, resources
        nb.cells = cells
        return nb, resources


def _schemes(root: Path, lesson: str, cell: NotebookNode) -> list[NotebookNode]:
    """Return the cells above a cell; none but above an answer that a person marks."""
    if kind_of(cell) != "manual":
        return []
    found = (feature.scheme(root, lesson, cell) for feature in features())
    return [
        NotebookNode(cell_type="markdown", metadata=NotebookNode(), source=Inert(html))
        for html in found
        if html is not None
    ]
