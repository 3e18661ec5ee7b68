"""Lay questions out: for a hall, a phone and paper, and as a table in which answers are counted.

The pages need no other file and no network. That for a phone has a script of its own, which saves
or copies what was typed, and that for a hall one that turns its pages; nothing is sent anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment
from markupsafe import Markup

from proflab_classroom.questions.asked import Asked, inline
from proflab_classroom.questions.peer import STEPS
from proflab_classroom.questions.votes import ROUND_COLUMNS, ROUNDS
from proflab_course.course.answer_cells import LETTERS
from proflab_course.course.csv_table import LIVE, csv_text
from proflab_course.grading.pages.markup import Piece, to_html
from proflab_course.grading.pages.templates import template_loader

if TYPE_CHECKING:
    from proflab_classroom.questions.concept_items import ConceptItem as Figures

COLUMNS = ("question", "guess", "count")  # of the table, and of what a phone saves


@dataclass(frozen=True)
class GuessQuestion:
    """Hold one question: its name in the lesson, its text as markdown, and where it stands there.

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


Files = Iterator[tuple[str, str, bytes]]  # for each file its name, what it is, and its bytes


def guess_pages(lesson: str, questions: Sequence[GuessQuestion]) -> Files:
    """Yield the files about a lesson's guesses: for phones, for paper, and a table to fill in."""
    start = f"{lesson[:2]}-guesses"
    values = {"lesson": lesson, "title": page_title(lesson), "questions": questions}
    # What a spreadsheet would execute: phone.js marks it in its tables as `csv_text` does.
    on_phones = values | {"live": json.dumps(LIVE)}
    yield f"{start}.html", "Page for phones", render_page("phone", on_phones, script="phone")
    yield f"{start}-paper.html", "Sheet to print", render_page("paper", values)
    # A guess and how many made it take a line; two of them show that there may be more.
    rows = [(question.name, "", "") for question in questions for _ in range(2)]
    yield f"{start}.csv", "Table to fill in", csv_text([COLUMNS, *rows]).encode()


def concept_pages(lesson: str, asked: Sequence[Asked], figures: Mapping[str, Figures]) -> Files:
    """Yield the files about a lesson's concept questions: for the hall, for paper, with the keys.

    figures: those of a graded class, by the questions' ids; they go on the page with the keys.
    """
    start = lesson[:2]
    values = {"lesson": lesson, "title": page_title(lesson), "questions": asked}
    yield f"{start}.html", "Page to show", render_page("lecture", values, script="lecture")
    yield f"{start}-paper.html", "Sheet to print, A5", render_page("letters", values)
    keys = {**values, "figures": figures, "steps": STEPS}
    yield f"{start}-key.html", "Keys, for you alone", render_page("key", keys)
    rows = [(each.id, str(number), *[""] * len(LETTERS)) for number in ROUNDS for each in asked]
    yield f"{start}-votes.csv", "Table to fill in", csv_text([ROUND_COLUMNS, *rows]).encode()


def page_title(lesson: str) -> str:
    """Return a lesson's number and name as a page has them: "07 · Scaling"."""
    number, _, name = lesson.partition("_")
    return f"{number} · {name.replace('_', ' ').capitalize()}"


def render_page(
    name: str, values: Mapping[str, object], script: str = "", folder: Path | None = None
) -> bytes:
    """Return the page of a template, here or in a folder of one's own.

    script: the name of one beside the templates, which alone may run in the page.
    """
    folders = [] if folder is None else [folder]
    made = Environment(
        loader=template_loader("proflab_classroom.questions", *folders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"value": _value, "inline": inline}
    trusted = {}
    if script and made.loader:
        text = made.loader.get_source(made, f"{script}.js")[0]
        # grading/pages/head.html.j2 allows the script of this digest alone: the page has to hold
        # its text to the letter.
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        trusted = {"script": Markup(text), "digest": digest}  # noqa: S704 (the project's own)
    return made.get_template(f"{name}.html.j2").render(**values, **trusted).encode()


def _value(value: object) -> str:
    """Return a value of concepts.toml as a page shows it: floats to five digits."""
    if isinstance(value, list):
        return f"({', '.join(map(_value, value))})"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
