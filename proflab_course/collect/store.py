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
from proflab_course.collect.entries import Source
from proflab_course.collect.lesson_stamps import lesson_of
from proflab_course.course.files import replace_file, sync_folder
from proflab_course.course.iso_time import which_date
from proflab_course.course.layout import Course
from proflab_course.course.words import few
from proflab_course.grading.limited_process import Unreadable
from proflab_course.grading.run.student_files import read_start
from proflab_course.grading.submissions.decode_text import ZIP, other_kind
from proflab_course.grading.submissions.file_names import (
    has_cells,
    is_archive,
    is_notebook_name,
    may_be_notebook,
)
from proflab_course.grading.submissions.read_notebook import MAX_BYTES
from proflab_course.grading.submissions.timestamp import (
    STAMP,
    STAMP_BYTES,
    parse_timestamp,
    read_timestamp,
)

_HEAD, _SMALL = 16, 1 << 16  # bytes that tell an archive; of files that are compared whole
_MOST_NAMED = 20
_INCOMING = "incoming-"
_FORM = "%Y-%m-%d %H:%M:%S UTC"  # nbgrader reads timestamp.txt in it


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
    course: Course, lesson: str, student: str, attempt: Attempt, source: Source, own_times: bool
) -> Stored:
    """Store one attempt, whose time is in UTC; return its fate.

    own_times: a timestamp.txt among the files is the instructor's; else it may be a student's.
    """
    place = course.root / "downloaded" / lesson
    place.mkdir(parents=True, exist_ok=True)
    # In the course's folder, so that a rename puts it into place.
    incoming = Path(tempfile.mkdtemp(dir=place, prefix=_INCOMING))
    try:
        return _Storing(course, lesson, student, attempt, source, incoming).store(own_times)
    except Unreadable as error:
        return Stored("not taken", [error.reason], lost=True)
    finally:
        shutil.rmtree(incoming, ignore_errors=True)


def remove_incoming(course: Course, lesson: str) -> None:
    """Remove the copies that a killed run left; call it while no other run can be storing."""
    for left in (course.root / "downloaded" / lesson).glob(f"{_INCOMING}*"):
        shutil.rmtree(left, ignore_errors=True)


