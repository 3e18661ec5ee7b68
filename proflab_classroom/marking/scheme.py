"""Make an essay's mark scheme for formgrader: a check box for each item.

Everything in it is the course's own but for the numbers that `proflab grade` has looked up, which
are escaped. The items that are ticked are kept as a line of nbgrader's comment; rubric.py reads
such lines.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from nbformat import NotebookNode

from proflab_classroom.marking.essay_log import EssayLog
from proflab_course.course.rubric import Rubric, rubric_in
from proflab_course.grading.answer_key import meta
from proflab_course.grading.submissions.essay_numbers import NOTE, safe_note

_CODE = re.compile(r"`([^`]+)`")
_STRESS = re.compile(r"\*([^*]+)\*")


def scheme_above(root: Path, lesson: str, cell: NotebookNode) -> str | None:
    """Return the scheme as HTML; None where the cell is no essay with a scheme of items.

    Raises CourseError if the rubric or the log of the course at `root` cannot be read.
    """
    rubric = rubric_in(root / "source" / lesson / f"{lesson}.ipynb")
    if rubric is None or meta(cell).get("grade_id") != rubric.cell:
        return None
    return _scheme(rubric, EssayLog(root).marking(lesson).names, _numbers(cell))


def _numbers(cell: NotebookNode) -> str:
    """Return what grading has noted of the essay's numbers."""
    noted = cell.metadata.get("proflab", {})
    note = noted.get(NOTE) if isinstance(noted, dict) else None
    return safe_note(note) if isinstance(note, str) else ""


def _scheme(rubric: Rubric, names: list[str], numbers: str) -> str:
    # The project's own file, so trusted; course/rubric.py reads the lines that it writes.
    script = Markup((Path(__file__).parent / "templates" / "marking.js").read_text("utf-8"))
    page = _environment().get_template("scheme.html.j2")
    return page.render(rubric=rubric, names=names, numbers=numbers, script=script)


@cache
def _environment() -> Environment:
    loader = PackageLoader("proflab_classroom.marking")
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True)
    environment.filters["inline"] = _inline
    return environment


def _inline(text: Any) -> Markup:
    """Return an item's text as HTML: code and stress, and nothing else."""
    html = _CODE.sub(r"<code>\1</code>", str(escape(text)))
    return Markup(_STRESS.sub(r"<em>\1</em>", html))
