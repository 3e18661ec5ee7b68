"""Read a lesson's concept questions as its class sees them: which there are, in which letters.

A class's build may put the options in another order and leave questions out; it says so in the
metadata of the notebook in source/. Until it is built, the questions stand as concepts.toml has
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from proflab_classroom.items.question import Question
from proflab_classroom.questions.concepts_file import Concept, read_concepts
from proflab_course.course.answer_cells import LETTERS, ORDERS
from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_notebook
from proflab_course.grading.pages.markup import Piece, to_html


@dataclass(frozen=True)
class Option:
    """Hold an option as a class sees it. home: its letter in concepts.toml; slip: "" for none."""

    letter: str
    home: str
    text: str
    right: bool
    slip: str = ""

    @property
    def html(self) -> Markup:
        """Return the text as HTML of one line."""
        return inline(self.text)


@dataclass(frozen=True)
class Asked:
    """Hold a question as a class sees it. order: the letters of concepts.toml in its order."""

    concept: Concept
    order: str = LETTERS

    @property
    def id(self) -> str:
        """Return the question's id, such as "07_2"."""
        return self.concept.id

    @property
    def label(self) -> str:
        """Return what the notebook calls it: "Question 07.2" or "Audit 07.A"."""
        kind = "Audit" if self.concept.kind == "audit" else "Question"
        return f"{kind} {self.concept.number}"

    @property
    def html(self) -> Markup:
        """Return the stem as HTML of one line."""
        return inline(self.concept.stem)

    @property
    def claim(self) -> Markup:
        """Return where an audit's claim is from, as the notebook says it; "" for others."""
        told = self.concept.kind == "audit" and self.concept.line
        return inline(self.concept.source) if told and self.concept.source else Markup("")

    @cached_property
    def options(self) -> list[Option]:
        """Return the options in the order of the class."""
        concept = self.concept
        return [
            Option(
                letter,
                home,
                concept.options[home],
                home == concept.key,
                concept.slips.get(home, ""),
            )
            for letter, home in zip(LETTERS, self.order, strict=True)
        ]

    @property
    def key(self) -> str:
        """Return the right letter, as the class sees it."""
        return self.shown(self.concept.key)

    def shown(self, home: str) -> str:
        """Return the class's letter for a letter of concepts.toml."""
        return LETTERS[self.order.index(home)]

    def as_question(self) -> Question:
        """Return the question as one is asked it, with what is said afterwards."""
        concept = self.concept
        return Question(
            self.id,
            concept.stem,
            tuple(option.text for option in self.options),
            LETTERS.index(self.key),
            results=tuple(option.slip for option in self.options),
            note=concept.why,
        )


def asked_concepts(course: Course, lesson: str) -> list[Asked]:
    """Return the questions of the class's lesson; none where concepts.toml has none.

    Raises CourseError for a mistake in concepts.toml, or a notebook that cannot be read.
    """
    concepts = read_concepts(course, lesson)
    if not concepts:
        return []
    source = course.source(lesson)
    orders = read_notebook(source, lesson).notebook.metadata.get(ORDERS)
    if not isinstance(orders, Mapping):
        return [Asked(concept) for concept in concepts]
    built = [concept for concept in concepts if concept.id in orders]
    return [Asked(concept, _order(orders[concept.id])) for concept in built]


def _order(letters: Any) -> str:
    return letters if isinstance(letters, str) and sorted(letters) == sorted(LETTERS) else LETTERS


def inline(text: str) -> Markup:
    """Return a line of markdown as HTML: it stands after a letter, so it begins no list."""
    made = to_html(Piece("markdown", f"A {text}")).strip()
    shown = made.removeprefix("<p>A ").removesuffix("</p>")
    return Markup(shown)  # noqa: S704 (it has passed the filter)
