"""Read an essay's mark scheme: its items, and the two answers on which markers calibrate.

The scheme stands in the essay's cell, as its solution or between BEGIN MARK SCHEME and END MARK
SCHEME, and nowhere else: it is released no more than a solution is.

    - *1 point:* AlexNet in both units: 243.9 · 10⁶ and 232.6 · 1024² bytes (`demo_megabytes`).

    **A good answer (10).** Two lines of arithmetic …
    **A poor answer (1: item 10).** “The paper rounds; …”
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_source

_SCHEME = re.compile(
    r"### BEGIN SOLUTION\n(.*?)### END SOLUTION|"
    r"=== BEGIN MARK SCHEME ===\n(.*?)=== END MARK SCHEME ===",
    re.S,
)
# As modules/ write a mark scheme: items, and answers on which markers calibrate.
_ITEM = re.compile(r"^- \*(\d+) points?(?:, [^*]*)?:\* ?(.*)$", re.M)
_ANCHOR = re.compile(r"^\*\*A (good|poor) answer \((\d+)(?:: items? ([\d, and]+))?\)\.\*\* *(.*)$")


@dataclass(frozen=True)
class Anchor:
    """Hold an answer in outline, "good" or "poor", and the numbers of the items that it earns."""

    kind: str
    items: frozenset[int]
    text: str


@dataclass(frozen=True)
class Rubric:
    """Hold a lesson's mark scheme; its items are numbered from 1.

    cell: the essay's grade_id; points: what the essay is worth; question: its text above the cell.
    """

    lesson: str
    cell: str
    points: float
    items: tuple[str, ...]
    anchors: tuple[Anchor, ...]
    head: str
    question: str

    @property
    def anchor_marks(self) -> dict[str, frozenset[int]]:
        """Return the items that each anchor earns, by "good answer" and "poor answer"."""
        return {f"{anchor.kind} answer": anchor.items for anchor in self.anchors}


def read_rubric(course: Course, lesson: str) -> Rubric:
    """Return a lesson's mark scheme from source/.

    Raises CourseError if the lesson has no essay, or its scheme is not of items of one point each.
    """
    path = course.source(lesson)
    rubric = rubric_in(path)
    if rubric is None:
        raise CourseError(
            f"{lesson} has no essay with a mark scheme of items of one point "
            f"(lines '- *1 point:* …' in its cell): there is nothing to share"
        )
    return rubric


def rubric_in(path: Path) -> Rubric | None:
    """Return the mark scheme in a lesson's notebook of source/; None if it has none of items."""
    return rubric_of(path.stem, read_source(path).cells)


def rubric_of(lesson: str, cells: Iterable[NotebookNode]) -> Rubric | None:
    """Return the mark scheme of the first essay among a lesson's cells; None if it has no items."""
    above: list[str] = []
    for cell in cells:
        marks = cell.metadata.get("nbgrader", {})
        if not (marks.get("grade") and marks.get("solution") and cell.cell_type == "markdown"):
            above = [*above[-3:], cell.source]
            continue
        found = _SCHEME.search(cell.source)
        scheme = (found[1] or found[2]) if found else ""
        items = _ITEM.findall(scheme)
        points = float(marks.get("points") or 0)
        if not items or any(worth != "1" for worth, _ in items) or len(items) != points:
            return None
        head = scheme[: scheme.index("- *1 point")].strip()
        question = next((text for text in reversed(above) if "**Essay**" in text), "")
        texts = tuple(text.strip() for _, text in items)
        return Rubric(
            lesson,
            marks["grade_id"],
            points,
            texts,
            _anchors(scheme, len(items)),
            head.removeprefix("**Mark scheme.**").strip(),
            question[question.find("**Essay**") :],
        )
    return None


def _anchors(scheme: str, count: int) -> tuple[Anchor, ...]:
    """Return the answers in outline; without the list of its items an anchor earns all."""
    found = []
    for paragraph in scheme.split("\n\n"):
        if match := _ANCHOR.match(" ".join(paragraph.split("\n")).strip()):
            kind, _, which, text = match.groups()
            items = map(int, re.findall(r"\d+", which)) if which else range(1, count + 1)
            found.append(Anchor(kind, frozenset(items), text.strip()))
    return tuple(found)


# ── marks by items, as a line of a comment ──────────────────────────────────────────────────
# marking.js, in formgrader's page, writes and reads the same lines, a marker's name in them.

_LINE = re.compile(r"^Items(?: \(([^\s()]{1,40})\))?: (none|\d{1,3}(?:, \d{1,3}){0,99})\.$")


def item_line(items: Iterable[int]) -> str:
    """Return the line of a comment that says which items were given.

    >>> item_line({5, 2}), item_line([])
    ('Items: 2, 5.', 'Items: none.')
    """
    return f"Items: {', '.join(map(str, sorted(items))) or 'none'}."


def item_marks(comment: str | None) -> dict[str, frozenset[int]]:
    """Return the items in a comment by marker; "" for a marker without a name.

    >>> item_marks("Well done.\\nItems (anna): 2, 5.")
    {'anna': frozenset({2, 5})}
    """
    found = {}
    for line in (comment or "").splitlines():
        if match := _LINE.match(line.strip()):
            given = [] if match[2] == "none" else match[2].split(", ")
            found[match[1] or ""] = frozenset(map(int, given))
    return found


def without_items(comment: str | None) -> str:
    """Return a comment without the lines about items."""
    lines = (comment or "").splitlines()
    return "\n".join(line for line in lines if not _LINE.match(line.strip())).strip()
