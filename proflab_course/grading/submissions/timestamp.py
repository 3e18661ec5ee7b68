"""Read the time of submission from `timestamp.txt`, which must be in ISO order.

nbgrader's own reader accepts other orders and reads 03.12.2026 as the 12th of March.
"""

from __future__ import annotations

import datetime
import stat
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.iso_time import EXAMPLE, read_iso_time
from proflab_course.course.words import shortened
from proflab_course.grading.run.student_files import read_start

STAMP = "timestamp.txt"
STAMP_BYTES = 200  # of the file, which a student may have written


@dataclass(frozen=True)
class Handed:
    """The time of a hand-in, in UTC and without a zone, or the reason why it is unknown."""

    at: datetime.datetime | None = None
    problem: str = ""


UNKNOWN = Handed()


def read_timestamp(folder: Path) -> Handed:
    """Return the time in a submission's timestamp.txt; an empty `Handed` if there is none."""
    path = folder / STAMP
    try:
        regular = stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return UNKNOWN
    data = read_start(path, STAMP_BYTES) if regular else None
    if data is None:
        return Handed(problem=f"{STAMP} is not a file that can be read, so lateness is not known")
    return parse_timestamp(data.decode("utf-8-sig", errors="replace"))


def parse_timestamp(text: str) -> Handed:
    """Return the time in `text`: an ISO date, then perhaps a time and a zone."""
    text = text.strip()
    if not text:
        return Handed(problem=f"{STAMP} is empty, so lateness is not known; {EXAMPLE}")
    shown = shortened(text, 40)
    shown = "".join(c if c.isprintable() else "�" for c in shown)
    try:
        return Handed(at=read_iso_time(text))
    except ValueError as error:
        why = f"{error}, so lateness is not known"
        return Handed(problem=f"{STAMP} says {shown!r}, {why}; {EXAMPLE}")
