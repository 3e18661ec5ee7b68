"""Read the gradebook's figures about a whole class, in a few queries for any number of students.

nbgrader's objects load each grade when it is read, which is thousands of queries for a class of a
thousand. `gradebook.py` writes, and reads what concerns one student.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import Connection, Table, bindparam, func, select, text

from proflab_course.grading.answers import ESSAY
from proflab_course.grading.grade_notebook import CaseResult
from proflab_course.grading.submissions.read_guesses import ALIAS

TABLES = "proflab_outcome", "proflab_guesses"  # as gradebook.py makes them
# The fields of CaseResult and, below, of Guess, as gradebook.py stores them: one that is renamed
# there has to be renamed here, and old rows keep the old name.
_RACED = text("""
    SELECT student, json_extract(value, '$.cell'), json_extract(value, '$.label'),
           json_extract(value, '$.hidden'), json_extract(value, '$.passed'),
           json_extract(value, '$.share'), json_extract(value, '$.cost')
    FROM proflab_outcome, json_each(cases)
    WHERE assignment = :assignment AND json_extract(value, '$.cell') IN :cells
""").bindparams(bindparam("cells", expanding=True))
_ALIASES = text("""
    SELECT student, json_extract(value, '$.answer') FROM proflab_guesses, json_each(guesses)
    WHERE assignment = :assignment AND json_extract(value, '$.what') = :what
""")

_ESSAYS = text("""
    SELECT student, json_extract(value, '$.name'), json_extract(value, '$.answer')
    FROM proflab_guesses, json_each(guesses)
    WHERE assignment = :assignment AND json_extract(value, '$.what') = :what
""")


@dataclass(frozen=True)
class Standing:
    """A graded hand-in's outcome without its cases, which are far more text."""

    status: str
    sentence: str
    fingerprint: str


def read_standings(connection: Connection, outcomes: Table, assignment: str) -> dict[str, Standing]:
    """Return the standing of every student who has an outcome for this assignment."""
    columns = outcomes.c.student, outcomes.c.status, outcomes.c.sentence, outcomes.c.fingerprint
    rows = connection.execute(select(*columns).where(outcomes.c.assignment == assignment))
    return {student: Standing(*about) for student, *about in rows}


def read_raced(
    connection: Connection, assignment: str, cells: set[str]
) -> dict[str, list[CaseResult]]:
    """Return the cases of some test cells by student, without reasons.

    SQLite picks them out, since the cases of a class are megabytes, and each page needs these.
    """
    found: dict[str, list[CaseResult]] = {}
    rows = connection.execute(_RACED, {"assignment": assignment, "cells": sorted(cells)})
    for student, cell, label, hidden, passed, share, cost in rows:
        case = CaseResult(cell, label, bool(hidden), bool(passed), share=share, cost=cost)
        found.setdefault(student, []).append(case)
    return found


def read_aliases(connection: Connection, assignment: str) -> dict[str, str]:
    """Return the aliases that students chose for the board of a lesson's races."""
    rows = connection.execute(_ALIASES, {"assignment": assignment, "what": ALIAS})
    return {student: str(alias) for student, alias in rows}


def read_scores(connection: Connection, assignment: str) -> dict[str, dict[str, Any]]:
    """Return each student's points, as nbgrader counts them.

    needs_manual: wants a person; unread: has no mark yet; again: has one of an earlier essay.
    """
    found = {
        student: {
            "auto": 0.0, "manual": 0.0, "penalty": float(penalty or 0.0), "score": 0.0,
            "needs_manual": False, "unread": False, "again": False,
        }
        for student, penalty in connection.execute(_penalties(assignment))
    }  # fmt: skip
    for student, cell, score, needs_manual, manual, auto in connection.execute(_grades(assignment)):
        _add_grade(found[student], cell, score, needs_manual, (manual, auto))
    return found


def _add_grade(
    row: dict[str, Any], kind: str, score: float, needs_manual: bool, marks: Iterable[float | None]
) -> None:
    row["auto" if kind == "code" else "manual"] += score
    row["score"] += score
    row["needs_manual"] = row["needs_manual"] or bool(needs_manual)
    unread = all(mark is None for mark in marks)
    row["unread"] = row["unread"] or unread
    row["again"] = row["again"] or (kind != "code" and bool(needs_manual) and not unread)


@dataclass(frozen=True)
class EssayMark:
    """A hand-in's essay in the gradebook: its mark by hand, None if it has none, and comment.

    digest: of its text, "" where an older release graded it. checked: whether a person has marked
    this very essay, and not one that was handed in before.
    """

    mark: float | None
    comment: str
    digest: str = ""
    checked: bool = True


def read_essays(connection: Connection, assignment: str, cell: str) -> dict[str, EssayMark]:
    """Return the essay of each student who wrote one: an empty one is marked by machine."""
    comments = dict(
        connection.execute(
            submissions(assignment, SubmittedAssignment.student_id, Comment.manual_comment)
            .join(Comment, Comment.notebook_id == SubmittedNotebook.id)
            .join(BaseCell, BaseCell.id == Comment.cell_id)
            .where(BaseCell.name == cell)
        ).all()
    )
    rows = (
        submissions(
            assignment,
            SubmittedAssignment.student_id,
            Grade.manual_score,
            Grade.needs_manual_grade,
        )
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .join(BaseCell, BaseCell.id == Grade.cell_id)
        .where(BaseCell.name == cell, Grade.auto_score.is_(None))
    )
    texts = {
        student: digest
        for student, name, digest in connection.execute(
            _ESSAYS, {"assignment": assignment, "what": ESSAY}
        )
        if name == cell
    }
    return {
        student: EssayMark(mark, comments.get(student) or "", texts.get(student, ""), not again)
        for student, mark, again in connection.execute(rows)
    }


Times = dict[str, tuple[datetime.datetime | None, datetime.timedelta | None]]


def read_handed(connection: Connection, assignment: str) -> tuple[datetime.datetime | None, Times]:
    """Return the due date, and when each student handed in and how much more time they have."""
    due = connection.execute(select(Assignment.duedate).where(Assignment.name == assignment))
    columns = (
        SubmittedAssignment.student_id,
        SubmittedAssignment.timestamp,
        SubmittedAssignment.extension,
    )
    rows = connection.execute(_of(assignment, *columns))
    return due.scalar(), {student: (at, more) for student, at, more in rows}


def _penalties(assignment: str) -> Any:
    """Return the query of (student, penalty) for every submission."""
    return (
        _of(
            assignment,
            SubmittedAssignment.student_id,
            func.sum(SubmittedNotebook.late_submission_penalty),
        )
        .outerjoin(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .group_by(SubmittedAssignment.id)
    )


def _grades(assignment: str) -> Any:
    """Return the query of (student, cell type, score, needs a mark, manual, automatic) by grade.

    A cell of any type but code is marked by a person.
    """
    columns = Grade.cell_type, Grade.score, Grade.needs_manual_grade
    marks = Grade.manual_score, Grade.auto_score
    found = submissions(assignment, SubmittedAssignment.student_id, *columns, *marks)
    return found.join(Grade, Grade.notebook_id == SubmittedNotebook.id)


def submissions(assignment: str, *columns: Any) -> Any:
    """Return a query of columns of this assignment's submissions and of their notebooks."""
    here = SubmittedNotebook.assignment_id == SubmittedAssignment.id
    return _of(assignment, *columns).join(SubmittedNotebook, here)


def _of(assignment: str, *columns: Any) -> Any:
    """Return a query of columns of this assignment's submissions."""
    return (
        select(*columns)
        .select_from(SubmittedAssignment)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .where(Assignment.name == assignment)
    )
