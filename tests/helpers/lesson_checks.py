"""What a lesson shows its reader, in tests: cases a cell, points of an essay, a busy machine."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from typing import Any

import pytest
from cohort.run import solved
from lesson_cells import show_all

from proflab.lesson import guesses, noise

CASES, POINTS = 8, 8
_OF_SEVERAL = re.compile(r" \(\d+ of \d+\)$")


def check_small_cells(lesson: str) -> None:
    """Assert that no cell shows more than 8 cases (a row of a table is one) or has more points."""
    for cell in (cell for cells in solved(lesson).tests.values() for cell in cells):
        assert cell.points <= POINTS, cell.name
        labels = {
            _OF_SEVERAL.sub("", answer.label)
            for block in cell.blocks
            if not block.hidden
            for answer in block.answers
            if answer is not None
        }
        assert len(labels) <= CASES, cell.name


@dataclass(frozen=True)
class Busy:
    """A lesson's small demo cells on a machine with load 9: pictures, prints, guesses' answers."""

    shown: dict[str, tuple[str, Any]]
    printed: str
    answers: dict[str, Any]


def run_busy(lesson: Any) -> Busy:
    """Run the small demo cells of a solved lesson as if 9 processes wanted 2 processors."""
    answers: dict[str, Any] = {}

    def compared(what: str, guess: Any, answer: Any, *more: Any, **named: Any) -> None:
        answers[what] = answer

    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(noise, "load_and_processors", lambda: (9.0, 2))
        patch.setattr(guesses, "compare", compared)
        shown = show_all(lesson)[0]
    return Busy(shown, printed.getvalue(), answers)


def check_mark_scheme(text: str, words: int) -> None:
    """Assert that each of ten points is one statement, and that ten answers fit so many words."""
    told = re.findall(r"^- \*1 point:\* (.*)$", text, re.M)
    assert len(told) == 10 and not re.search(r"points? off|up to \d points", text)
    assert sum(len(line.split()) for line in told) <= words
