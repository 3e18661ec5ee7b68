"""Write what each student wrote as one Python file: for compare50, copydetect, JPlag and the like.

Cells that every student is given are left out, and so is a stub that nobody has touched; what the
student added stays, in the order of the notebook.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from proflab_course.course.layout import Course
from proflab_course.course.release_stamp import squeezed
from proflab_course.grading.answer_key import Key, read_key
from proflab_course.grading.match_cells import align
from proflab_course.grading.submissions.find_notebook import find_handin
from proflab_course.grading.submissions.which_lesson import Lessons


def write_code(course: Course, lesson: str, target: Path) -> tuple[list[str], dict[str, str]]:
    """Write target/STUDENT.py for each hand-in of a lesson.

    Returns the students of whom there is code, and the others, each with the reason.
    """
    key = read_key(course.source(lesson))
    lessons = Lessons(key, course.root / "source")
    written, without = [], {}
    target.mkdir(parents=True, exist_ok=True)
    for folder in sorted((course.root / "submitted").glob("*/")):
        student = folder.name
        try:
            handin = find_handin(folder / lesson, lessons)
            code = None if handin.notebook is None else "\n\n\n".join(_own(handin.notebook, key))
        except Exception as error:  # whatever a notebook is, the others' code is written
            without[student] = f"{type(error).__name__}: {error}".splitlines()[0]
            continue
        if code is None:
            without[student] = handin.sentence or handin.outcome
        elif not code.strip():
            without[student] = "nothing is written in it"
        else:
            (target / f"{student}.py").write_text(f"{code}\n", encoding="utf-8", errors="replace")
            written.append(student)
    return written, without


def _own(notebook, key: Key) -> Iterator[str]:
    """Yield the student's code, cell by cell; one that is no Python as a comment."""
    given = {squeezed(cell.released.source) for cell in key.cells}
    theirs = {squeezed(cell.source) for cell in notebook.cells}
    for slot in align(notebook, key).slots:
        is_own = slot.key is None or slot.key.kind in ("solution", "free")
        text = squeezed(slot.cell.source)
        if slot.cell.cell_type != "code" or not is_own or not text or text in given:
            continue
        if text in theirs:
            yield _python(slot.cell.source)


def _python(source: str) -> str:
    """Return the code; IPython's own lines, and what cannot be parsed, become comments."""
    lines = [f"# {x}" if x.lstrip().startswith(("%", "!")) else x for x in source.splitlines()]
    text = "\n".join(lines)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "\n".join(f"# {line}" for line in lines)
    return text
