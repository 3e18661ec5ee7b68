"""Read the inventory: items asked before a course and after it, from modules/inventory.toml.

Its two halves are graded like lessons, earn nothing, and are built when they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proflab_classroom.items.item import Item
from proflab_course.course.answer_cells import LETTERS
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.secret import course_secret, draw
from proflab_course.course.toml_table import parse_toml, refuse_unknown, typed

FILE = "inventory.toml"
NAME = "inventory"
# nbgrader and course/layout.py (LESSON_NAME) take these for names of lessons.
BEFORE, AFTER = "00_inventory", "99_inventory"
HALVES = {BEFORE: "before", AFTER: "after"}  # what nbgrader calls a half, and what people do
FORMS = (1, 2)
SURE = (1, 2, 3, 4)  # 1 is a guess
_PAIR = {"number", "rule", "lessons", "fixed", "A", "B"}
_KEYS = {"stem", "options", "key", "slips", "line", "value", "option_values"}


@dataclass(frozen=True, kw_only=True)
class InventoryItem(Item):
    """Hold one item of a pair; `shown` gives the order of options that students see.

    pair, letter: such as 4 and "A". rule, lessons: the pair's name, and the numbers of the lessons
    that teach it.
    """

    pair: int
    letter: str
    rule: str
    lessons: tuple[str, ...]

    @property
    def id(self) -> str:
        """Return the item's name in notebooks and tables, such as "04a"."""
        return f"{self.pair:02}{self.letter.lower()}"

    @property
    def form(self) -> int:
        """Return the form that has the item: 1 has A of odd pairs and B of even ones."""
        return 1 if (self.letter == "A") == (self.pair % 2 == 1) else 2

    @property
    def shown(self) -> dict[str, str]:
        """Return for each letter that students see the file's letter of that option."""
        # No secret: the order is the same in every class, so that exports can be put together.
        return dict(zip(LETTERS, self.drawn(b"inventory", self.id), strict=True))


def read_inventory(course: Course) -> list[InventoryItem]:
    """Return the items, A and B of each pair in order.

    Raises CourseError, one sentence, where the file is missing or has a mistake.
    """
    path = course.root / "modules" / FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CourseError(f"modules/{FILE} cannot be read: {error.strerror}") from None
    return parse_inventory(data)


def parse_inventory(data: bytes) -> list[InventoryItem]:
    """Return the items of a file's bytes; CourseError for a mistake in it."""
    where = f"modules/{FILE}"
    tables = parse_toml(data, where)
    pairs = tables.get("pair", [])
    if tables.keys() - {"pair"} or not isinstance(pairs, list) or not pairs:
        raise CourseError(f"{where} must hold tables [[pair]] and nothing else")
    items: list[InventoryItem] = []
    for number, pair in enumerate(pairs, start=1):
        if not isinstance(pair, dict) or pair.get("number") != number:
            raise CourseError(f"{where}: pairs must be numbered 1, 2, … in order; see {number}")
        items += _pair(pair, f"{where}, pair {number}")
    return items


def _pair(pair: dict[str, Any], where: str) -> Iterable[InventoryItem]:
    refuse_unknown(pair, _PAIR, where)
    lessons, fixed = pair.get("lessons"), pair.get("fixed", [])
    names = lessons if isinstance(lessons, list) else []
    if not names or not all(isinstance(n, str) and re.fullmatch(r"\d\d", n) for n in names):
        raise CourseError(f'{where}: lessons must be a list such as ["03", "08"]')
    if not isinstance(fixed, list) or not all(each in [*LETTERS] for each in fixed):
        raise CourseError(f'{where}: fixed must be a list of letters such as ["C", "D"]')
    for letter in "AB":
        found, place = pair.get(letter), f"{where}{letter}"
        if not isinstance(found, dict):
            raise CourseError(f"{where}: it has no item {letter}")
        refuse_unknown(found, _KEYS, place)
        # Both ask for one rule: without slips of its own, B has those of A.
        item: dict[str, Any] = {"slips": pair["A"].get("slips"), **found}
        texts = (pair.get("rule"), item.get("stem"), item.get("line"))
        if not all(map(_is_text, texts)) or "value" not in item:
            raise CourseError(f"{place}: rule, stem and line are texts, and it needs a value")
        options: Any = item.get("options")
        key, slips = item.get("key", ""), item["slips"]
        if not _are_texts(options) or {*options} != {*LETTERS} or key not in [*LETTERS]:
            raise CourseError(f"{place}: it has options A, B, C and D, and the key is one of them")
        if not _are_texts(slips) or {*slips} != {*LETTERS} - {key}:
            raise CourseError(f"{place}: each option but the key {key} has a slip")
        yield InventoryItem(
            pair=pair["number"],
            letter=letter,
            rule=pair["rule"],
            lessons=tuple(names),
            stem=item["stem"],
            options=options,
            key=key,
            slips=slips,
            line=item["line"],
            value=item["value"],
            option_values=typed(
                dict[str, Any], item.get("option_values", {}), f"{place}: option_values"
            ),
            fixed=tuple(sorted({*fixed})),
        )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\n" not in value


def _are_texts(table: Any) -> bool:
    return isinstance(table, dict) and all(map(_is_text, table.values()))


def of_form(items: Iterable[InventoryItem], form: int) -> list[InventoryItem]:
    """Return the items of a form, one of each pair."""
    return [item for item in items if item.form == form]


def asked(items: Iterable[InventoryItem], lessons: Collection[str]) -> list[InventoryItem]:
    """Return the items of which a class has had a lesson; lessons: their names or numbers."""
    had = {name[:2] for name in lessons}
    return [item for item in items if had & {*item.lessons}]


def form_for(root: Path, student: str, half: str) -> int:
    """Return the form, 1 or 2, for a student in a half, "before" or "after": never one twice."""
    # With other words, students who are between the halves might get the same form again.
    first = draw(course_secret(root), NAME, student, low=FORMS[0], high=FORMS[1])
    return first if half == "before" else 3 - first
