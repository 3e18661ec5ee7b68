"""Resume a grading: find what is graded already, and remove what a killed grading left.

A result depends on what was handed in, the lesson, the harness and --full. Their fingerprint is
stored with the result, and a submission is graded again only if it differs.

A killed grading leaves nothing half done. The graded notebook is renamed into place before its row
is committed, in one transaction; SQLite rolls back what was not committed. Only files that end in
`.part` are left: those in autograded/ are removed here, that of a gradebook which was being made by
the next `Book` (records/gradebook.py).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import stat
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from proflab_course.course.harness import harness_fingerprint
from proflab_course.course.layout import Course
from proflab_course.grading.answer_key import Key
from proflab_course.grading.own_numbers.program import own_fingerprint
from proflab_course.grading.run.student_files import read_folder, read_start
from proflab_course.grading.submissions.find import Work
from proflab_course.grading.submissions.find_notebook import search_fingerprint
from proflab_course.grading.submissions.read_notebook import MAX_BYTES
from proflab_course.grading.submissions.timestamp import STAMP
from proflab_course.grading.submissions.which_lesson import Lessons


def with_fingerprints(
    works: Iterable[Work], course: Course, lessons: Lessons, full: bool, variant: str = ""
) -> list[Work]:
    """Return the submissions, each with the fingerprint of all that its result depends on.

    variant: the digest of the secret from which each student's numbers are drawn, if they are.

    A submission that cannot be read has none: grading it gives the failure its outcome.
    """
    key = lessons.key
    support = lesson_fingerprint(course.source(key.name).parent)
    base = [key.fingerprint, support, harness_fingerprint(), str(full)]
    base += [variant] if variant else []
    found = []
    for work in works:
        try:
            own = own_fingerprint(course.root, key.name, work.student)
            text = "\n".join([*base, own, handin_fingerprint(work.folder, lessons)])
            fingerprint = hashlib.sha256(text.encode()).hexdigest()
        except Exception:  # grading meets the same error again and names it
            fingerprint = ""
        found.append(replace(work, fingerprint=fingerprint))
    return found


def handin_fingerprint(folder: Path, lessons: Lessons) -> str:
    """Return a hash of the part of a hand-in that grading reads, whatever else is in its folder."""
    digest = hashlib.sha256()
    notebook = f"{lessons.key.name}.ipynb"
    for path in (folder / notebook, folder / STAMP, folder.parent / STAMP):
        digest.update(f"{_state_of(path)}\n".encode())
    digest.update(search_fingerprint(folder, notebook, lessons.folders()).encode())
    files = read_folder(folder) if folder.is_dir() else {}
    for name, data in files.items():
        digest.update(f"{name}\0{hashlib.sha256(data).hexdigest()}\n".encode())
    return digest.hexdigest()


def _state_of(path: Path) -> str:
    """Return the kind and size of the file at `path`, and a hash of it if it may be read."""
    try:
        about = path.lstat()
    except OSError as error:
        return str(error.strerror)
    fits = about.st_size <= MAX_BYTES
    data = read_start(path, MAX_BYTES) if fits and stat.S_ISREG(about.st_mode) else None
    content = "unread" if data is None else hashlib.sha256(data).hexdigest()
    return f"{stat.S_IFMT(about.st_mode)} {about.st_size} {content}"


def lesson_fingerprint(folder: Path) -> str:
    """Return a hash of a lesson's folder: its regular files, and the targets of its links."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(str(path.relative_to(folder)).encode("utf-8", "surrogateescape") + b"\0")
        try:
            if path.is_symlink():
                digest.update(os.fsencode(os.readlink(path)))
            elif path.is_file():
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:  # grading meets the same error again and names it
            digest.update(str(error.strerror).encode())
    return digest.hexdigest()


def all_known(course: Course, lesson: str, students: list[str] | None) -> bool:
    """Return True if everybody who handed in has a result, so that perhaps nothing is to be run.

    Reads the gradebook's file without nbgrader, which takes long to import, and compares no
    fingerprints.
    """
    folders = course.root.glob(f"submitted/*/{lesson}")
    there = set(students or (folder.parent.name for folder in folders))
    # The table OUTCOMES of records/gradebook.py.
    query = "SELECT student FROM proflab_outcome WHERE assignment = ? AND fingerprint <> ''"
    uri = f"{course.gradebook.resolve().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=1.0)) as database:
            known = {student for (student,) in database.execute(query, (lesson,))}
    except sqlite3.Error:  # missing, busy or damaged: opening it for grading reports which
        return False
    return there <= known


def needs_grading(course: Course, key: Key, work: Work, known: dict) -> bool:
    """Return True if there is no result for exactly this submission, lesson and harness.

    known: each student's row in the gradebook, with its `fingerprint`.
    """
    outcome = known.get(work.student)
    written = course.graded_folder(work.student, key.name) / f"{key.name}.ipynb"
    changed = outcome is None or not work.fingerprint or outcome.fingerprint != work.fingerprint
    return changed or not written.exists()


def remove_parts(course: Course, lesson: str, work: Work) -> None:
    """Remove the files that a killed grading began to write for a submission."""
    with contextlib.suppress(OSError):  # writing the graded notebook reports what is in the way
        for part in course.graded_folder(work.student, lesson).rglob(".*.part"):
            part.unlink(missing_ok=True)
