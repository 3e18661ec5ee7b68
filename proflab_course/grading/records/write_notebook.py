"""Writes a graded hand-in into autograded/: each file whole or not at all.

Files are on disk before the row that tells of them is written. A grading that is killed leaves at
most a hidden `.part` file, which the next one removes.
"""

from __future__ import annotations

import errno
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from proflab_course.course.files import replace_file, sync_folder, what_is_wrong
from proflab_course.course.layout import Course, CourseError
from proflab_course.grading.run.student_files import read_start
from proflab_course.grading.submissions.find import Work
from proflab_course.grading.submissions.read_notebook import notebook_of
from proflab_course.grading.submissions.timestamp import STAMP, STAMP_BYTES

# `nbgrader submit` writes it; exchange.py says what for.
SECRET = "submission_secret.txt"
_SECRET_BYTES = 200
_WRITTEN_BY_SUBMIT = re.compile(rb"[0-9a-f]{128}")


def placeholder(lesson: str, status: str, sentence: str) -> NotebookNode:
    """Return the graded notebook of a hand-in in which there was nothing to grade."""
    text = f"# {lesson}: {status}\n\nThis hand-in could not be graded: {sentence}."
    return notebook_of([new_markdown_cell(text)], {})


def write_autograded(course: Course, lesson: str, work: Work, notebook: NotebookNode) -> None:
    """Put the graded notebook and support files into autograded/.

    Raises CourseError where nobody's can be put there, OSError where this student's cannot.
    """
    place = course.graded_folder(work.student, lesson)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for path, data in support_files(course.source(lesson).parent, work).items():
            target = place / path
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_file(target, data)
        replace_file(place / f"{lesson}.ipynb", file_bytes(notebook))
        sync_folder(place)
    except OSError as error:
        if not _is_everyones(error, course):
            raise
        raise CourseError(
            f"the graded notebook of {work.student} cannot be written to autograded/: "
            f"{what_is_wrong(error)}, then run it again; nothing is lost"
        ) from None


def file_bytes(notebook: NotebookNode) -> bytes:
    """Return the notebook's file; a character that no file can hold becomes a question mark."""
    return notebook_text(notebook).encode("utf-8", "replace")


def notebook_text(notebook: NotebookNode) -> str:
    """Return the notebook's file, a line a cell; nbformat's own writer takes far longer."""
    cells = ",\n".join(_json_text(cell) for cell in notebook.cells)
    rest = _json_text({name: value for name, value in notebook.items() if name != "cells"})
    return f'{{"cells": [\n{cells}\n],\n{rest[1:]}\n'


def _json_text(value: Any) -> str:
    """Return plain JSON, with its keys in order."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text.encode("utf-8", "replace").decode()  # no file holds half a surrogate pair


def _is_everyones(error: OSError, course: Course) -> bool:
    """Return True if no other graded notebook could be written either."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO):
        return True
    try:
        with tempfile.NamedTemporaryFile(dir=course.root / "autograded", suffix=".part"):
            return False
    except OSError:
        return True


def support_files(source: Path, work: Work) -> dict[str, bytes]:
    """Return what lies beside the graded notebook: the lesson's files, the time, the secret."""
    files = {
        str(path.relative_to(source)): path.read_bytes()
        for path in sorted(source.rglob("*"))
        if path.is_file() and path.suffix != ".ipynb"
    }
    beside = {
        STAMP: read_start(work.stamp_folder / STAMP, STAMP_BYTES),
        SECRET: read_secret(work.folder),
    }
    return files | {name: data for name, data in beside.items() if data is not None}


def read_secret(folder: Path) -> bytes | None:
    """Return a hand-in's secret; None if there is no file as `nbgrader submit` writes it."""
    secret = read_start(folder / SECRET, _SECRET_BYTES)
    return secret if secret and _WRITTEN_BY_SUBMIT.fullmatch(secret) else None
