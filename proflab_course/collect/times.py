"""Read the times that platforms write, and recognise times of a download."""

from __future__ import annotations

import contextlib
import datetime
import re
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from proflab_course.course.dates import FILE, Dates
from proflab_course.course.iso_time import EXAMPLE, from_clock, read_zone, which_date
from proflab_course.course.layout import Course

# Hand-ins of a whole class within this time, or half of them within much less.
_ONE_DOWNLOAD = datetime.timedelta(hours=1)
_ONE_AFTER_THE_OTHER = datetime.timedelta(minutes=1)

# Of the dates in Moodle's worksheets: English, German, French and Spanish.
_MONTHS = (
    ("january", "januar", "jänner", "janvier", "enero"),
    ("february", "februar", "feber", "février", "febrero"),
    ("march", "märz", "mars", "marzo"),
    ("april", "avril", "abril"),
    ("may", "mai", "mayo"),
    ("june", "juni", "juin", "junio"),
    ("july", "juli", "juillet", "julio"),
    ("august", "août", "agosto"),
    ("september", "septembre", "septiembre"),
    ("october", "oktober", "octobre", "octubre"),
    ("november", "novembre", "noviembre"),
    ("december", "dezember", "décembre", "diciembre"),
)
_MONTH_OF = {name: month for month, names in enumerate(_MONTHS, 1) for name in names}
_CLOCK = r"(?:,|\s|\bà\b)+(?P<hour>\d{1,2}):(?P<minute>\d\d)(?:\s*(?P<half>[AP]M))?"
# Monday, 30 November 2026, 6:30 PM · Montag, 30. November 2026, 18:30 · lundi 30 novembre 2026, …
_DAY_FIRST = re.compile(
    r"(?:[^\W\d]+,?\s+)?(?P<day>\d{1,2})\.?\s+(?:de\s+)?(?P<month>[^\W\d]+)\s+(?:de\s+)?"
    rf"(?P<year>\d{{4}}){_CLOCK}",
    re.IGNORECASE,
)
# Monday, November 30, 2026, 6:30 PM
_MONTH_FIRST = re.compile(
    rf"(?:[^\W\d]+,\s+)?(?P<month>[^\W\d]+)\s+(?P<day>\d{{1,2}}),\s+(?P<year>\d{{4}}){_CLOCK}",
    re.IGNORECASE,
)


@dataclass
class Clock:
    """The clock by which a platform writes times; zone: None for this machine's.

    used: whether a time without a zone was read by it.
    """

    dates: Dates
    zone: datetime.tzinfo | None
    source: str
    used: bool = False

    @classmethod
    def chosen(cls, course: Course, option: str | None) -> Clock:
        """Return the clock of the option --timezone, else of the course, else of this machine."""
        dates = Dates.read(course)
        if option is not None:
            return cls(dates, read_zone(option, "--timezone"), f"{option} (--timezone)")
        if dates.zone is not None:
            return cls(dates, dates.zone, f"{dates.zone.key} ({FILE})")
        name = datetime.datetime.now().astimezone().tzname()
        return cls(dates, None, f"{name}, this machine's zone")

    @property
    def told(self) -> str:
        """Return what is printed of it."""
        mend = f": give --timezone, or write zone into {FILE}, if the platform has another"
        return f"times without a zone were read as {self.source}{'' if self.zone else mend}"

    def in_utc(self, at: datetime.datetime) -> tuple[datetime.datetime, str]:
        """Return a platform's time in UTC, and what is odd about it."""
        with contextlib.suppress(OverflowError, ValueError, OSError):  # in the years 1 and 9999
            if at.tzinfo:
                return at.astimezone(datetime.UTC).replace(tzinfo=None), ""
            self.used = True
            return from_clock(at, self.zone)
        return at.replace(tzinfo=None), ""


def are_times_of_download(times: Iterable[datetime.datetime]) -> bool:
    """Return True if these are the times at which files were packed, one after the other.

    A class hands in over days; a download takes minutes. A single time may be either, and counts
    as one of a download.
    """
    known = sorted(times)
    gaps = [late - early for early, late in zip(known, known[1:], strict=False)]
    if known[-1] - known[0] <= _ONE_DOWNLOAD:
        return True
    usual = statistics.median(gap.total_seconds() for gap in gaps)
    return usual <= _ONE_AFTER_THE_OTHER.total_seconds()


def read_platform_time(text: str) -> datetime.datetime | None:
    """Return the time that Moodle writes in English, German, French or Spanish, without a zone."""
    match = _DAY_FIRST.fullmatch(text.strip()) or _MONTH_FIRST.fullmatch(text.strip())
    month = _MONTH_OF.get(match["month"].casefold()) if match else None
    if match is None or month is None:
        return None
    hour = int(match["hour"])
    if half := (match["half"] or "").upper():
        hour = hour % 12 + (12 if half == "PM" else 0)
    with contextlib.suppress(ValueError):  # the 31st of April
        return datetime.datetime(
            int(match["year"]), month, int(match["day"]), hour, int(match["minute"])
        )
    return None


def read_american_time(text: str) -> tuple[datetime.datetime | None, str]:
    """Return the time in `Oct 3, 2026 215 PM`, or None and the reason."""
    cleaned = " ".join(text.replace(".", "").replace(":", "").split())
    for form in ("%b %d, %Y %I%M %p", "%B %d, %Y %I%M %p"):
        date, _, clock = cleaned.partition(", ")
        year, _, clock = clock.partition(" ")
        digits, _, half = clock.rpartition(" ")
        try:
            padded = f"{date}, {year} {digits:0>4} {half}"
            return datetime.datetime.strptime(padded, form), ""
        except ValueError:
            continue
    return None, f"the time {text.strip()!r} is not one that Brightspace writes in English"


def unclear_time(text: str) -> str:
    """Return the sentence about a time in a roster that cannot be read."""
    problem = f"the roster's time {text!r} is not clear{which_date(text)}"
    return f"{problem}: {EXAMPLE}"
