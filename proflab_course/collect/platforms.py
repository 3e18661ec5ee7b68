"""Tell whose each file is, by the names that learning platforms give.

Moodle ("Download all submissions", with or without folders; docs.moodle.org, Assignment FAQ):
    Full Name_123456_assignsubmission_file_/FILE    Full Name_123456_assignsubmission_file_FILE
Canvas ("Download Submissions"; no times, a mark for late work, -1, -2 … for further attempts):
    nameofstudent_LATE_4711_98765_FILE              anon_x1Yz2_98765_FILE
Brightspace (assignments, "Download"; a folder or a file for each attempt):
    4711-98765 - Full Name - Oct 3, 2026 215 PM/FILE
A folder of one's own:
    STUDENT/…/FILE                                  STUDENT.ipynb, STUDENT_01_parameters.ipynb
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from proflab_course.collect.entries import Entry

_MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?P<kind>file|onlinetext)_?(?P<rest>.*)"
)
_CANVAS = re.compile(
    r"(?P<name>[^_/]+)_(?:(?P<late>LATE)_)?(?P<number>[1-9]\d*|(?:(?<=^anon_)|(?<=^anon_LATE_))\w{5})"
    r"_(?P<attachment>[1-9]\d*)_(?P<rest>.+)"
)
ANONYMOUS = "anon"
_BRIGHTSPACE = re.compile(
    r"(?P<number>\d+)-(?P<submission>\d+)\s*-\s*(?P<name>.+?)\s*-\s*"
    r"(?P<date>\w+\.? \d{1,2}, \d{4} \d{1,2}:?\d\d ?[AP]M|[^-/]*\d{4}[^-/]*)"
    r"(?:\s*-\s*(?P<rest>.+))?"
)
_VERSION = re.compile(r"(?P<stem>.+?)(?:-(?P<version>\d{1,2}))?(?P<suffix>\.[^.]+)?")
_BY_PLATFORM = {"Moodle": _MOODLE, "Brightspace": _BRIGHTSPACE, "Canvas": _CANVAS}


@dataclass
class Attempt:
    """One student's hand-in at one time.

    name, number: as the platform writes them. files: by their paths in what was handed in.
    at: the time, None where the platform tells none; problem: why a time cannot be used.
    """

    name: str
    number: str
    label: str
    files: dict[str, Entry] = field(default_factory=dict)
    at: datetime.datetime | None = None
    problem: str = ""
    late: bool = False


@dataclass
class Sorted:
    """The attempts of a class, and the files that belong to nobody, each with the reason."""

    platform: str
    attempts: list[Attempt]
    left_out: dict[str, str]


def sort_entries(entries: Iterable[Entry], lesson: str, others: Collection[str] = ()) -> Sorted:
    """Return the attempts that the files' names tell of; most names decide on the platform.

    others: the course's other lessons, whose folders are passed over in a folder of one's own.
    """
    entries = list(entries)
    counts = {
        platform: sum(_split(pattern, entry.path) is not None for entry in entries)
        for platform, pattern in _BY_PLATFORM.items()
    }
    platform = max(counts, key=lambda name: counts[name]) if entries else "folder"
    if entries and 2 * counts[platform] < len(entries):
        platform = "folder"
    if platform == "folder":
        return _sort_folder(entries, lesson, others)
    return _sort(platform, entries)


def _split(pattern: re.Pattern, path: str) -> tuple[re.Match, str] | None:
    """Return the match of the first part of a path that fits, and the path below it."""
    parts = PurePosixPath(path).parts
    for index, part in enumerate(parts):
        if match := pattern.fullmatch(part):
            below = "/".join(parts[index + 1 :])
            if below or match["rest"]:
                return match, below or match["rest"]
    return None


def _sort(platform: str, entries: list[Entry]) -> Sorted:
    attempts: dict[tuple[str, ...], Attempt] = {}
    left_out: dict[str, str] = {}
    for entry in entries:
        split = _split(_BY_PLATFORM[platform], entry.path)
        if split is None:
            left_out[entry.path] = f"is not named as {platform} names hand-ins"
            continue
        match, below = split
        found = match.groupdict()
        if found.get("kind") == "onlinetext":
            left_out[entry.path] = "is text typed into Moodle, not a notebook"
            continue
        key = (found["name"], found["number"], found.get("date") or "")
        label = match[0].removesuffix(match["rest"] or "").rstrip(" _-") or match[0]
        attempt = attempts.setdefault(key, Attempt(found["name"].strip(), found["number"], label))
        attempt.late |= bool(found.get("late"))
        attempt.files[below] = entry
        _set_time(platform, attempt, entry, found)
    for attempt in attempts.values() if platform == "Canvas" else ():
        _leave_versions(attempt, left_out)
    return Sorted(platform, list(attempts.values()), left_out)


def _set_time(platform: str, attempt: Attempt, entry: Entry, found: dict[str, str]) -> None:
    """Set the time that a platform tells: Moodle the files' own, Brightspace in the name."""
    if platform == "Moodle" and entry.at.year > 1980:
        attempt.at = max(attempt.at or entry.at, entry.at)
    if platform == "Brightspace":
        attempt.at, attempt.problem = read_american_time(found["date"])


def read_american_time(text: str) -> tuple[datetime.datetime | None, str]:
    """Return the time that `Oct 3, 2026 215 PM` names, or None and what is wrong with it."""
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


def _leave_versions(attempt: Attempt, left_out: dict[str, str]) -> None:
    """Keep the last of lesson.ipynb, lesson-1.ipynb, lesson-2.ipynb, under its first name."""
    last: dict[str, tuple[int, str]] = {}
    for path in attempt.files:
        match = _VERSION.fullmatch(path)
        plain = f"{match['stem']}{match['suffix'] or ''}"
        last[plain] = max(last.get(plain, (-1, "")), (int(match["version"] or 0), path))
    for path in set(attempt.files) - {path for _, path in last.values()}:
        left_out[attempt.files[path].path] = "is an earlier attempt"
    attempt.files = {plain: attempt.files[path] for plain, (_, path) in last.items()}


# ── a folder of one's own ────────────────────────────────────────────────────────────────────


def _sort_folder(entries: list[Entry], lesson: str, others: Collection[str]) -> Sorted:
    """Take the first folder's name, or that of a file without one, for the student's."""
    attempts: dict[str, Attempt] = {}
    left_out: dict[str, str] = {}
    for entry in entries:
        student, _, below = entry.path.partition("/")
        if not below:
            student, below = _student_in(entry.path, lesson), entry.path
            if not student:
                left_out[entry.path] = "does not name its student: put it into a folder STUDENT/"
                continue
        if (other := below.partition("/")[0]) in others:
            left_out[entry.path] = f"belongs to lesson {other}"
            continue
        below = below.removeprefix(f"{lesson}/")
        attempts.setdefault(student, Attempt(student, student, student)).files[below] = entry
    return Sorted("folder", list(attempts.values()), left_out)  # dates of files tell of copying


def _student_in(name: str, lesson: str) -> str:
    """Return the student in a file's name: what is left of it without the lesson's name."""
    stem = re.sub(r"(\.(ipynb|txt|json|zip|pdf|html))+$", "", name, flags=re.IGNORECASE)
    stem = re.sub(r"\s*\(\d+\)$", "", stem)
    return re.sub(rf"[-_ ]*{re.escape(lesson)}[-_ ]*", "", stem).strip()
