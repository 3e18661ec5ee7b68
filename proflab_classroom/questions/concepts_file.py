"""Read a lesson's concept questions: modules/LESSON/concepts.toml, which no release contains.

The file is an array `question` of at most four tables:

[[question]]
id = "07_2"             # or "04_A1", "07_E1": the answer's name is concept_07_2
kind = "concept"        # one of KINDS
after = "cache_misses"  # the exercise or demo that decides it; without it there is no question
stem = "How many of the reads miss?"
options = { A = "0.03", B = "0.5", C = "none", D = "all" }
key = "D"
slips = { A = "only the line that is too many misses" }  # the misconception behind an option
mutants = { A = ["cache_misses", "a wrong solution's sentence"] }  # it leads to the option
why = "Each line is thrown out before it is read again."
line = "cache_misses([8 * (i % 33) for i in range(3300)], 8, 32) / 3300"  # in the solved lesson
value = 1.0             # what the line gives, to 1e-3; a list stands for a tuple, too
option_values = { A = 0.03, D = 1.0 }  # what options stand for; tests/lessons/test_concepts.py
                                       # tries that mutants lead to them
source = ""             # what the key rests on, where there is no line
fixed = []              # letters that stay last when options are put in another order
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proflab_classroom.items.item import Item
from proflab_course.course.answer_cells import LETTERS, QUESTION_ID
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.toml_table import parse_toml, refuse_unknown

FILE = "concepts.toml"
KINDS = ("concept", "audit", "end")
MOST_QUESTIONS = 4
# Words at most, in a reader's minute and a half for each question.
MOST_WORDS = {"stem": 100, "an option": 40, "a slip": 40, "why": 70, "source": 70}
_MOST_BYTES = 64 * 1024
_MOST_LINE = 600
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# Delimiters of nbgrader (=== of a mark scheme), cell magics and fences would end or change a cell.
_MARKUP = re.compile(r"### (BEGIN|END)|===|^%%|```", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Concept(Item):
    """Hold one question of a lesson.

    id: such as "07_2". kind: one of KINDS. after: the grade_id of the exercise or demo cell that
    decides it. mutants: by letter, the exercise and the sentence of a wrong solution. source: what
    the key rests on where there is no line.
    """

    id: str
    kind: str
    after: str
    mutants: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    why: str = ""
    source: str = ""

    @property
    def name(self) -> str:
        """The answer's name in the notebook."""
        return f"concept_{self.id}"

    @property
    def number(self) -> str:
        """The question's number as a page has it: "07.2"."""
        return self.id.replace("_", ".")

    @property
    def label(self) -> str:
        """The label of the hidden case that has the key."""
        # course/answer_cells.py finds the question by this label: _LABEL.
        return f"the answer to {self.number}"

    def order(self, key: bytes | None) -> str:
        """Return the letters in the order that a key draws; without one, in the file's."""
        return LETTERS if key is None else self.drawn(key, "options", self.id)

    def secrets(self) -> list[str]:
        """Return the sentences that no student may see before grading: slips, and the why."""
        return [*self.slips.values(), self.why] if self.why else [*self.slips.values()]


def read_concepts(course: Course, lesson: str) -> list[Concept]:
    """Return a lesson's questions in the file's order; none without the file.

    Raises CourseError, one sentence that names file, question and remedy, for a mistake in it.
    """
    path = course.module(lesson).with_name(FILE)
    place = f"modules/{lesson}/{FILE}"
    try:
        data = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise CourseError(f"{place} cannot be read: {error.strerror}") from None
    return parse_concepts(data, lesson, place)


def parse_concepts(data: bytes, lesson: str, place: str = FILE) -> list[Concept]:
    """Return the questions in a file's bytes; `place` names it in messages."""
    if len(data) > _MOST_BYTES:
        raise CourseError(f"{place} is larger than {_MOST_BYTES // 1024} KB: shorten it")
    tables = parse_toml(data, place)
    asked = tables.pop("question", [])
    is_list = isinstance(asked, list) and all(isinstance(each, dict) for each in asked)
    if tables or not is_list:
        raise CourseError(f"{place} may hold tables [[question]] and nothing else: remove the rest")
    if len(asked) > MOST_QUESTIONS:
        what = f"{len(asked)} questions, of which a lesson has {MOST_QUESTIONS} at most"
        raise CourseError(f"{place} has {what}: choose among them")
    found: list[Concept] = []
    for number, table in enumerate(asked, start=1):
        concept = _Table(table, place, number).concept(lesson)
        if concept.id in {each.id for each in found}:
            raise CourseError(f"{place}, question {concept.id}: two have this id; change one")
        found.append(concept)
    return found


# So a field that Concept or Item gains becomes a key of the file.
_KEYS = tuple(Concept.__dataclass_fields__)


