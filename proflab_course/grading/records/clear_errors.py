"""Turn an error of SQLite about the gradebook into one sentence with what to do."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbgrader.api
from nbgrader.api import InvalidEntry
from sqlalchemy.exc import DatabaseError, DataError, IntegrityError

from proflab_course.course.layout import CourseError

_LEAST_ROOM = 64 * 1024  # bytes, for SQLite's journal
_SAFE = "then run it again; nothing is lost"


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Raise CourseError where the gradebook at `path` cannot be read or written."""
    nbgrader.api.app_log.addFilter(_not_twice)
    try:
        yield
    except (DatabaseError, InvalidEntry) as error:  # nbgrader turns the first into the second
        message = str(getattr(error, "orig", error))
        if isinstance(error, (IntegrityError, DataError)) or "constraint failed" in message:
            raise  # the rows are at fault, not the file
        raise CourseError(f"{path} {_what_to_do(message, path)}") from None
    finally:
        nbgrader.api.app_log.removeFilter(_not_twice)


# By SQLite's own words: neither SQLAlchemy's classes nor InvalidEntry tell these errors apart.
def _what_to_do(message: str, path: Path) -> str:
    """Return what is wrong with the file, and what to do about it."""
    if "no such column" in message or "has no column" in message:
        return f"is of an earlier nbgrader ({message}): run `nbgrader db upgrade`, {_SAFE}"
    if "locked" in message:
        return f"is in use by another program: close it (formgrader, another grading), {_SAFE}"
    if "full" in message or _no_room(path.parent):
        return f"cannot be written, the disk is full: make room, {_SAFE}"
    if "not a database" in message or "malformed" in message:
        return (
            f"is no gradebook, or a damaged one ({message}): put a backup in its place, or move it "
            "away for a new one, which has no points given by hand; then run it again"
        )
    return f"cannot be used ({message}): see to its rights and its disk, {_SAFE}"


def _not_twice(record: logging.LogRecord) -> bool:
    """Filter out nbgrader's log of an error that `clear_errors` turns into a sentence."""
    return "database error" not in str(record.msg)


def _no_room(folder: Path) -> bool:
    """Return True if the disk has no room for SQLite's journal."""
    return shutil.disk_usage(folder).free < _LEAST_ROOM
