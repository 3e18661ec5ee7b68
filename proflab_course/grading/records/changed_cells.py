"""Change the cells of a lesson that has graded hand-ins: another track, or another release.

nbgrader refuses that, for its tables hold no mark without its cell. So the marks and comments of a
cell that went are moved into a table of ours; if the cell comes again, they move back. New cells
begin without points, and the next grading writes them, since it grades every hand-in again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from nbgrader.api import Comment, Grade, GradeCell, SolutionCell, SourceCell, TaskCell
from sqlalchemy import Column, MetaData, String, Table, Text, delete, select
from sqlalchemy.orm import Session

from proflab_course.course.words import few

FORMER = Table(
    "proflab_former_marks",
    MetaData(),
    Column("student", String(128), primary_key=True),
    Column("assignment", String(128), primary_key=True),
    Column("cell", String(128), primary_key=True),
    Column("kind", String(16), primary_key=True),
    Column("marks", Text, nullable=False),
)
_COLUMNS: dict[Any, tuple[str, ...]] = {
    Grade: ("auto_score", "manual_score", "extra_credit", "needs_manual_grade"),
    Comment: ("auto_comment", "manual_comment"),
}
# A kind of cell, nbgrader's list of them, and the kinds of rows that each hand-in has for one.
KINDS: dict[Any, tuple[str, tuple[Any, ...]]] = {
    GradeCell: ("grade_cells", (Grade,)),
    SolutionCell: ("solution_cells", (Comment,)),
    TaskCell: ("task_cells", (Grade, Comment)),
    SourceCell: ("source_cells", ()),
}


def change_cells(
    session: Session, notebook: Any, wanted: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> str:
    """Give a notebook with hand-ins the cells that it is to have; say in a sentence what changed.

    wanted: what each cell is to be by name, for each of nbgrader's lists of cells.
    """
    gone: list[str] = []
    new: list[str] = []
    for kind, (listed, rows) in KINDS.items():
        there = {cell.name: cell for cell in getattr(notebook, listed)}
        for name in sorted(there.keys() - wanted[listed].keys()):
            for table in rows:
                _put_aside(session, notebook, there[name], table)
            session.delete(there[name])
            gone += [name] if kind in (GradeCell, TaskCell) else []
        session.flush()
        for name in sorted(wanted[listed].keys() - there.keys()):
            cell = kind(name=name, notebook=notebook, **wanted[listed][name])
            session.add(cell)
            session.flush()
            for table in rows:
                _bring_back(session, notebook, cell, table)
            new += [name] if kind in (GradeCell, TaskCell) else []
    session.flush()
    session.expire_all()  # nbgrader's objects still list the cells that were there
    return _sentence(gone, new)


def _put_aside(session: Session, notebook: Any, cell: Any, table: Any) -> None:
    """Move the rows of a cell into the table of former marks."""
    values = {"assignment": notebook.assignment.name, "cell": cell.name, "kind": table.__name__}
    for row in session.scalars(select(table).where(table.cell_id == cell.id)).all():
        marks = {column: getattr(row, column) for column in _COLUMNS[table]}
        student = row.notebook.assignment.student_id
        former = values | {"student": student, "marks": json.dumps(marks)}
        session.execute(FORMER.insert().prefix_with("OR REPLACE"), former)
    session.execute(delete(table).where(table.cell_id == cell.id))
    session.expire(cell)


def _bring_back(session: Session, notebook: Any, cell: Any, table: Any) -> None:
    """Add a row for the cell to each hand-in, with the marks that it once had."""
    here = (FORMER.c.assignment == notebook.assignment.name) & (FORMER.c.cell == cell.name)
    here &= FORMER.c.kind == table.__name__
    former = {
        row.student: json.loads(row.marks) for row in session.execute(FORMER.select().where(here))
    }
    blank: dict[str, Any] = {}
    if table is Grade:
        by_hand = cell.cell_type != "code"
        blank = {"auto_score": None if by_hand else 0.0, "needs_manual_grade": by_hand}
    for submitted in notebook.submissions:
        marks = former.get(submitted.assignment.student_id, blank)
        session.add(table(cell_id=cell.id, notebook_id=submitted.id, **marks))
    session.execute(FORMER.delete().where(here))


def _sentence(gone: Iterable[str], new: Iterable[str]) -> str:
    parts = [f"lost {few(list(gone))}"] if gone else []
    parts += [f"gained {few(list(new))}"] if new else []
    if not parts:
        return ""
    kept = "; the gradebook keeps what was earned there, uncounted" if gone else ""
    return f"since hand-ins were graded, the lesson has {' and '.join(parts)}{kept}"
