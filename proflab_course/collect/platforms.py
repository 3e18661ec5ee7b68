"""Recognise the platform that an archive comes from, and the student of each file.

The outermost names decide, which the platform gives and no student can choose: either all of them
have the form of one platform, or none. Any other archive is refused without `--platform`.

Moodle ("Download all submissions", with or without folders; mod/assign/classes/downloader.php):
    Full Name_123456_assignsubmission_file/FILE     Full Name_123456_assignsubmission_file_FILE
    Group A_17_assignsubmission_file/FILE           Default group_assignsubmission_file/FILE
Canvas ("Download Submissions"; lib/content_zipper.rb): no times, a mark for late work, -1, -2 …
for further attempts; of a group its name, and the number of one member:
    nameofstudent_LATE_4711_98765_FILE              anon_x1Yz2_98765_FILE
    nameofstudent_4711_text.html                    nameofstudent_4711_link.html
Brightspace (assignments, "Download"; a folder or a file for each attempt, and an index.html):
    4711-98765 - Full Name - Oct 3, 2026 215 PM/FILE
Blackboard ("Assignment File Download"; a .txt beside each attempt names the student):
    Lesson 01_s1000_attempt_2026-11-20-06-15-10_FILE
Gradescope ("Export Submissions"; gradescope.py):
    assignment_5551234_export/submission_98765/FILE
A folder of the instructor's (own_folder.py):
    STUDENT/…/FILE                                  STUDENT.ipynb, STUDENT_01_parameters.ipynb
"""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Collection
from pathlib import Path

from proflab_course.collect.attempts import Attempt, Sorted
from proflab_course.collect.entries import Entry
from proflab_course.collect.gradescope import METADATA, sort_gradescope
from proflab_course.collect.own_folder import sort_folder
from proflab_course.collect.times import are_times_of_download, read_american_time
from proflab_course.course.layout import CourseError
from proflab_course.course.words import few
from proflab_course.grading.limited_process import Unreadable

# The forms that are known, for a message.
FORMS = (
    "as Moodle, Canvas, Brightspace, Blackboard or Gradescope does, or by STUDENT/FILE or "
    "STUDENT_LESSON.ipynb, where STUDENT is or contains an id, an address or a name of the roster"
)
PLATFORMS = ("moodle", "canvas", "brightspace", "blackboard", "gradescope", "folder")

# How each platform names what it packs; tests/collect/ has examples of them all.
_MOODLE = re.compile(
    r"(?P<name>.+?)(?:_(?P<number>\d+))?_assignsubmission_(?P<kind>[a-z]+)_?(?P<rest>.*)"
)
_CANVAS = re.compile(
    r"(?P<name>[^\s/.,()+-]+?)_(?:(?P<late>LATE)_)?"
    r"(?P<number>[1-9]\d*|(?:(?<=^anon_)|(?<=^anon_LATE_))\w{5})"
    r"_(?:(?P<kind>text|link)\.html|(?P<attachment>[1-9]\d*)_(?P<rest>.+))"
)
ANONYMOUS = "anon"  # in place of a name, where an assignment is graded without names
_BRIGHTSPACE = re.compile(
    r"(?P<number>\d+)-(?P<submission>\d+)\s*-\s*(?P<name>.+?)\s*-\s*"
    r"(?P<date>\w+\.? \d{1,2}, \d{4} \d{1,2}:?\d\d ?[AP]M|[^-/]*\d{4}[^-/]*)"
    r"(?:\s*-\s*(?P<rest>.+))?"
)
_BLACKBOARD = re.compile(
    r"(?P<name>.+)_attempt_(?P<date>\d{4}(?:-\d\d){5})(?:_(?P<rest>.+)|(?P<about>\.txt))"
)
_GRADESCOPE = re.compile(rf"submission_\d+(?:\.\w+)?|{re.escape(METADATA)}")
_GRADESCOPE_TOP = re.compile(r"assignment_\d+_export")
_PATTERNS = {
    "Moodle": _MOODLE,
    "Canvas": _CANVAS,
    "Brightspace": _BRIGHTSPACE,
    "Blackboard": _BLACKBOARD,
    "Gradescope": _GRADESCOPE,
}
_COMPANIONS = {"Brightspace": {"index.html"}}
_TYPED = {
    "text": "is text typed into Canvas, not a notebook",
    "link": "is a link that was handed in on Canvas, not a notebook",
}
_ABOUT_NAME = re.compile(r"[^:\n]{1,40}:\s*(?P<full>[^\n]*?)\s*\((?P<login>[^()\n]+)\)\s*(?:\n|$)")
_ABOUT_BYTES = 10_000  # the name stands in the first line
# The number that Canvas gives a file that is handed in again.
_VERSION = re.compile(r"(?<=.)-(\d{1,2})(?=(?:\.[^.]+)?\Z)")
# As instructors name groups, also in German, French, Spanish, Italian and Dutch.
_GROUP = r"groups?|gruppen?|groupes?|grupos?|gruppi?|groep|teams?|équipes?|equipes?|equipos?"
_NAMES_A_GROUP = re.compile(
    rf"(?:.*\s)?(?:{_GROUP})(?:\s.*)?|.*(?:{_GROUP})\W*\d+|(?:{_GROUP})\W*[a-z]"
)


