"""Share requests among assistants, each with a table of their own, and read their answers back.

A table is written anew whenever requests are shared; what an assistant has typed into it stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from proflab_classroom.marking.request_log import FOLDER, Request
from proflab_course.course.exercises import exercise_of
from proflab_course.course.hand_table import HandTable, write_table
from proflab_course.course.layout import Course, CourseError
from proflab_course.grading.pages.inert import readable
from proflab_course.grading.records.opened import opened_book

COLUMNS = ("request", "student", "lesson", "exercise", "question", "failed", "hand-in", "answer")
_MOST_BYTES = 16 * 1024**2
_MOST_ANSWER = 8_000  # characters
_MOST_FAILED = 5  # cases that are named


@dataclass
class Answers:
    """New answers by request, and what was not taken: where it stands, with the reason."""

    answers: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def dealt(requests: Iterable[Request], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield events that give each request without an answer to one of these assistants.

    One that is with one of them stays there; the others go to the one that has fewest. All of a
    student's requests about a lesson go to one assistant, as far as none of them is dealt yet.
    """
    waiting = [request for request in requests if not request.answers]
    loads = Counter({name: 0 for name in names})
    loads.update(request.to for request in waiting if request.to in names)
    whose = {(r.student, r.lesson): r.to for r in waiting if r.to in names}
    for request in waiting:
        if request.to in names:
            continue
        to = whose.get((request.student, request.lesson))
        to = to or min(names, key=lambda name: (loads[name], names.index(name)))
        whose[request.student, request.lesson] = to
        loads[to] += 1
        yield {"event": "shared", "id": request.id, "to": to}


def write_sheets(
    course: Course, requests: Collection[Request], names: Iterable[str]
) -> dict[Path, int]:
    """Write the tables of these assistants; return how many requests each has."""
    outcomes = cache(partial(_outcomes, course))  # of a lesson; one is asked about many times
    written = {}
    for name in names:
        path = course.root / FOLDER / f"{name}.csv"
        typed = _typed(path, requests)
        # What is typed and not read yet stays, also where the request went to another meanwhile.
        theirs = [r for r in requests if (r.to == name and not r.answers) or r.id in typed]
        rows = [[*_row(r, outcomes(r.lesson)), typed.get(r.id, "")] for r in theirs]
        write_table(path, [COLUMNS, *rows])
        written[path] = len(rows)
    return written


def read_answers(path: Path, known: dict[str, Request]) -> Answers:
    """Return the answers in an assistant's table.

    Raises CourseError if the file is no table with columns request and answer.
    """
    found = Answers()
    for name, answer, where in _answered(path, found.refused):
        if name not in known:
            found.refused[where] = f"there is no request {name[:60]!r}"
        elif answer != known[name].answer_by(path.stem):
            found.answers[name] = answer
        else:
            found.answers.pop(name, None)
    return found


def _answered(path: Path, refused: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each row of a table with an answer: the request, the answer and the row's place."""
    table = HandTable.read(path, ("request", "answer"), most_bytes=_MOST_BYTES)
    for row in table.rows(refused=refused):
        answer = readable(row["answer"]).replace("\x1b", "")
        if len(answer) > _MOST_ANSWER:
            answer = f"{answer[:_MOST_ANSWER]} … (cut)"
        if answer:
            yield row["request"], answer, row.where


def _typed(path: Path, requests: Collection[Request]) -> dict[str, str]:
    """Return the answers in a table that is to be written anew, but for those that the log has.

    Raises CourseError for an answer that would be lost, because there is no such request.
    """
    if not path.exists():
        return {}
    found = read_answers(path, {request.id: request for request in requests})
    for where, reason in found.refused.items():
        raise CourseError(f"{where}: {reason}: correct it, because the table is written anew")
    return found.answers


def _outcomes(course: Course, lesson: str) -> dict | None:
    with opened_book(course) as book:
        return book.outcomes(lesson) if book else None


def _row(request: Request, outcomes: dict | None) -> list[str]:
    place = f"autograded/{request.student}/{request.lesson}/{request.lesson}.ipynb"
    about = [request.id, request.student, request.lesson, request.exercise, request.question]
    return [*about, _failed(request, outcomes), place]


def _failed(request: Request, outcomes: dict | None) -> str:
    """Return the first failed cases that a request is about, as text; outcomes: of its lesson."""
    if outcomes is None:
        return ""
    if (outcome := outcomes.get(request.student)) is None:
        return "not graded"
    names = {request.exercise}
    cases = [c for c in outcome.cases if exercise_of(c.cell, names) == request.exercise]
    failed = [case for case in cases if not case.passed]
    told = [f"{c.cell}: {c.label}{' (hidden)' if c.hidden else ''}" for c in failed]
    more = [f"and {len(told) - _MOST_FAILED} more"] if len(told) > _MOST_FAILED else []
    return readable("\n".join([*told[:_MOST_FAILED], *more]))[:2_000]
