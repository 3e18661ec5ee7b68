"""Take hand-ins from the instructor's own folder: STUDENT/…/FILE, or files named by student."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from proflab_course.collect.attempts import Attempt, Sorted
from proflab_course.collect.entries import Entry


def sort_folder(entries: Iterable[Entry], lesson: str, others: Collection[str]) -> Sorted:
    """Take the name of the first folder, or of a file outside folders, as the student's.

    There are no times, because copying changes the dates of files. others: the course's other
    lessons, whose folders are left out.
    """
    result = Sorted("folder", [])
    attempts: dict[str, Attempt] = {}
    for entry in entries:
        student, _, below = entry.path.partition("/")
        owner = entry.raw_top
        if not below:
            student, below = _student_in(entry.path, lesson), entry.path
            owner = _student_in(owner, lesson)
            if not student:
                reason = "does not name its student: put it into a folder STUDENT/"
                result.left_out[entry.path] = reason
                continue
        if (other := below.partition("/")[0]) in others:
            result.passed_over[entry.path] = f"belongs to lesson {other}"
            continue
        attempt = attempts.setdefault(owner, Attempt(student, "", student, owner=owner))
        result.add_file(attempt, below.removeprefix(f"{lesson}/"), entry)
    result.attempts = list(attempts.values())
    return result


def _student_in(name: str, lesson: str) -> str:
    """Return the student in a file's name: the rest of it without the lesson's name."""
    stem = re.sub(r"(\.(ipynb|txt|json|zip|pdf|html|csv))+$", "", name, flags=re.IGNORECASE)
    stem = re.sub(r"\s*\(\d+\)$", "", stem)
    return re.sub(rf"[-_ ]*{re.escape(lesson)}[-_ ]*", " ", stem).strip()