def sort_entries(
    entries: list[Entry],
    lesson: str,
    others: Collection[str] = (),
    platform: str | None = None,
    source: Path = Path("the archive"),
) -> Sorted:
    """Return the attempts in the files' names.

    others: the course's other lessons, whose folders are left out in an instructor's own folder;
    platform: one of PLATFORMS if the instructor names it. Raises CourseError if the platform is
    ambiguous.
    """
    if platform is None:
        found, entries = _decide(entries, lesson, others, source)
    else:
        found, entries = _given(entries, platform)
    if found == "folder":
        return sort_folder(entries, lesson, others)
    if found == "Gradescope":
        return sort_gradescope(entries, source)
    return _sort(found, entries)


def is_group_name(name: str) -> bool:
    """Return True for a typical name of a group: Group A, Gruppe 12, Team Rocket."""
    return _NAMES_A_GROUP.fullmatch(name.lower()) is not None


# ── which platform ───────────────────────────────────────────────────────────────────────────


def _fits(platform: str, entry: Entry) -> re.Match | None:
    """Return the match of a file's outermost name if it fits the file's name below."""
    match = _PATTERNS[platform].fullmatch(entry.top)
    if match is None or platform == "Gradescope":
        return match
    return match if entry.top != entry.path or _is_whole(match) else None


def _is_whole(match: re.Match) -> bool:
    """Return True if a name is a file's, not a folder's."""
    found = match.groupdict()
    return bool(found.get("rest") or found.get("about") or found.get("kind") in _TYPED)


def _strangers(platform: str, entries: list[Entry]) -> list[str] | None:
    """Return the outermost names without the platform's form; None if none has it."""
    companions = _COMPANIONS.get(platform, ())
    names = {entry.top: _fits(platform, entry) for entry in entries}
    if not any(names.values()):
        return None
    return sorted(name for name, match in names.items() if not match and name not in companions)


def _decide(
    entries: list[Entry], lesson: str, others: Collection[str], source: Path
) -> tuple[str, list[Entry]]:
    """Return the platform and the files in its form; CourseError if two are plausible."""
    tops = sorted({entry.top for entry in entries})
    if exports := [top for top in tops if _GRADESCOPE_TOP.fullmatch(top)]:
        if tops != exports[:1]:
            raise CourseError(f"{source} holds {few(tops)}: collect one export of Gradescope alone")
        return "Gradescope", [entry.inside() for entry in entries]
    strangers = {name: _strangers(name, entries) for name in _PATTERNS}
    some = {name: there for name, there in strangers.items() if there is not None}
    whole = [name for name, there in some.items() if not there]
    if len(whole) == 1:
        return whole[0], entries
    if some:
        least = min(some.values(), key=len)
        odd = f", but not {few(least)}" if least else ""
        raise CourseError(
            f"{source} holds names as {' or '.join(some)} writes them{odd}: remove what does not "
            "belong to it, or say what it is with --platform"
        )
    if len(tops) == 1:
        _refuse_one_folder(entries, {lesson, *others}, source)
    return "folder", entries


def _refuse_one_folder(entries: list[Entry], lessons: set[str], source: Path) -> None:
    """Raise CourseError for a class inside a single folder, which looks like one student."""
    top = entries[0].top
    inside = [entry.inside() for entry in entries if "/" in entry.path]
    named = [name for name in _PATTERNS if _strangers(name, inside) == []]
    notebooks = [e for e in inside if "/" in e.path and e.path.lower().endswith(".ipynb")]
    folders = sorted({entry.top for entry in notebooks} - lessons)
    if named or len(folders) > 1:
        what = f"{named[0]}'s archive" if named else f"notebooks in {few(folders)}"
        raise CourseError(
            f"{source} holds one folder, {top}, with {what} inside: collect what is in {top}, or "
            f"give --platform folder if {top} is one student"
        )


def _given(entries: list[Entry], platform: str) -> tuple[str, list[Entry]]:
    """Return the named platform, and the files in its form, perhaps inside one folder."""
    if platform == "folder":
        return platform, entries
    name = platform.title()
    inside = [entry.inside() for entry in entries if "/" in entry.path]
    one = len({entry.top for entry in entries}) == 1 and len(inside) == len(entries)
    if one and not any(_fits(name, entry) for entry in entries):
        return name, inside
    return name, entries