@dataclass
class _Storing:
    """One attempt on its way: its files are copied to `incoming`, which then goes into place."""

    course: Course
    lesson: str
    student: str
    attempt: Attempt
    source: Source
    incoming: Path
    notes: list[str] = field(default_factory=list)

    def store(self, own_times: bool) -> Stored:
        """Copy the files, compare them with what is there, and put them into place."""
        # A folder of this name would be in the way of the file that says when it was handed in.
        files = {p: e for p, e in self.attempt.files.items() if not p.startswith(f"{STAMP}/")}
        copied = self.source.copy(files, self.incoming)
        lost, work = bool(copied.problems), copied.digests
        self.notes += copied.problems
        if not any(_may_hold_notebook(self.incoming, path) for path in work):
            return Stored("not taken", [self._what_is_there(work), *self.notes], lost)
        work = self._name_notebook(work)
        stamped = work.pop(STAMP, None) is not None
        if stamped and not own_times:
            (self.incoming / STAMP).unlink()
            self.notes.append(f"{STAMP} was handed in with it and does not count")
        elif stamped:
            self._check_stamp()
        self._write_time()
        return self._put_into_place(work, lost)

    def _put_into_place(self, work: dict[str, str], lost: bool) -> Stored:
        """Put the files into submitted/, unless what is there is the same or later."""
        target = self.course.root / "submitted" / self.student / self.lesson
        if not target.exists():
            _put(self.incoming, target)
            return Stored("taken", self.notes, lost)
        kept = self.source.digests(target)
        kept.pop(STAMP, None)
        before = read_timestamp(target).at
        now = self.attempt.at or read_timestamp(self.incoming).at
        if kept == work:
            if not (self.incoming / STAMP).exists() or _same_file(STAMP, target, self.incoming):
                return Stored("unchanged", lost=lost)
            replace_file(target / STAMP, (self.incoming / STAMP).read_bytes())
            was = f"{before:{_FORM}}" if before else "not known"
            self.notes.append(f"the time of submission was {was}")
            return Stored("retimed", self.notes, lost)
        if before is None or now is None or now <= before:
            return Stored("not taken", [_why_not(target, self.course, before, now)])
        replaced = _move_away(self.course, self.lesson, target)
        _put(self.incoming, target)
        self.notes.append(f"the attempt of {before:{_FORM}} is now in {replaced}")
        return Stored("replaced", self.notes, lost)

    def _what_is_there(self, work: Collection[str]) -> str:
        """Return the sentence about an attempt without a notebook, and what to do about it."""
        there = few(sorted(work or self.attempt.files)) or "nothing"
        kinds = ((path, other_kind(path, _start(self.incoming / path))) for path in sorted(work))
        told = next((f"; {path} is {kind}" for path, kind in kinds if kind), "")
        return f"there is no notebook, but {there}{told}"

    def _name_notebook(self, work: dict[str, str]) -> dict[str, str]:
        """Rename a single notebook to LESSON.ipynb, unless it is another lesson's."""
        notebooks = [path for path in work if is_notebook_name(path)]
        expected = f"{self.lesson}.ipynb"
        if len(notebooks) != 1 or notebooks[0] == expected:
            return work
        (given,) = notebooks
        # An archive that is called a notebook keeps its name: the grader unpacks it.
        if _start(self.incoming / given).startswith(ZIP) or (self.incoming / expected).exists():
            return work
        lessons = self.course.lessons("source")
        if (other := lesson_of(self.attempt.files[given], lessons)) not in ("", self.lesson):
            self.notes.append(f"{given} is the notebook of {other}")
            return work
        (self.incoming / given).rename(self.incoming / expected)
        self.notes.append(f"{given} was stored as {expected}")
        return {expected if path == given else path: digest for path, digest in work.items()}

    def _check_stamp(self) -> None:
        """Note the problem of a handed-in timestamp.txt, which is kept unchanged."""
        text = (read_start(self.incoming / STAMP, STAMP_BYTES) or b"").decode(
            "utf-8-sig", "replace"
        )
        if problem := parse_timestamp(text).problem:
            self.notes.append(f"{problem}{which_date(text)}")

    def _write_time(self) -> None:
        """Write the attempt's time beside its files; note why it cannot be used."""
        at = self.attempt.at
        if at is not None:
            (self.incoming / STAMP).write_text(f"{at:{_FORM}}\n")
        if self.attempt.problem:
            rest = "the archive's time was taken" if at else "lateness is not known"
            self.notes.append(f"{self.attempt.problem}; {rest}")


def _may_hold_notebook(folder: Path, path: str) -> bool:
    """Return True if a copied file may be a notebook, or an archive with one."""
    if is_notebook_name(path) or is_archive(path, _start(folder / path)):
        return True
    return may_be_notebook(path) and has_cells(read_start(folder / path, MAX_BYTES) or b"")


def _start(path: Path) -> bytes:
    return read_start(path, _HEAD) or b""


def _same_file(name: str, one: Path, other: Path) -> bool:
    return read_start(one / name, _SMALL) == read_start(other / name, _SMALL)


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


def _put(incoming: Path, target: Path) -> None:
    """Rename the folder with an attempt's files into place."""
    # mkdtemp's folder is its owner's alone.
    os.chmod(incoming, 0o755)
    target.parent.mkdir(parents=True, exist_ok=True)
    incoming.rename(target)
    sync_folder(target.parent)


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
    """Return the paths of an attempt's files in the archive; of many, the first, and a number."""
    paths = [entry.path for entry in attempt.files.values()]
    if len(paths) <= _MOST_NAMED:
        return paths
    more = f"{attempt.label}: {len(paths) - _MOST_NAMED:,} more files"
    return [*paths[:_MOST_NAMED], more]
