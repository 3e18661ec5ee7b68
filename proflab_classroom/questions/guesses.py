"""Read what a lesson lets its readers guess: the question in the text, and the guess's cell.

A guess's question is the paragraph that begins with `**Predict.**` or `**Guess.**`, in the last
text above the cell that has one, or the paragraphs, in the order of the cell's guesses; the
comment in that cell says in which unit to answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from proflab_classroom.questions.pages import GuessQuestion
from proflab_course.course.notebook import GUESS_TAG, Cell, read_notebook

T = TypeVar("T")

# As lessons write it; tracks/apply.py (_QUESTIONS) knows these paragraphs, too.
_ASKS = re.compile(r"\*\*(?:Predict|Guess)\b[^*\n]*\*\*,?\s*(?:in the next cell:\s*)?")
_COMMENT = re.compile(r"#\s*your guess(?: for [^,\n]*)?[,:]?\s*(.*)")
# Without the number and the points and minutes that the build adds.
_HEADING = re.compile(r"^#{2,3} +(?:\d+ · )?(.*?)(?: · \d+ min.*)?$", re.MULTILINE)


def asked_guesses(notebook: Path) -> list[GuessQuestion]:
    """Return the questions of a lesson's guesses, in its order; `notebook` is its source."""
    cells = read_notebook(notebook, notebook.stem).cells
    return list(_questions(cells))


def _questions(cells: list[Cell]) -> Iterator[GuessQuestion]:
    heading, stems = "", [""]
    for cell in cells:
        if cell.node.cell_type == "markdown":
            headings = _HEADING.findall(cell.source)
            heading = headings[-1] if headings else heading
            asked = [_paragraph(cell.source[at.end() :]) for at in _ASKS.finditer(cell.source)]
            stems = asked or stems
        elif GUESS_TAG in cell.tags:
            guesses = list(guesses_in(cell.source))
            for (name, comment), stem in zip(guesses, asking(stems, guesses), strict=True):
                yield GuessQuestion(name, stem or heading, heading, comment)


def asking(questions: Sequence[T], guesses: Sequence) -> Sequence[T]:
    """Return for each guess of a cell the question above it that asks for it.

    Each has its own, in order, or the last question asks for all.
    """
    if len(questions) == len(guesses):
        return questions
    return [questions[-1]] * len(guesses)


def _paragraph(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


def guesses_in(source: str) -> Iterator[tuple[str, str]]:
    """Yield each name that a cell asks for, with what its comment says of the answer."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            comment = _COMMENT.search(lines[node.lineno - 1])
            yield node.targets[0].id, comment[1].strip() if comment else ""
