"""Read hand-ins and match their cells in limited processes.

The grader's own process opens no archive, parses no notebook and compares no cells of a student's.
It requests them as plain data, which it puts into copies of the lesson's cells.
"""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from proflab_course.grading.answer_key import Key
from proflab_course.grading.limited_process import Answer, LimitedProcesses
from proflab_course.grading.match_cells import (
    Aligned,
    Slot,
    as_graded,
    digest_of,
    match,
    once_given,
)
from proflab_course.grading.submissions.essay_numbers import safe_note
from proflab_course.grading.submissions.find_notebook import (
    find_handin,
    has_strays,
    may_have_strays,
)
from proflab_course.grading.submissions.read_guesses import checked_guess
from proflab_course.grading.submissions.read_notebook import HandIn, rebuilt
from proflab_course.grading.submissions.which_lesson import Lessons
from proflab_course.grading.work_limit import TooMuchWork

# The fields of Aligned that a process says in lists of names or sentences.
_SAID = ("recovered", "changed", "notes", "given", "once")


class Reader:
    """Read the hand-ins of one lesson.

    Each method raises TooMuchWork or CallFailed if the process cannot answer within its limits.
    """

    def __init__(self, key: Key, sources: Path) -> None:
        self.lessons = Lessons(key, sources)
        self._processes = LimitedProcesses(
            {
                "handin": partial(_answer_handin, self.lessons),
                "strays": partial(_answer_strays, self.lessons),
                "python": _answer_python,
            }
        )

    def start(self) -> None:
        """Start the processes, while this process has few threads."""
        digest_of(self.lessons.key)
        self._processes.start()

    def handin(self, folder: Path) -> tuple[HandIn, Aligned | None]:
        """Return the hand-in in a folder, and its notebook's cells matched with the lesson's.

        The hand-in is returned without its notebook. Cells are None if it has no notebook.
        """
        found, blobs = self._processes.call("handin", str(folder))
        # The process has read a stranger's file, so what it says is checked here once more.
        names = found["files"]
        files = None if names is None else dict(zip(names, blobs, strict=True))
        guesses = tuple(filter(None, map(checked_guess, found["guesses"])))
        beside = Path(found["folder"]) if found["folder"] else None
        steps = str(found["steps"]).encode()
        about = found["outcome"], found["sentence"], beside, files, guesses, steps
        handin = HandIn(None, *about, numbers=safe_note(str(found["numbers"])))
        cells = found["cells"]
        return handin, None if cells is None else _aligned(cells, found, self.lessons.key)

    def has_strays(self, student: Path) -> bool:
        """Return True if a student without the lesson's folder handed in its notebook elsewhere."""
        if not may_have_strays(student, self.lessons):
            return False
        found, _ = self._processes.call("strays", str(student))
        return bool(found)

    def is_python(self, text: str) -> bool:
        """Return True if a text can be parsed as Python; False if it crashes the parser."""
        try:
            return bool(self._processes.call("python", text)[0])
        except TooMuchWork:
            return False

    def close(self) -> None:
        """End the processes."""
        self._processes.close()


def _aligned(cells: list, found: dict, key: Key) -> Aligned:
    """Return the matched cells in an answer, with the lesson's cells in their places."""
    slots = []
    for place, kind, text, attachments in cells:
        marked = key.cells[place] if place is not None else None
        cell = rebuilt({"cell_type": kind, "source": text, "attachments": attachments})
        slots += [] if cell is None else [Slot(cell, marked)]  # as reading leaves out what is none
    said = {name: list(map(str, found[name])) for name in _SAID}
    return as_graded(Aligned(slots, former=bool(found["former"]), **said), key)


# ── in the processes ─────────────────────────────────────────────────────────────────────────


def _answer_handin(lessons: Lessons, folder: str) -> Answer:
    handin = find_handin(Path(folder), lessons)
    answer = {
        "outcome": handin.outcome,
        "sentence": handin.sentence,
        "folder": str(handin.folder or ""),
        "guesses": [vars(guess) for guess in handin.guesses],
        "steps": handin.steps.decode(),
        "numbers": handin.numbers,
        "files": None if handin.files is None else list(handin.files),
        "cells": None,
    }
    if handin.notebook is not None:
        answer |= _matched(handin.notebook, lessons.key)
    return answer, list((handin.files or {}).values())


def _matched(notebook: NotebookNode, key: Key) -> dict[str, Any]:
    """Return for each cell of a notebook the lesson's cell and the text that is graded."""
    aligned = match(notebook, key)
    places = {id(cell): place for place, cell in enumerate(key.cells)}
    cells = []
    for slot in aligned.slots:
        kept = {"source": once_given(slot)} if aligned.former else {}
        theirs = slot.cell if slot.keeps_text else kept
        place = None if slot.key is None else places[id(slot.key)]
        text, pictures = theirs.get("source", ""), theirs.get("attachments")
        cells.append([place, slot.cell.cell_type, text, pictures])
    said = {name: getattr(aligned, name) for name in _SAID}
    return {"cells": cells, "former": aligned.former, **said}


def _answer_python(text: str) -> Answer:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False, []
    return True, []


def _answer_strays(lessons: Lessons, student: str) -> Answer:
    return has_strays(Path(student), lessons), []
