"""Read an untrusted notebook.

The result is a notebook rebuilt from the few fields that grading needs, or the name of an outcome
and a sentence for the student.
"""

from __future__ import annotations

import json
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from proflab_course.course.release_stamp import STAMP, read_stamp
from proflab_course.grading.odd_json import as_dict, fit_text, join_text, marks_of
from proflab_course.grading.run.student_files import read_start
from proflab_course.grading.size_limits import too_many_parts
from proflab_course.grading.submissions.decode_text import ZIP, read_text, why_not_json
from proflab_course.grading.submissions.essay_numbers import note_on_essay
from proflab_course.grading.submissions.read_guesses import Guess, read_guesses
from proflab_course.grading.submissions.read_steps import read_steps

MAX_BYTES = 32 * 1024**2
MAX_CELLS = 2_000
_MAX_SOURCE = 1024**2  # characters of a cell; the rest is cut
_MAX_NAME = 200
_KINDS = ("code", "markdown", "raw")


@dataclass(frozen=True)
class HandIn:
    """A notebook, or the outcome ("missing", "unreadable", "not a notebook") and its sentence.

    A notebook may also have a sentence on how it was found or read. `folder`, `files`: the files
    beside it if it was not in the submission's own folder. `guesses`: the guesses in its outputs.
    `steps`: the times of a work log in its outputs, as the lines of a file. `numbers`: what the
    essay's marker is told of its numbers.
    """

    notebook: NotebookNode | None
    outcome: str = ""
    sentence: str = ""
    folder: Path | None = None
    files: dict[str, bytes] | None = None
    guesses: tuple[Guess, ...] = ()
    steps: bytes = b""
    numbers: str = ""


def read_bytes(path: Path) -> bytes | HandIn:
    """Return a hand-in's bytes, or the reason why there are none."""
    try:
        state = path.lstat()
    except FileNotFoundError:
        return HandIn(None, "missing", f"there is no {path.name} in what was handed in")
    except OSError as error:
        return HandIn(None, "unreadable", f"{path.name} cannot be read: {error.strerror}")
    if stat.S_ISLNK(state.st_mode):
        return HandIn(None, "unreadable", f"{path.name} is a link; hand in the file itself")
    if not stat.S_ISREG(state.st_mode):
        return HandIn(None, "unreadable", f"{path.name} is not a file")
    if state.st_size > MAX_BYTES:
        size = f"{state.st_size / 1024**2:.0f} MB, more than {MAX_BYTES // 1024**2} MB"
        sentence = f"{path.name} is {size}: clear its outputs, save it and hand it in again"
        return HandIn(None, "unreadable", sentence)
    data = read_start(path, MAX_BYTES)
    if data is None:
        return HandIn(None, "unreadable", f"{path.name} cannot be read")
    return data


def parse_bytes(data: bytes, name: str) -> HandIn:
    """Return the notebook in `data`, whatever its encoding."""
    if data.startswith(ZIP):
        return HandIn(None, "not a notebook", f"{name} is a zip archive")
    decoded = read_text(data, name)
    if decoded.text is None:
        return HandIn(None, "not a notebook" if decoded.is_other else "unreadable", decoded.note)
    found = parse_handin(decoded.text, name)
    if found.notebook is None and decoded.note:
        encoding = decoded.note.partition(";")[0]
        return HandIn(None, found.outcome, f"{encoding}, and {found.sentence}")
    return replace(found, sentence=decoded.note) if found.notebook is not None else found


def parse_handin(text: str, name: str) -> HandIn:
    """Return the notebook in `text`."""
    if not text.strip():
        return HandIn(None, "not a notebook", f"{name} is empty")
    if too_many_parts(text):
        sentence = f"{name} has too many parts: clear its outputs, save it and hand it in again"
        return HandIn(None, "unreadable", sentence)
    try:
        data = json.loads(text)
    except RecursionError:
        return HandIn(None, "not a notebook", f"{name} is nested too deeply to be a notebook")
    except ValueError as error:
        return HandIn(None, "not a notebook", f"{name} {why_not_json(text, error)}")
    if not isinstance(data, dict):
        return HandIn(None, "not a notebook", f"{name} holds no notebook")
    version = data.get("nbformat")
    if isinstance(version, int) and version > 4:
        sentence = f"{name} has notebook format {version}; save it in format 4 and hand it in again"
        return HandIn(None, "not a notebook", sentence)
    if "worksheets" in data:
        try:
            data = nbformat.convert(nbformat.from_dict(data), 4)
        except Exception:
            return HandIn(None, "not a notebook", f"{name} is an old notebook that cannot be read")
    cells = data.get("cells")
    if not isinstance(cells, list):
        return HandIn(None, "not a notebook", f"{name} has no cells")
    if len(cells) > MAX_CELLS:
        sentence = f"{name} has {len(cells):,} cells, more than {MAX_CELLS:,}"
        return HandIn(None, "unreadable", sentence)
    stamp = read_stamp(data.get("metadata"))
    metadata = {STAMP: stamp} if stamp else {}
    notebook = notebook_of([c for c in map(rebuilt, cells) if c is not None], metadata)
    numbers, guesses = note_on_essay(cells), tuple(read_guesses(cells))
    return HandIn(notebook, guesses=guesses, steps=read_steps(cells), numbers=numbers)


def notebook_of(cells: list[NotebookNode], metadata: dict) -> NotebookNode:
    """Return a notebook of format 4.4, without cell ids, which a student's copy may have lost."""
    for cell in cells:
        cell.pop("id", None)
    return NotebookNode(
        cells=cells, metadata=nbformat.from_dict(metadata), nbformat=4, nbformat_minor=4
    )


def rebuilt(cell: Any) -> NotebookNode | None:
    """Return a cell with only its type, source, grade_id and tags; None if it is not a cell."""
    if not isinstance(cell, dict):
        return None
    source, kind = cell.get("source", ""), cell.get("cell_type")
    if kind not in _KINDS or not isinstance(source, (str, list)):
        return None
    source = join_text(source).encode("utf-8", "replace").decode()[:_MAX_SOURCE]
    # Not with nbformat's makers, which take 0.1 ms each to check their result.
    new = NotebookNode(cell_type=kind, metadata=NotebookNode(), source=source)
    if kind == "code":
        new["execution_count"], new["outputs"] = None, []
    marks = marks_of(cell)
    if isinstance(marks.get("grade_id"), str):
        # Flags and points are kept only to detect changes.
        new.metadata["nbgrader"] = NotebookNode(
            {
                key: marks[key]
                for key in ("grade_id", "grade", "solution", "locked", "points", "checksum")
                if isinstance(marks.get(key), (str, bool, int, float))
            }
        )
    if kind == "markdown":
        pictures = _read_attachments(cell.get("attachments"))
        if pictures:
            new["attachments"] = pictures
    return new


def _read_attachments(value: Any) -> dict:
    """Return the pictures pasted into a markdown cell."""
    return {
        fit_text(name, _MAX_NAME): {
            fit_text(mime, _MAX_NAME): fit_text(data)
            for mime, data in bundle.items()
            if isinstance(data, str)
        }
        for name, bundle in as_dict(value).items()
        if isinstance(bundle, dict)
    }
