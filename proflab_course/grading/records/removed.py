"""Forget a hand-in that nbgrader has removed, in the tables that nbgrader does not know.

`nbgrader db student remove` and `db assignment remove` take a hand-in out of nbgrader's tables. An
outcome that stayed would be one of nobody: pages count it, and a hand-in that comes again passes
for graded. So the database itself removes such rows, by a trigger.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, Table, text

TRIGGER = "proflab_removed"
_OF_OLD = """student = OLD.student_id AND assignment =
    (SELECT name FROM assignment WHERE id = OLD.assignment_id)"""
_OF_NOBODY = """(student, assignment) NOT IN (SELECT student_id, name
    FROM submitted_assignment JOIN assignment ON assignment.id = submitted_assignment.assignment_id)
"""


def follow_removals(connection: Connection, tables: Iterable[Table]) -> None:
    """Make the trigger, and remove what removals before it have left.

    tables: with columns `student` and `assignment`, which name a hand-in.
    """
    removals = []
    for table in tables:
        connection.execute(table.delete().where(text(_OF_NOBODY)))
        removals.append(f"DELETE FROM {table.name} WHERE {_OF_OLD};")
    connection.exec_driver_sql(
        f"CREATE TRIGGER IF NOT EXISTS {TRIGGER} AFTER DELETE ON submitted_assignment "
        f"BEGIN {' '.join(removals)} END"
    )
