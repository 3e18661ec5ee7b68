"""Read times in ISO order, and say which moment a clock of a zone shows.

Times are stored in UTC and without a zone, as nbgrader stores them.
"""

from __future__ import annotations

import datetime
import re
import zoneinfo

from proflab_course.course.layout import CourseError

EXAMPLE = "write it as 2026-12-03 14:30:00 UTC"
# ISO's form, and what platforms write in place of it: a blank for the T, an hour of one digit, a
# comma for the point, the name of a zone.
_FORM = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ]\s*(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?))?"
    r"\s*(?P<zone>Z|[+-]\d{2}(?::?\d{2})?|[A-Za-z][\w/+-]{1,40})?",
    re.ASCII,
)


def read_zone(name: str, where: str) -> zoneinfo.ZoneInfo:
    """Return a time zone by name; where: the option or key, for CourseError if there is none."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise CourseError(f"{where} {name} is not known: write it as Europe/Zurich") from None


def read_iso_time(text: str) -> datetime.datetime:
    """Return the time in `text`, an ISO date, perhaps with a time and a zone; else it is UTC.

    Raises ValueError with the reason, as a part of a sentence.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError("which is not a date in ISO order")
    try:
        return _in_utc(match)
    except KeyError:
        raise ValueError(f"whose time zone {match['zone']} is not known") from None
    except (ValueError, OverflowError):
        raise ValueError("which is not a date of the calendar") from None


def has_zone(text: str) -> bool:
    """Return True if the time in `text` has a zone."""
    match = _FORM.fullmatch(text.strip())
    return match is not None and match["zone"] is not None


def has_clock(text: str) -> bool:
    """Return True if the time in `text` is more than a date."""
    match = _FORM.fullmatch(text.strip())
    return match is not None and match["time"] is not None


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


def from_clock(
    at: datetime.datetime, zone: datetime.tzinfo | None
) -> tuple[datetime.datetime, str]:
    """Return the moment, in UTC, at which a zone's clocks show a time, and what is odd about it.

    zone: None for this machine's. Where clocks go back, a time comes twice and the earlier one is
    returned; where they go forward, there is no such time, and it is that much later.
    """
    from dateutil import tz

    local = at.replace(tzinfo=zone or tz.tzlocal())
    moment = (local if zone else at).astimezone(datetime.UTC).replace(tzinfo=None)
    clock = f"{at:%Y-%m-%d %H:%M}"
    if not tz.datetime_exists(local):
        return moment, f"no clock shows {clock}, because clocks go forward that night"
    if tz.datetime_ambiguous(local):
        return moment, f"clocks show {clock} twice, because they go back that night"
    return moment, ""


def shown_time(at: datetime.datetime, zone: zoneinfo.ZoneInfo | None = None) -> str:
    """Return a time in UTC as a page shows it, by the clocks of a zone.

    >>> shown_time(datetime.datetime(2026, 12, 1, 17), zoneinfo.ZoneInfo("Europe/Zurich"))
    '2026-12-01 18:00 Europe/Zurich'
    """
    local = at.replace(tzinfo=datetime.UTC).astimezone(zone or datetime.UTC)
    seconds = ":%S" if local.second else ""
    return f"{local:%Y-%m-%d %H:%M{seconds}} {zone.key if zone else 'UTC'}"


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
