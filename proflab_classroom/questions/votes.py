"""Read back what a class guessed or voted: tables filled in by hand, by phones or by a form.

A table of guesses has a row for each guess, with columns `question`, `guess` and perhaps `count`;
or, as a form of a platform exports it, a row for each person and a column for each question, by its
name. Other columns, such as those of people and times, are not read, and nothing of a cell is shown
but a number or a short text.

A table of votes has a row for each question and round, with columns `question`, `round`, `A`, `B`,
`C` and `D`, which are counts; of two tables without `round`, the first is the first round.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.answer_cells import LETTERS
from proflab_course.course.csv_table import read_csv
from proflab_course.course.hand_table import HandTable
from proflab_course.course.layout import CourseError
from proflab_course.course.words import few

_MOST_BYTES = 8 * 1024**2
_MOST_VOTES = 100_000  # in all tables: more are no class's
_MOST_TEXT = 60  # characters of a cell
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
            total = _added(total, vote.count, path)
            votes.append(vote)
    return votes


def _added(total: int, count: int, place: object) -> int:
    if total + count > _MOST_VOTES:
        raise CourseError(f"{place} has more than {_MOST_VOTES:,} votes: is it a class's?")
    return total + count


def _votes(path: Path, questions: Collection[str]) -> Iterator[Vote]:
    table = read_csv(path, _MOST_BYTES)
    if {"question", "guess"} <= set(table.header):
        yield from _rows(HandTable(str(path), table), questions)
        return
    columns = [name for name in table.header if name in questions]
    if not columns:
        known = few(sorted(questions))
        votes = ", ".join(ROUND_COLUMNS)
        raise CourseError(
            f"{path} has neither columns question and guess, nor one of {known}; a table of votes "
            f"by letter has {votes}"
        )
    for row in HandTable(str(path), table).rows():
        for name in columns:
            if guess := row[name][:_MOST_TEXT]:
                yield Vote(name, guess)


def _rows(table: HandTable, questions: Collection[str]) -> Iterator[Vote]:
    for row in table.rows():
        question, guess = row["question"], row["guess"][:_MOST_TEXT]
        if question not in questions:
            raise CourseError(f"{row.where}: there is no question {question[:_MOST_TEXT]!r}")
        count = _count(row.where, row["count"] or "1")
        if guess and count:
            yield Vote(question, guess, count, row[_ANSWER][:_MOST_TEXT])


def _count(where: str, cell: str) -> int:
    if not re.fullmatch(r"\d{1,6}", cell, re.ASCII):
        raise CourseError(f"{where}: the count {cell[:_MOST_TEXT]!r} is no number of votes")
    return int(cell)


# ── votes by letter, in two rounds ───────────────────────────────────────────────────────────

ROUNDS = (1, 2)
ROUND_COLUMNS = ("question", "round", *LETTERS)
Rounds = dict[str, dict[int, dict[str, int]]]


def has_letters(paths: Sequence[Path]) -> bool:
    """Return True if the first table has votes by letter, not guesses."""
    header = set(read_csv(paths[0], _MOST_BYTES).header)
    letters = {"round", *LETTERS.lower()} & header
    return "question" in header and "guess" not in header and bool(letters)


def read_rounds(paths: Sequence[Path], questions: Sequence[str]) -> Rounds:
    """Return by question and round how many voted for each letter; empty lines say nothing.

    Tables add up, such as those of two rooms. questions: the ids of those that there are.

    Raises CourseError, which names the file and the line, for a table without these columns, for a
    question or a round that there is not, for one that stands twice in a table, for a count that is
    none, and for a table that is too large.
    """
    found: Rounds = {}
    total = 0
    for place, path in enumerate(paths, start=1):
        seen: dict[tuple[str, int], int] = {}
        for line, question, number, counts in _letter_rows(path, place, len(paths), questions):
            where = f"{path}, line {line}"
            if earlier := seen.get((question, number)):
                again = f"round {number} of {question} stands in line {earlier} already"
                raise CourseError(f"{where}: {again}; change the round, or add the lines up")
            seen[question, number] = line
            total = _added(total, sum(counts.values()), where)
            sums = found.setdefault(question, {}).setdefault(number, dict.fromkeys(LETTERS, 0))
            for letter, count in counts.items():
                sums[letter] += count
    return found


def _letter_rows(
    path: Path, place: int, tables: int, questions: Sequence[str]
) -> Iterator[tuple[int, str, int, dict[str, int]]]:
    """Yield line, question, round and counts of each row with votes."""
    wanted = [name.lower() for name in ROUND_COLUMNS if name != "round"]
    table = HandTable.read(path, wanted, known=("round",), most_bytes=_MOST_BYTES)
    if "round" not in table.header and tables > len(ROUNDS):
        raise CourseError(
            f"{path}, line 1: the column round is missing, and of {tables} tables it is not clear "
            "which has which round"
        )
    for row in table.rows():
        if not any(row[letter.lower()] for letter in LETTERS):
            continue
        question = _question(row.where, row["question"], questions)
        number = _round(row.where, row["round"]) if "round" in table.header else place
        counts = {letter: _count(row.where, row[letter.lower()] or "0") for letter in LETTERS}
        if any(counts.values()):
            yield row.line, question, number, counts


def _question(where: str, cell: str, questions: Sequence[str]) -> str:
    """Return the question's id, which a cell may also write as 07.2, 7.2 or concept_07_2."""
    plain = cell.lower().removeprefix("concept_").replace(".", "_")
    for question in questions:
        if plain in (question.lower(), question.lower().lstrip("0")):
            return question
    asked = f"{cell[:_MOST_TEXT]!r}" if cell else "without a name"
    raise CourseError(f"{where}: there is no question {asked}; there are {few(questions)}")


def _round(where: str, cell: str) -> int:
    if not cell:
        raise CourseError(f"{where}: the round is missing; write 1 or 2")
    if cell not in map(str, ROUNDS):
        raise CourseError(f"{where}: the round is 1 or 2, not {cell[:_MOST_TEXT]!r}")
    return int(cell)
