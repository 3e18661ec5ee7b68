"""Write the inventory's answers of students who agreed, without anything that names them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable

from proflab_classroom.inventory.answers import Half, read_halves
from proflab_classroom.inventory.items import InventoryItem, of_form, read_inventory
from proflab_course.course.csv_table import csv_text
from proflab_course.course.layout import Course, CourseError

# docs/inventory.md promises both to ethics offices, and to those who put classes' tables together.
COLUMNS = ("class", "student", "half", "form", "item", "answer", "right", "confidence")
LEAST = 5  # students who agreed
_DIGITS = 16  # hexadecimal, so 64 bits: no two students of a table share one


def anonymised(course: Course, label: str = "") -> tuple[str, int]:
    """Return the table as CSV, and how many students are in it.

    Only halves whose `consent` is True are written. `student` is HMAC-SHA256 of the id with a key
    that is drawn for this table and kept nowhere, so that two tables cannot be joined. Raises
    CourseError with fewer than five such students.
    """
    items = read_inventory(course)
    agreed = [half for half in read_halves(course, items) if half.consent]
    students = {half.student for half in agreed}
    if len(students) < LEAST:
        what = f"{len(students)} students agreed that their answers are used"
        raise CourseError(f"{what}, and with fewer than {LEAST} a table could name one: no export")
    return table(items, agreed, secrets.token_bytes(32), label), len(students)


def table(
    items: Iterable[InventoryItem], halves: Iterable[Half], key: bytes, label: str = ""
) -> str:
    """Return the rows of these halves, in the order of the students' new names."""
    items, rows = list(items), []
    for half in halves:
        digest = hmac.new(key, half.student.encode(), hashlib.sha256).hexdigest()
        for item in of_form(items, half.form):
            letter = half.letters.get(item.id, "")
            row = [label, digest[:_DIGITS], half.half, half.form, item.id, letter]
            rows.append([*row, int(letter == item.key), half.sure.get(item.id, "")])
    # The second half after the first one, however their names sort.
    rows.sort(key=lambda row: (row[1], row[2] != "before", row[4]))
    return csv_text([COLUMNS, *rows], line_end="\n")
