"""Lay questions out: for a phone, for paper, and as a table in which answers are counted.

The pages need no other file and no network. That for a phone has a script of its own, which saves
or copies what was typed; nothing is sent anywhere.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from proflab_course.grading.pages.markup import Piece, to_html

COLUMNS = ("question", "guess", "count")  # of the table, and of what a phone saves


@dataclass(frozen=True)
class Question:
    """One question: its name in the lesson, its text as markdown, and where it stands there.

    hint: how to answer, such as "in percent".
    """

    name: str
    text: str
    section: str = ""
    hint: str = ""

    @cached_property
    def html(self) -> Markup:
        """Return the text as HTML, of which nothing is run or fetched."""
        shown = to_html(Piece("markdown", self.text))
        return Markup(shown)  # noqa: S704 (it has passed the filter)


def write_pages(
    lesson: str, kind: str, questions: Sequence[Question]
) -> Iterator[tuple[str, str, str]]:
    """Yield for each file its name, what it is, and its text; kind: such as "guesses"."""
    start = f"{lesson[:2]}-{kind}"
    values = {"lesson": lesson, "title": _title(lesson), "kind": kind, "questions": questions}
    yield f"{start}.html", "Page for phones", _page("phone.html.j2", values)
    yield f"{start}-paper.html", "Sheet to print", _page("paper.html.j2", values)
    yield f"{start}.csv", "Table to fill in", _table(questions)


def _title(lesson: str) -> str:
    number, _, name = lesson.partition("_")
    return f"{number} · {name.replace('_', ' ').capitalize()}"


def _page(template: str, values: dict) -> str:
    made = Environment(
        loader=PackageLoader("proflab_course.questions"), autoescape=True, trim_blocks=True
    )
    script = made.loader.get_source(made, "phone.js")[0] if made.loader else ""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    trusted = Markup(script)  # noqa: S704 (the project's own)
    return made.get_template(template).render(**values, script=trusted, digest=digest)


def _table(questions: Sequence[Question]) -> str:
    """Return the table: two empty lines for each question, more are to be added."""
    text = io.StringIO()
    rows = [(question.name, "", "") for question in questions for _ in range(2)]
    csv.writer(text, lineterminator="\r\n").writerows([COLUMNS, *rows])
    return text.getvalue()
