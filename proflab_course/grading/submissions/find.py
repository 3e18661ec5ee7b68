"""Find submissions, and those that have changed since they were graded."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import stat
from dataclasses import dataclass
from pathlib import Path

import proflab
from proflab_course.course.layout import Course, CourseError
from proflab_course.grading.answer_key import Key
from proflab_course.grading.reader import Reader
from proflab_course.grading.run.student_files import read_folder, read_start
from proflab_course.grading.submissions.find_notebook import search_fingerprint
from proflab_course.grading.submissions.read_notebook import MAX_BYTES
from proflab_course.grading.submissions.timestamp import STAMP
from proflab_course.grading.submissions.which_lesson import Lessons

_MOST_NAMED = 10


@dataclass(frozen=True)
class Work:
    """One submission to be graded; without a fingerprint where it could not be read."""

    student: str
    folder: Path
    fingerprint: str

    @property
    def stamp_folder(self) -> Path:
        """The folder of timestamp.txt: the one above for what has no folder of the lesson."""
        return self.folder if self.folder.is_dir() else self.folder.parent


def find_work(
    course: Course, key: Key, reader: Reader, students: list[str] | None, full: bool
) -> list[Work]:
    """Return the submissions of a lesson: every student's folder that holds one, or those named."""
    submitted, lesson, lessons = course.root / "submitted", key.name, reader.lessons
    found = _find_students(submitted, lesson, reader)
    for name in students or []:
        if not (submitted / name).is_dir() or name in (".", "..") or "/" in name:
            there = ", ".join(found[:_MOST_NAMED]) or "none with a hand-in of this lesson"
            more = len(found) - _MOST_NAMED
            there += f" and {more} more" if more > 0 else ""
            raise CourseError(f"there is no folder submitted/{name}; there are {there}")
    support = _folder_fingerprint(course.source(lesson).parent)
    base = [key.fingerprint, support, harness_fingerprint(), str(full)]
    works = []
    for student in dict.fromkeys(students or found):
        folder = submitted / student / lesson
        try:
            text = "\n".join([*base, handin_fingerprint(folder, lessons)])
            works.append(Work(student, folder, hashlib.sha256(text.encode()).hexdigest()))
        except Exception:  # whatever it is, grading meets it again and gives it a name
            works.append(Work(student, folder, ""))
    return works


def _find_students(submitted: Path, lesson: str, reader: Reader) -> list[str]:
    """Return who has a folder for the lesson, or has its notebook elsewhere in their own."""
    folders = [path for path in submitted.glob("*") if path.is_dir()]
    return sorted(p.name for p in folders if (p / lesson).is_dir() or _has_strays(p, reader))


def _has_strays(student: Path, reader: Reader) -> bool:
    try:
        return reader.has_strays(student)
    except Exception:  # grading meets it again and gives it a name
        return True


def handin_fingerprint(folder: Path, lessons: Lessons) -> str:
    """Return a hash of what grading reads of a hand-in: little, whatever lies in its folder."""
    digest = hashlib.sha256()
    notebook = f"{lessons.key.name}.ipynb"
    for path in (folder / notebook, folder / STAMP, folder.parent / STAMP):
        digest.update(f"{_state_of(path)}\n".encode())
    digest.update(search_fingerprint(folder, notebook, lessons.folders()).encode())
    files = read_folder(folder) if folder.is_dir() else {}
    for path, data in files.items():
        digest.update(f"{path}\0{hashlib.sha256(data).hexdigest()}\n".encode())
    return digest.hexdigest()


def _state_of(path: Path) -> str:
    """Return what lies at `path`: its kind, its size, and its content if that may be read."""
    try:
        about = path.lstat()
    except OSError as error:
        return error.strerror
    fits = about.st_size <= MAX_BYTES
    data = read_start(path, MAX_BYTES) if fits and stat.S_ISREG(about.st_mode) else None
    content = "unread" if data is None else hashlib.sha256(data).hexdigest()
    return f"{stat.S_IFMT(about.st_mode)} {about.st_size} {content}"


def _folder_fingerprint(folder: Path) -> str:
    """Return a hash of a course folder's regular files, and of where its links point."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(str(path.relative_to(folder)).encode("utf-8", "surrogateescape") + b"\0")
        try:
            if path.is_symlink():
                digest.update(os.fsencode(os.readlink(path)))
            elif path.is_file():
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:  # grading gives it a name, too
            digest.update(str(error.strerror).encode())
    return digest.hexdigest()


def harness_fingerprint() -> str:
    """Return a hash of the package: a change in engine or grader makes earlier grades stale."""
    digest = hashlib.sha256()
    for root in (Path(proflab.__file__).parent, Path(__file__).parents[2]):
        for path in sorted(root.rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def all_known(course: Course, lesson: str, students: list[str] | None) -> bool:
    """Return True if all who have handed in have a result: then there may be nothing to execute.

    Asks the gradebook's file without what takes long to import, and tells nothing of changes.
    """
    folders = course.root.glob(f"submitted/*/{lesson}")
    there = set(students or (folder.parent.name for folder in folders))
    query = "SELECT student FROM proflab_outcome WHERE assignment = ? AND fingerprint <> ''"
    uri = f"{course.gradebook.resolve().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=1.0)) as database:
            known = {student for (student,) in database.execute(query, (lesson,))}
    except sqlite3.Error:  # there is none yet, or it is at work: opening it in earnest will say
        return False
    return there <= known


def needs_grading(course: Course, key: Key, work: Work, known: dict) -> bool:
    """Return True if there is no result for exactly this submission, lesson and harness."""
    outcome = known.get(work.student)
    written = course.root / "autograded" / work.student / key.name / f"{key.name}.ipynb"
    changed = outcome is None or not work.fingerprint or outcome.fingerprint != work.fingerprint
    return changed or not written.exists()
