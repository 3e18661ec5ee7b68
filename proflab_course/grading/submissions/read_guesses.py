"""Reads the guesses that a handed-in notebook's outputs keep, and believes nothing of them.

A demo cell of a lesson records a reader's guess beside the answer (`proflab/lesson/guesses.py`).
A student can write anything there, so only a few numbers and short texts are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from proflab.lesson.guesses import MIME
from proflab_course.grading.run.replies import as_list
from proflab_course.grading.run.replies import text as fit_text

_MOST_GUESSES = 60
_MOST_TEXT = 100
_MOST_OUTPUTS = 200
_LARGEST = 1e30


@dataclass(frozen=True)
class Guess:
    """A reader's guess, None where they made none, and the answer that they were shown."""

    what: str
    guess: float | str | None
    answer: float | str
    unit: str = ""


def read_guesses(cells: list[Any]) -> list[Guess]:
    """Return the guesses in the outputs of a notebook's cells as JSON has them: the last of each.

    What is no guess is left out; nothing is raised for whatever the cells hold.
    """
    found: dict[str, Guess] = {}
    for record in _records(cells):
        guess = checked_guess(record)
        if guess is not None and (guess.what in found or len(found) < _MOST_GUESSES):
            found[guess.what] = guess
    return list(found.values())


def _records(cells: Iterable[Any]) -> Iterator[dict]:
    for cell in cells:
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        for output in as_list(outputs)[:_MOST_OUTPUTS]:
            data = output.get("data") if isinstance(output, dict) else None
            record = data.get(MIME) if isinstance(data, dict) else None
            if isinstance(record, dict):
                yield record


def checked_guess(record: dict) -> Guess | None:
    """Return the record as a guess; None if it is none, or if its answer judges nobody."""
    if record.get("assumed") or record.get("failing"):  # nobody measured it, or by a wrong function
        return None
    what, unit = fit_text(record.get("what"), _MOST_TEXT), fit_text(record.get("unit"), 20)
    guess, answer = _plain(record.get("guess")), _plain(record.get("answer"))
    if not what or answer is None:
        return None
    return Guess(what, guess, answer, unit)


def _plain(value: Any) -> float | str | None:
    """Return a number that is finite and not too large, or a short text; None for all else."""
    if isinstance(value, str):
        return fit_text(value, _MOST_TEXT)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if -_LARGEST <= value <= _LARGEST else None  # and None for what is no number
