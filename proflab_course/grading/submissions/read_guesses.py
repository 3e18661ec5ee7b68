"""Read the guesses in the outputs of a handed-in notebook, without trusting them.

A demo cell of a lesson records a reader's guess beside the answer (`proflab/lesson/guesses.py`).
Students can edit the outputs, so only a few numbers and short texts are kept. The minutes that a
lesson took, and the alias for the board of its races, are read from the text of the cell that asks
for them, and kept beside the guesses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from proflab.lesson.guesses import MIME
from proflab_course.grading.run.replies import as_list
from proflab_course.grading.run.replies import text as fit_text

TOOK = "the lesson took"
_TOOK = re.compile(r"^minutes_\d\d\s*=\s*(\d{1,4}(?:\.\d{1,3})?)\s*(?:#|$)", re.MULTILINE)
ALIAS = "race_alias"
_ALIAS = re.compile(
    rf"^{ALIAS}\s*=\s*(?P<q>[\"'])([^\"'\\\n]{{1,24}})(?P=q)\s*(?:#|$)", re.MULTILINE
)
_MOST_SEARCHED = 1_000  # characters of a cell that may say them
_MOST_GUESSES = 60
_MOST_TEXT = 100
_MOST_OUTPUTS = 200
_LARGEST = 1e30


@dataclass(frozen=True)
class Guess:
    """A student's guess, None if they made none, and the answer that they were shown."""

    what: str
    guess: float | str | None
    answer: float | str
    unit: str = ""


def read_guesses(cells: list[Any]) -> list[Guess]:
    """Return the guesses in the outputs of a notebook's cells (as JSON), the last of each name.

    Anything else is left out, and no content of the cells raises an exception.
    """
    found: dict[str, Guess] = {}
    for record in _records(cells):
        guess = checked_guess(record)
        if guess is not None and (guess.what in found or len(found) < _MOST_GUESSES):
            found[guess.what] = guess
    return [*found.values(), *_said(cells)]


def _said(cells: Iterable[Any]) -> Iterator[Guess]:
    """Yield the minutes that the lesson took and the alias, each once, if they are said."""
    due = {TOOK: _TOOK, ALIAS: _ALIAS}
    for cell in cells:
        source = cell.get("source") if isinstance(cell, dict) else None
        source = "".join(map(str, source[:20])) if isinstance(source, list) else source
        for what, pattern in list(due.items()) if isinstance(source, str) else ():
            match = pattern.search(source[:_MOST_SEARCHED])
            if match and what == ALIAS and match[2].strip():
                yield Guess(what, None, match[2].strip())
            elif match and what == TOOK and float(match[1]) > 0:
                yield Guess(what, None, float(match[1]), "min")
            else:
                continue
            del due[what]


def _records(cells: Iterable[Any]) -> Iterator[dict]:
    for cell in cells:
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        for output in as_list(outputs)[:_MOST_OUTPUTS]:
            data = output.get("data") if isinstance(output, dict) else None
            record = data.get(MIME) if isinstance(data, dict) else None
            if isinstance(record, dict):
                yield record


def checked_guess(record: dict) -> Guess | None:
    """Return the record as a guess; None if it is not one, or if its answer is unreliable."""
    if record.get("assumed") or record.get("failing"):  # assumed, or measured by a wrong function
        return None
    what, unit = fit_text(record.get("what"), _MOST_TEXT), fit_text(record.get("unit"), 20)
    guess, answer = _plain(record.get("guess")), _plain(record.get("answer"))
    if not what or answer is None:
        return None
    return Guess(what, guess, answer, unit)


def _plain(value: Any) -> float | str | None:
    """Return a finite number that is not too large, or a short text; else None."""
    if isinstance(value, str):
        return fit_text(value, _MOST_TEXT)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if -_LARGEST <= value <= _LARGEST else None  # and None for what is no number
