"""Read back what a class guessed: tables that were filled in by hand, by phones or by a form.

A table has a row for each guess, with columns `question`, `guess` and perhaps `count`; or, as a
form of a platform exports it, a row for each person and a column for each question, by its name.
Other columns, such as those of people and times, are not read, and nothing of a cell is shown but a
number or a short text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.csv_table import CsvTable, as_typed, read_csv
from proflab_course.course.layout import CourseError
from proflab_course.course.words import few

_MOST_BYTES = 8 * 1024**2
_MOST_VOTES = 100_000
_MOST_TEXT = 60
_ANSWER = "answer"


@dataclass(frozen=True)
class Vote:
    """Hold a guess and how many made it; answer: what the table says is right, or ""."""

    question: str
    guess: str
    count: int = 1
    answer: str = ""


def read_votes(paths: Sequence[Path], questions: Collection[str]) -> list[Vote]:
    """Return the votes in these tables, of these questions.

    Raises CourseError, which names the file and the line, for a table without such columns, for a
    question that there is not, for a count that is none, and for a table that is too large.
    """
    votes: list[Vote] = []
    total = 0
    for path in paths:
        for vote in _votes(path, questions):
            total += vote.count
            if total > _MOST_VOTES:
                raise CourseError(f"{path} has more than {_MOST_VOTES:,} votes: is it a class's?")
            votes.append(vote)
    return votes


def _votes(path: Path, questions: Collection[str]) -> Iterator[Vote]:
    table = read_csv(path, _MOST_BYTES)
    if {"question", "guess"} <= set(table.header):
        yield from _rows(path, table, questions)
        return
    columns = [(at, name) for at, name in enumerate(table.header) if name in questions]
    if not columns:
        known = few(sorted(questions))
        raise CourseError(f"{path} has neither columns question and guess, nor one of {known}")
    for row in table.rows[1:]:
        for at, name in columns:
            if at < len(row) and (guess := _cut(row[at])):
                yield Vote(name, guess)


def _rows(path: Path, table: CsvTable, questions: Collection[str]) -> Iterator[Vote]:
    for line, record in table.records():
        cells = {name: cell.strip() for name, cell in record.items()}
        question, guess = cells.get("question", ""), _cut(cells.get("guess", ""))
        where = f"{path}, line {line}"
        if question.lower() == "question":  # several tables, one below the other
            continue
        if question not in questions:
            raise CourseError(f"{where}: there is no question {question[:_MOST_TEXT]!r}")
        count = cells.get("count", "") or "1"
        if not re.fullmatch(r"\d{1,6}", count):
            raise CourseError(f"{where}: the count {count[:_MOST_TEXT]!r} is no number of votes")
        if guess and int(count):
            yield Vote(question, guess, int(count), _cut(cells.get(_ANSWER, "")))


def _cut(cell: str) -> str:
    """Return a cell's text, not too long."""
    return as_typed(cell)[:_MOST_TEXT]
