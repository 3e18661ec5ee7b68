"""Read the guesses in the outputs of a handed-in notebook, without trusting them.

A demo cell of a lesson records a reader's guess beside the answer (`proflab/lesson/guesses.py`).
Students can edit the outputs, so only a few numbers and short texts are kept. The minutes that a
lesson took, and the alias for the board of its races, are read from the text of the cell that asks
for them, and kept beside the guesses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from proflab.lesson.first_guess import MIME, SKIP
from proflab.lesson.kernel_record import output_data
from proflab_course.grading.odd_json import as_dict, fit_text, join_text

# build/stamp.py asks for both; what a student has written in their place may be anything.
TOOK = "the lesson took"
_TOOK = re.compile(r"^minutes_\d\d\s*=\s*(\d{1,4}(?:\.\d{1,3})?)\s*(?:#|$)", re.MULTILINE)
ALIAS = "race_alias"
_ALIAS = re.compile(
    rf"^{ALIAS}\s*=\s*(?P<q>[\"'])([^\"'\\\n]{{1,24}})(?P=q)\s*(?:#|$)", re.MULTILINE
)
_OVERLOOKED = re.compile(
    r"""^overlooked_(\w{1,60})[ \t]*=[ \t]*(["'])(.{1,200}?)\2[ \t]*(?:#.*)?$""", re.MULTILINE
)
_MOST_SEARCHED = 1_000  # characters of a cell that may say them
_MOST_GUESSES = 60
_MOST_TEXT = 100
_MOST_OUTPUTS = 200  # of a cell
_MOST_TRIED = 10_000
_LARGEST = 1e30


@dataclass(frozen=True)
class Guess:
    """Hold a student's first guess, None if they made none, and the answer that they were shown.

    name: of the guess, such as "guess_linear"; "" in hand-ins of older releases.
    state: "skipped", "withheld" where no answer was shown for want of a guess, or "".
    n: how many values were tried; edited: whether the student's own record of them was changed.
    overlooked: what the student says that the guess left out.
    """

    what: str
    guess: float | str | None
    answer: float | str
    unit: str = ""
    name: str = ""
    state: str = ""
    n: int = 1
    edited: bool = False
    overlooked: str = ""


def read_guesses(cells: list[Any]) -> list[Guess]:
    """Return the guesses in the outputs of a notebook's cells (as JSON), the last of each name.

    Anything else is left out, and no content of the cells raises an exception.
    """
    found: dict[str, Guess] = {}
    for record in output_data(cells, MIME, _MOST_OUTPUTS):
        guess = checked_guess(record)
        key = guess.name or guess.what if guess is not None else ""
        if guess is not None and (key in found or len(found) < _MOST_GUESSES):
            found[key] = guess
    said = dict(_overlooked(cells))
    guesses = (replace(each, overlooked=said.get(each.name, "")) for each in found.values())
    return [*guesses, *_said(cells)]


def _overlooked(cells: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield each guess's name with the line on what it left out."""
    for cell in cells:
        for match in _OVERLOOKED.finditer(_source(cell)):
            yield f"guess_{match[1]}", fit_text(match[3], 2 * _MOST_TEXT)


def _source(cell: Any) -> str:
    """Return the start of a cell's source, where it may say what is searched for."""
    return join_text(as_dict(cell).get("source"))[:_MOST_SEARCHED]


def _said(cells: Iterable[Any]) -> Iterator[Guess]:
    """Yield the minutes that the lesson took and the alias, each once, if they are said."""
    due = {TOOK: _TOOK, ALIAS: _ALIAS}
    for cell in cells:
        source = _source(cell)
        for what, pattern in list(due.items()):
            match = pattern.search(source)
            if match and what == ALIAS and match[2].strip():
                yield Guess(what, None, match[2].strip())
            elif match and what == TOOK and float(match[1]) > 0:
                yield Guess(what, None, float(match[1]), "min")
            else:
                continue
            del due[what]


def checked_guess(record: dict) -> Guess | None:
    """Return the record as a guess; None if it is not one, or if its answer is unreliable.

    The record is a notebook's, or a Guess's own fields, which the reader's process has sent.
    """
    if record.get("assumed") or record.get("failing"):  # assumed, or measured by a wrong function
        return None
    name = fit_text(record.get("name"), _MOST_TEXT)
    overlooked = fit_text(record.get("overlooked"), 2 * _MOST_TEXT)
    if name and (record.get("withheld") is True or record.get("state") == "withheld"):
        return Guess("", None, "", name=name, state="withheld", overlooked=overlooked)
    what, unit = fit_text(record.get("what"), _MOST_TEXT), fit_text(record.get("unit"), 20)
    guess, answer = _plain(record.get("first", record.get("guess"))), _plain(record.get("answer"))
    if not what or answer is None:
        return None
    n, edited = record.get("n"), record.get("edited") is True
    n = n if type(n) is int and 0 < n <= _MOST_TRIED else 1
    skipped = guess == SKIP or record.get("state") == "skipped"
    guess, state = (None, "skipped") if skipped else (guess, "")
    return Guess(what, guess, answer, unit, name, state, n, edited, overlooked)


def _plain(value: Any) -> float | str | None:
    """Return a finite number that is not too large, or a short text; else None."""
    if isinstance(value, str):
        return fit_text(value, _MOST_TEXT)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if -_LARGEST <= value <= _LARGEST else None  # and None for what is no number
