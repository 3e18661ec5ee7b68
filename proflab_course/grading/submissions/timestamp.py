"""Read the time of submission from `timestamp.txt`, which must be in ISO order.

nbgrader's own reader accepts other orders and reads 03.12.2026 as the 12th of March.
"""

from __future__ import annotations

import datetime
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from proflab_course.grading.run.student_files import read_start

STAMP = "timestamp.txt"
STAMP_BYTES = 200
_FORM = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ]\s*(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?))?"
    r"\s*(?P<zone>Z|[+-]\d{2}(?::?\d{2})?|[A-Za-z][\w/+-]{1,40})?",
    re.ASCII,
)
_EXAMPLE = "write it as 2026-12-03 14:30:00 UTC"


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
        return Handed(problem=f"{STAMP} is empty, so lateness is not known; {_EXAMPLE}")
    shown = text if len(text) <= 40 else text[:39] + "…"
    shown = "".join(c if c.isprintable() else "�" for c in shown)
    match = _FORM.fullmatch(text)
    if match is None:
        why = "which is not a date in ISO order, so lateness is not known"
        return Handed(problem=f"{STAMP} says {shown!r}, {why}; {_EXAMPLE}")
    try:
        return Handed(at=_in_utc(match))
    except KeyError:
        why = f"whose time zone {match['zone']} is not known, so lateness is not known"
        return Handed(problem=f"{STAMP} says {shown!r}, {why}; {_EXAMPLE}")
    except (ValueError, OverflowError):
        why = "which is not a date of the calendar, so lateness is not known"
        return Handed(problem=f"{STAMP} says {shown!r}, {why}; {_EXAMPLE}")


def which_date(text: str) -> str:
    """Return a sentence about an ambiguous date such as 03.12.2026; empty for any other text."""
    parts = text.strip().replace("/", ".").split(" ")[0].split(".")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts) or len(parts[2]) != 4:
        return ""
    first, second, year = map(int, parts)
    readings = []
    for day, month in ((first, second), (second, first)):
        try:
            readings.append(f"{datetime.date(year, month, day):%-d %B %Y}")
        except ValueError:
            continue
    return f" (is it {' or '.join(dict.fromkeys(readings))}?)" if readings else ""


def has_zone(text: str) -> bool:
    """Return True if the time in `text` has a zone."""
    match = _FORM.fullmatch(text.strip())
    return match is not None and match["zone"] is not None


def _in_utc(match: re.Match) -> datetime.datetime:
    """Return the time in UTC; KeyError for an unknown zone, ValueError if it is not a time."""
    clock = match["time"] or "00:00"
    hour, _, rest = clock.replace(",", ".").partition(":")
    time = datetime.datetime.fromisoformat(f"{match['date']}T{hour:0>2}:{rest}")
    zone = _zone(match["zone"])
    if zone is not None:
        time = time.replace(tzinfo=zone).astimezone(datetime.UTC).replace(tzinfo=None)
    return time


def _zone(name: str | None) -> datetime.tzinfo | None:
    from dateutil import tz

    if name is None or name in ("Z", "UTC"):
        return None
    if name[0] in "+-":
        digits = name[1:].replace(":", "").ljust(4, "0")
        offset = datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        return datetime.timezone(-offset if name[0] == "-" else offset)
    zone = tz.gettz(name)
    if zone is None:
        raise KeyError(name)
    return zone