@dataclass
class _Table:
    """One question as it stands in the file, and what is said where it has a mistake."""

    table: dict[str, Any]
    place: str
    number: int

    @property
    def where(self) -> str:
        """The file and the question, by its id or else by its number."""
        name = self.table.get("id")
        name = name if isinstance(name, str) and len(name) <= 20 else f"number {self.number}"
        return f"{self.place}, question {name}"

    def refuse(self, what: str) -> CourseError:
        """Return the error that says what is wrong with this question."""
        return CourseError(f"{self.where}: {what}")

    def concept(self, lesson: str) -> Concept:
        """Return the question; raise CourseError for the first mistake in it."""
        refuse_unknown(self.table, _KEYS, self.where)
        name = self._text("id")
        match = QUESTION_ID.fullmatch(name)
        if not match or match[1] != lesson[:2]:
            like = f"{lesson[:2]}_1, an audit's {lesson[:2]}_A or an end question's {lesson[:2]}_E1"
            raise self.refuse(f"the id must be like {like}")
        kind = self._text("kind") if "kind" in self.table else KINDS[0]
        if kind not in KINDS:
            raise self.refuse(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        after = self._text("after")
        if not _NAME.fullmatch(after):
            raise self.refuse(f"after must be the grade_id of an exercise or demo, not {after!r}")
        options = self._texts("options", "an option")
        if sorted(options) != list(LETTERS):
            raise self.refuse("options must have the letters A, B, C and D, no more and no fewer")
        options = {letter: options[letter] for letter in LETTERS}
        if len({text.casefold() for text in options.values()}) < len(LETTERS):
            raise self.refuse("two options are alike; change one")
        key = self._letter("key", self.table.get("key"))
        slips = self._texts("slips", "a slip")
        if len({*slips.values()}) < len(slips):
            raise self.refuse("two slips are alike, so that feedback cannot tell them apart")
        if key in slips:
            raise self.refuse(f"the key {key} is right, so it can have no slip; remove it")
        concept = Concept(
            id=name,
            kind=kind,
            after=after,
            stem=self._text("stem", "stem"),
            options=options,
            key=key,
            slips=slips,
            mutants=self._by_letter("mutants", self._mutant),
            why=self._text("why", "why") if self.table.get("why") else "",
            line=self._line(),
            value=self.table.get("value"),
            option_values=self._by_letter("option_values", lambda _, value: value),
            source=self._text("source", "source") if self.table.get("source") else "",
            fixed=self._fixed(),
        )
        if bool(concept.line) != (concept.value is not None):
            raise self.refuse("line and value belong together; add the one that is missing")
        if not concept.line and not concept.source:
            raise self.refuse("neither a line computes its key nor a source states it; add one")
        if key in concept.mutants:
            raise self.refuse(f"the key {key} is right, so it can have no mutant; remove it")
        return concept

    def _text(self, key: str, what: str = "") -> str:
        return self._checked(key, self.table.get(key), what)

    def _checked(self, key: str, text: Any, what: str = "") -> str:
        if not isinstance(text, str) or not text.strip():
            raise self.refuse(f"{key} must be a text, not {text!r:.60}")
        if "\n" in text.strip() or not text.strip().isprintable():
            raise self.refuse(f"{key} must be one line of text; break no line in it")
        if what and _MARKUP.search(text):
            raise self.refuse(f"{key} has a mark in it that the build reads; write it otherwise")
        most = MOST_WORDS.get(what)
        if most and len(text.split()) > most:
            raise self.refuse(f"{key} has {len(text.split())} words, more than {most}; shorten it")
        return text.strip()

    def _letter(self, key: str, letter: Any) -> str:
        if not isinstance(letter, str) or letter not in LETTERS or len(letter) != 1:
            raise self.refuse(f"{key} must be one of the letters A, B, C and D, not {letter!r:.60}")
        return letter

    def _by_letter(self, key: str, value: Callable[[str, Any], Any]) -> dict[str, Any]:
        table = self.table.get(key, {})
        if not isinstance(table, dict):
            raise self.refuse(f"{key} must be a table by letter, such as {{ A = … }}")
        return {
            self._letter(f"each key of {key}", letter): value(f"{key}.{letter}", each)
            for letter, each in sorted(table.items())
        }

    def _texts(self, key: str, what: str) -> dict[str, str]:
        return self._by_letter(key, lambda where, text: self._checked(where, text, what))

    def _mutant(self, where: str, pair: Any) -> tuple[str, str]:
        texts = isinstance(pair, list) and all(isinstance(text, str) for text in pair)
        if not texts or len(pair) != 2:
            raise self.refuse(f"{where} must be a list of an exercise and a mutant's sentence")
        return pair[0], pair[1]

    def _line(self) -> str:
        line = self._text("line") if self.table.get("line") else ""
        if len(line) > _MOST_LINE:
            raise self.refuse(f"line has more than {_MOST_LINE} characters; shorten it")
        try:
            compile(line, "line", "exec")
        except (SyntaxError, ValueError) as error:
            raise self.refuse(f"line is not Python ({error}); mend it") from None
        return line

    def _fixed(self) -> tuple[str, ...]:
        letters = self.table.get("fixed", [])
        if not isinstance(letters, list):
            raise self.refuse('fixed must be a list of letters, such as ["C", "D"]')
        return tuple(sorted({self._letter("each item of fixed", each) for each in letters}))
