"""Put an essay's mark scheme above it in formgrader: a check box for each item.

`MarkScheme` is a preprocessor of formgrader's own page (see jupyter_config.py), before
`DisarmMarkup`, which leaves alone what is already HTML. Everything in this cell is the course's own
but for the numbers that `proflab grade` has looked up, which are escaped. The items that are ticked
are kept as a line of nbgrader's comment; rubric.py reads such lines.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from proflab_course.course.layout import CourseError
from proflab_course.course.rubric import Rubric, rubric_in
from proflab_course.essays.log import EssayLog
from proflab_course.grading.answer_key import meta
from proflab_course.grading.pages.render import Inert
from proflab_course.grading.submissions.essay_numbers import NOTE, safe_note

_CODE = re.compile(r"`([^`]+)`")
_STRESS = re.compile(r"\*([^*]+)\*")


class MarkScheme(NbGraderPreprocessor):
    """Insert the mark scheme above the essay of a graded notebook."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Return the notebook with one cell more; unchanged where there is no scheme of items."""
        place = Path(str(resources.get("metadata", {}).get("path", ""))).resolve()
        lesson = str(resources.get("assignment_id", ""))
        if len(place.parents) < 3 or place.name != lesson:
            return nb, resources
        root = place.parents[2]
        try:
            rubric = rubric_in(root / "source" / lesson / f"{lesson}.ipynb")
            names = EssayLog(root).names(lesson)
        except CourseError as error:
            self.log.warning("No mark scheme above the essay of %s: %s", lesson, error)
            return nb, resources
        for index, cell in enumerate(nb.cells):
            if rubric is not None and meta(cell).get("grade_id") == rubric.cell:
                nb.cells.insert(index, _scheme_cell(rubric, names, _numbers(cell)))
                break
        return nb, resources


def _numbers(cell: NotebookNode) -> str:
    """Return what grading has noted of the essay's numbers."""
    noted = cell.metadata.get("proflab", {})
    note = noted.get(NOTE) if isinstance(noted, dict) else None
    return safe_note(note) if isinstance(note, str) else ""


def _scheme_cell(rubric: Rubric, names: list[str], numbers: str) -> NotebookNode:
    script = Markup((Path(__file__).parent / "marking" / "marking.js").read_text("utf-8"))
    page = _environment().get_template("scheme.html.j2")
    html = page.render(rubric=rubric, names=names, numbers=numbers, script=script)
    return NotebookNode(cell_type="markdown", metadata=NotebookNode(), source=Inert(html))


@cache
def _environment() -> Environment:
    loader = PackageLoader("proflab_course.grading.pages", "marking")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True)
    environment.filters["inline"] = _inline
    return environment


def _inline(text: Any) -> Markup:
    """Return an item's text as HTML: code and stress, and nothing else."""
    html = _CODE.sub(r"<code>\1</code>", str(escape(text)))
    return Markup(_STRESS.sub(r"<em>\1</em>", html))
