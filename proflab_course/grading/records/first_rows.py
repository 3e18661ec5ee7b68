"""Insert the rows of a hand-in that is graded for the first time and is not late.

nbgrader makes the same rows object by object, first empty and then with their values, which takes
several times as long. All other hand-ins are written that way, in `gradebook.py`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    new_uuid,
)
from nbgrader.utils import parse_utc
from sqlalchemy import bindparam, insert, select

_GRADED, _COMMENTED = ("GradeCell", "TaskCell"), ("SolutionCell", "TaskCell")


@dataclass(frozen=True)
class Marks:
    """Functions from a cell's name to the columns of its grade, and of its comment."""

    grade: Callable[[str], dict[str, Any]]
    comment: Callable[[str], dict[str, Any]]


class FirstRows:
    """Insert rows, and remember each lesson's cells between two hand-ins."""

    def __init__(self) -> None:
        self.cells: dict[str, list[tuple[str, str, str]]] = {}

    def insert(
        self,
        book: Gradebook,
        lesson: str,
        student: str,
        at: datetime.datetime | None,
        marks: Marks,
    ) -> bool:
        """Insert a student's rows; return False, unchanged, if nbgrader has to write them."""
        at = None if at is None else parse_utc(at)
        found = book.db.execute(_PLACES, {"lesson": lesson, "student": student}).all()
        if len(found) != 1:
            return False
        [(assignment, due, notebook, name, there)] = found
        if there is not None or name != lesson or (at and due and at > due):
            return False
        submission, submitted = new_uuid(), new_uuid()
        whose = {"assignment_id": assignment, "student_id": student, "timestamp": at}
        where = {"assignment_id": submission, "notebook_id": notebook}
        rows = {SubmittedAssignment: [{"id": submission} | whose]}
        rows[SubmittedNotebook] = [{"id": submitted} | where]
        cells = self._cells_of(book, notebook)
        for table, kinds, values in (
            (Grade, _GRADED, marks.grade),
            (Comment, _COMMENTED, marks.comment),
        ):
            rows[table] = [
                {"cell_id": cell, "notebook_id": submitted} | values(name)
                for cell, name, kind in cells
                if kind in kinds
            ]
        for table, values in rows.items():
            if values:
                book.db.execute(_INSERTS[table], values)
        return True

    def _cells_of(self, book: Gradebook, notebook: str) -> list[tuple[str, str, str]]:
        """Return (id, name, kind) of each cell of the lesson."""
        if notebook not in self.cells:
            columns = select(BaseCell.id, BaseCell.name, BaseCell.type)
            found = book.db.execute(columns.where(BaseCell.notebook_id == notebook))
            self.cells[notebook] = [tuple(row) for row in found]
        return self.cells[notebook]


def _places() -> Any:
    """Return the query for each notebook of the assignment, and the student's submission."""
    theirs = (SubmittedAssignment.assignment_id == Assignment.id) & (
        SubmittedAssignment.student_id == bindparam("student")
    )
    columns = (Assignment.id, Assignment.duedate, Notebook.id, Notebook.name)
    return (
        select(*columns, SubmittedAssignment.id)
        .join(Notebook, Notebook.assignment_id == Assignment.id)
        .outerjoin(SubmittedAssignment, theirs)
        .where(Assignment.name == bindparam("lesson"))
    )


# Made once, because SQLAlchemy takes longer to build a statement than SQLite to execute it.
_PLACES = _places()
_INSERTS = {
    table: insert(table.__table__)
    for table in (SubmittedAssignment, SubmittedNotebook, Grade, Comment)
}
_NEW_STUDENT = insert(Student.__table__).prefix_with("OR IGNORE")


def ensure_student(book: Gradebook, student: str) -> None:
    """Insert a student's row if there is none, as nbgrader's `update_or_create_student` does."""
    if book.authenticator:
        book.update_or_create_student(student)  # this also informs JupyterHub
    else:
        book.db.execute(_NEW_STUDENT, {"id": student})
