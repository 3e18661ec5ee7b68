"""Lay questions out: for a hall, a phone and paper, and as a table in which answers are counted.

The pages need no other file and no network. That for a phone has a script of its own, which saves
or copies what was typed, and that for a hall one that turns its pages; nothing is sent anywhere.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from proflab_course.course.concepts import LETTERS
from proflab_course.grading.pages.markup import Piece, to_html
from proflab_course.questions.concepts import Asked
from proflab_course.questions.peer import STEPS
from proflab_course.questions.votes import ROUND_COLUMNS, ROUNDS

if TYPE_CHECKING:
    from proflab_course.report.concept_items import ConceptItem as Figures

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


_Files = Iterator[tuple[str, str, bytes]]  # for each file its name, what it is, and its bytes


def guess_pages(lesson: str, questions: Sequence[Question]) -> _Files:
    """Yield the files about a lesson's guesses: for phones, for paper, and a table to fill in."""
    start = f"{lesson[:2]}-guesses"
    values = {"lesson": lesson, "title": _title(lesson), "questions": questions}
    yield f"{start}.html", "Page for phones", _page("phone", values, script=True)
    yield f"{start}-paper.html", "Sheet to print", _page("paper", values)
    rows = [(question.name, "", "") for question in questions for _ in range(2)]
    yield f"{start}.csv", "Table to fill in", _table(COLUMNS, rows)


def concept_pages(lesson: str, asked: Sequence[Asked], figures: Mapping[str, Figures]) -> _Files:
    """Yield the files about a lesson's concept questions: for the hall, for paper, with the keys.

    figures: those of a graded class, by the questions' ids; they go on the page with the keys.
    """
    start = lesson[:2]
    values = {"lesson": lesson, "title": _title(lesson), "questions": asked}
    yield f"{start}.html", "Page to show", _page("lecture", values, script=True)
    yield f"{start}-paper.html", "Sheet to print, A5", _page("letters", values)
    keys = {**values, "figures": figures, "steps": STEPS}
    yield f"{start}-key.html", "Keys, for you alone", _page("key", keys)
    rows = [(each.id, str(number), *[""] * len(LETTERS)) for number in ROUNDS for each in asked]
    yield f"{start}-votes.csv", "Table to fill in", _table(ROUND_COLUMNS, rows)


def _title(lesson: str) -> str:
    number, _, name = lesson.partition("_")
    return f"{number} · {name.replace('_', ' ').capitalize()}"


def _page(name: str, values: dict, script: bool = False) -> bytes:
    """Return the page of a template; script: with the script beside it, which alone may run."""
    made = Environment(
        loader=PackageLoader("proflab_course.questions"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["value"] = _value
    if script and made.loader:
        text = made.loader.get_source(made, f"{name}.js")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        trusted = Markup(text)  # noqa: S704 (the project's own)
        values = values | {"script": trusted, "digest": digest}
    return made.get_template(f"{name}.html.j2").render(**values).encode()


def _value(value: object) -> str:
    """Return a value of concepts.toml as a page shows it: floats to five digits."""
    if isinstance(value, list):
        return f"({', '.join(map(_value, value))})"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([columns, *rows])
    return text.getvalue().encode()