# ── whose each file is ───────────────────────────────────────────────────────────────────────


def _sort(platform: str, entries: list[Entry]) -> Sorted:
    result = Sorted(platform, [])
    attempts: dict[tuple[str, str, str], Attempt] = {}
    about: dict[tuple[str, str, str], Entry] = {}
    for entry in entries:
        match = _fits(platform, entry)
        if match is None:
            known = entry.top in _COMPANIONS.get(platform, ())
            place = result.passed_over if known else result.left_out
            place[entry.path] = f"is not named as {platform} names hand-ins"
            continue
        found = {"number": "", "date": "", "kind": "", "late": "", **match.groupdict()}
        if reason := _no_file(platform, found["kind"]):
            result.left_out[entry.path] = reason
            continue
        # As packed: the names of two people may be one once an unseen sign is left out of them.
        raw = _PATTERNS[platform].fullmatch(entry.raw_top)
        packed = raw["name"] if raw else entry.raw_top
        key = (packed, found["number"] or "", found["date"] or "")
        label = match[0].removesuffix(found["rest"] or "").rstrip(" _-") or match[0]
        attempt = attempts.setdefault(
            key, Attempt(found["name"].strip(), key[1], label, owner="_".join(key[:2]).rstrip("_"))
        )
        if found.get("about"):
            about[key] = entry
            continue
        attempt.late |= bool(found["late"])
        result.add_file(attempt, entry.path.partition("/")[2] or found["rest"], entry)
        _set_time(platform, attempt, entry, found)
    for key, attempt in attempts.items() if platform == "Blackboard" else ():
        _read_about(attempt, about.get(key))
        if not attempt.files:
            result.left_out[about[key].path] = f"is all of an attempt of {attempt.name}: no file"
    result.attempts = [attempt for attempt in attempts.values() if attempt.files]
    for attempt in result.attempts if platform == "Canvas" else ():
        _leave_versions(attempt, result.passed_over)
    if platform == "Moodle":
        _drop_times_of_download(result)
    return result


def _no_file(platform: str, kind: str | None) -> str:
    """Return the reason why a hand-in is not a file; empty if it is one."""
    if platform == "Canvas" and kind:
        return _TYPED[kind]
    return "" if kind in ("", None, "file") else "is text typed into Moodle, not a notebook"


def _set_time(platform: str, attempt: Attempt, entry: Entry, found: dict[str, str]) -> None:
    """Set the time that a platform gives: Moodle in the files' times, others in the name."""
    # 1980 is what a zip has for a file without a time.
    if platform == "Moodle" and entry.at.year > 1980:
        attempt.at = max(attempt.at or entry.at, entry.at)
    if platform == "Brightspace":
        attempt.at, attempt.problem = read_american_time(found["date"])
    if platform == "Blackboard":
        try:
            attempt.at = datetime.datetime.strptime(found["date"], "%Y-%m-%d-%H-%M-%S")
        except ValueError:
            attempt.problem = f"the time {found['date']} is not one of the calendar"


def _drop_times_of_download(result: Sorted) -> None:
    """Drop times at which Moodle packed the files."""
    times = [attempt.at for attempt in result.attempts if attempt.at is not None]
    result.no_times = not times or are_times_of_download(times)
    for attempt in result.attempts if result.no_times else ():
        attempt.at = None


def _read_about(attempt: Attempt, entry: Entry | None) -> None:
    """Take name and login from the .txt that Blackboard adds; else the login from the file's name.

    Only the .txt is exact, because a login may contain the _ that ends the assignment's name.
    """
    text = ""
    if entry is not None:
        with contextlib.suppress(Unreadable):
            text = entry.read(_ABOUT_BYTES).decode("utf-8-sig", "replace")
    about = _ABOUT_NAME.match(text)
    if about and f"_{attempt.name}".endswith(f"_{about['login']}"):
        attempt.name, attempt.aliases = about["full"] or about["login"], (about["login"],)
    else:
        attempt.name = attempt.name.rpartition("_")[2]
        attempt.aliases = (attempt.name,)


def _leave_versions(attempt: Attempt, passed_over: dict[str, str]) -> None:
    """Keep the last of lesson.ipynb, lesson-1.ipynb, lesson-2.ipynb, under its first name."""
    last: dict[str, tuple[int, str]] = {}
    for path in attempt.files:
        version, plain = _VERSION.search(path), _VERSION.sub("", path, count=1)
        number = int(version[1]) if version else 0
        last[plain] = max(last.get(plain, (-1, "")), (number, path))
    for path in set(attempt.files) - {path for _, path in last.values()}:
        passed_over[attempt.files[path].path] = "is an earlier attempt"
    attempt.files = {plain: attempt.files[path] for plain, (_, path) in last.items()}
