"""Put attempts into submitted/STUDENT/LESSON/, whole or not at all, never an earlier over a later.

A replaced attempt is moved to downloaded/LESSON/replaced/STUDENT/, not deleted.
"""

from __future__ import annotations

import datetime
import os
import shutil
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from proflab_course.collect.attempts import Attempt
from proflab_course.collect.entries import DAMAGES, MAX_FILE
from proflab_course.collect.lesson_stamps import stamped_lesson
from proflab_course.course.files import replace_file, sync_folder
from proflab_course.course.iso_time import which_date
from proflab_course.course.layout import Course
from proflab_course.grading.submissions.decode_text import ZIP
from proflab_course.grading.submissions.find_notebook import is_notebook_name, may_hold_notebook
from proflab_course.grading.submissions.timestamp import STAMP, parse_timestamp, read_timestamp

_FORM = "%Y-%m-%d %H:%M:%S UTC"


@dataclass
class Stored:
    """The fate of one student's attempt: taken, replaced, unchanged, or not taken and why.

    retimed: the same work is stored already, and only its time of submission has changed.
    lost: a file of the student's could not be taken.
    """

    outcome: str
    notes: list[str] = field(default_factory=list)
    lost: bool = False


def store(
    course: Course, lesson: str, student: str, attempt: Attempt, own_times: bool = True
) -> Stored:
    """Store one attempt, whose time is in UTC; return its fate.

    own_times: a timestamp.txt among the files is the instructor's; else it may be a student's.
    """
    notes: list[str] = []
    files = _read_files(attempt, notes)
    lost = bool(notes)
    files = _with_notebook(files, lesson, course.lessons("source"), notes)
    if not own_times and files.pop(STAMP, None) is not None:
        notes.append(f"{STAMP} was handed in with it and does not count")
    elif STAMP in files:
        _check_stamp(files, notes)
    if not files:
        there = ", ".join(sorted(attempt.files)) or "nothing"
        return Stored("not taken", [f"there is no notebook, but {there}", *notes])
    if attempt.at is not None:
        files[STAMP] = f"{attempt.at:{_FORM}}\n".encode()
    if attempt.problem:
        rest = "the archive's time was taken" if attempt.at else "lateness is not known"
        notes.append(f"{attempt.problem}; {rest}")
    target = course.root / "submitted" / student / lesson
    if not target.exists():
        _put(course, lesson, files, target)
        return Stored("taken", notes, lost)
    kept = _content(target)
    if kept == files or (STAMP not in files and _work(kept) == files):
        return Stored("unchanged", lost=lost)
    before = read_timestamp(target).at
    if _work(kept) == _work(files):
        replace_file(target / STAMP, files[STAMP])
        was = f"{before:{_FORM}}" if before else "not known"
        return Stored("retimed", [*notes, f"the time of submission was {was}"], lost)
    now = attempt.at or parse_timestamp(files.get(STAMP, b"").decode("utf-8", "replace")).at
    if before is None or now is None or now <= before:
        return Stored("not taken", [_why_not(target, course, before, now)])
    replaced = _move_away(course, lesson, target)
    _put(course, lesson, files, target)
    notes.append(f"the attempt of {before:{_FORM}} is now in {replaced}")
    return Stored("replaced", notes, lost)


def _why_not(target: Path, course: Course, before, now) -> str:
    where = target.relative_to(course.root)
    if before is None or now is None:
        lacking = "the one that is there" if before is None else "this one"
        return (
            f"{where} holds another attempt, and the time of {lacking} is not known: "
            "move away the one that does not count"
        )
    which = "is later" if now < before else "was handed in at the same time"
    return f"the attempt in {where} {which} ({before:{_FORM}}), so it stays"


def _read_files(attempt: Attempt, notes: list[str]) -> dict[str, bytes]:
    """Return the content of an attempt's files, and notes about files that cannot be taken."""
    files = {}
    for path, entry in attempt.files.items():
        try:
            data = entry.read() if entry.size <= MAX_FILE else None
        except DAMAGES as error:
            notes.append(f"{path} cannot be read ({error}) and was left out")
            continue
        if data is None or len(data) > MAX_FILE:
            notes.append(f"{path} is larger than {MAX_FILE // 1024**2} MB and was left out")
        elif any(other.startswith(f"{path}/") for other in attempt.files):
            notes.append(f"{path} is also the name of a folder and was left out")
        else:
            files[path] = data
    return files


def _with_notebook(
    files: dict[str, bytes], lesson: str, lessons: Collection[str], notes: list[str]
) -> dict[str, bytes]:
    """Return the files if one of them looks like a notebook, else none.

    A single notebook is renamed to LESSON.ipynb, unless it is another lesson's.
    """
    if not any(may_hold_notebook(path, data) for path, data in files.items()):
        return {}
    notebooks = [path for path in files if is_notebook_name(path)]
    expected = f"{lesson}.ipynb"
    if len(notebooks) != 1 or notebooks[0] == expected or files[notebooks[0]].startswith(ZIP):
        return files
    (given,) = notebooks
    if (other := stamped_lesson(files[given], lessons)) not in ("", lesson):
        notes.append(f"{given} is the notebook of {other}")
        return files
    notes.append(f"{given} was stored as {expected}")
    return {expected if path == given else path: data for path, data in files.items()}


def _check_stamp(files: dict[str, bytes], notes: list[str]) -> None:
    """Return the problem of a handed-in timestamp.txt, which is kept unchanged."""
    text = files[STAMP].decode("utf-8-sig", errors="replace")
    if problem := parse_timestamp(text).problem:
        notes.append(f"{problem}{which_date(text)}")


def _work(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files without the time of submission."""
    return {path: data for path, data in files.items() if path != STAMP}


def _content(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder by path, except those too large to collect."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_FILE:
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def _put(course: Course, lesson: str, files: dict[str, bytes], target: Path) -> None:
    """Write the files into a temporary folder, and rename it into place."""
    place = course.root / "downloaded" / lesson
    place.mkdir(parents=True, exist_ok=True)
    incoming = Path(tempfile.mkdtemp(dir=place, prefix="incoming-"))
    try:
        for path, data in files.items():
            file = incoming / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        os.chmod(incoming, 0o755)
        target.parent.mkdir(parents=True, exist_ok=True)
        incoming.rename(target)
        sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(incoming, ignore_errors=True)
        raise


def _move_away(course: Course, lesson: str, target: Path) -> Path:
    """Move a replaced attempt out of submitted/; return its new place."""
    place = course.root / "downloaded" / lesson / "replaced" / target.parent.name
    place.mkdir(parents=True, exist_ok=True)
    number = 1 + sum(1 for _ in place.iterdir())
    while (place / str(number)).exists():
        number += 1
    target.rename(place / str(number))
    return (place / str(number)).relative_to(course.root)


def last_attempts(attempts: list[Attempt]) -> tuple[Attempt, list[Attempt]]:
    """Return a student's last attempt, and the others; those without a time are the first."""
    early = datetime.datetime.min
    ordered = sorted(attempts, key=lambda attempt: (attempt.at or early, attempt.label))
    return ordered[-1], ordered[:-1]


def entry_paths(attempt: Attempt) -> list[str]:
    """Return the paths of an attempt's files in the archive."""
    return [entry.path for entry in attempt.files.values()]
