"""Runs a lesson as a class would and sees that the score is what it should be.

The solved notebook must earn all points without an error; the empty one none, and raise nothing
but the NotImplementedError of what is still to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from proflab.course.notebook import Lesson, set_cell_ids

SHOWN_TAG = "nbval-check-output"


@dataclass(frozen=True)
class Trial:
    """The mistakes that running a lesson brought to light, and the solved notebook's outputs."""

    mistakes: list[str]
    solved: NotebookNode


def try_lesson(
    lesson: Lesson, release: NotebookNode, folder: Path, grade: Callable | None = None
) -> Trial:
    """Grade the solved and the empty notebook; `folder` holds the files that students get."""
    if grade is None:
        from proflab.grading.execute import grade_notebook as grade
    source = lesson.notebook
    solved = grade(nbformat.from_dict(source), source, folder, full=True)
    empty = grade(nbformat.from_dict(release), source, folder, full=True)
    mistakes = [*_solved_mistakes(lesson, solved), *_empty_mistakes(lesson, empty)]
    set_cell_ids(solved.notebook)
    return Trial(mistakes, solved.notebook)


def _solved_mistakes(lesson: Lesson, solved) -> Iterator[str]:
    for index, kind, message in _first_errors(solved):
        where = _where(lesson, solved.notebook, index)
        yield f"{where}: in the solved notebook it raises {kind}: {message}"
    if solved.errors:
        return
    for cell in lesson.named("test"):
        score = solved.scores.get(cell.name, 0.0)
        if score != cell.points:
            yield f"{cell.where}: the solution earns {score:g} of {cell.points:g} points"


def _empty_mistakes(lesson: Lesson, empty) -> Iterator[str]:
    for cell in lesson.named("test"):
        score = empty.scores.get(cell.name, 0.0)
        if score:
            yield f"{cell.where}: an empty notebook earns {score:g} points"
    for index, kind, message in _first_errors(empty):
        if kind != "NotImplementedError":
            where = _where(lesson, empty.notebook, index)
            yield f"{where}: in an empty notebook it raises {kind}: {message}"


def _first_errors(graded) -> Iterator[tuple[int, str, str]]:
    """The error at which each cell would stop in Jupyter; the grader goes on to its other cases."""
    seen = set()
    for index, kind, message in graded.errors:
        if index not in seen:
            seen.add(index)
            yield index, kind, message


def _where(lesson: Lesson, notebook: NotebookNode, index: int) -> str:
    """The lesson's cell that an executed notebook's cell comes from."""
    wanted = notebook.cells[index].metadata.get("nbgrader", {}).get("grade_id")
    named = {cell.name: cell.where for cell in lesson.cells if cell.name}
    return named.get(wanted) or Lesson("", lesson.place, notebook).cells[index].where


def keep_outputs(notebook: NotebookNode, executed: NotebookNode) -> None:
    """Give the cells whose output nbval compares the text that they gave when last executed.

    A cell that has changed since, in `executed`, gets none.
    """
    outputs = {cell.get("id"): cell for cell in executed.cells if cell.cell_type == "code"}
    number = 0
    for cell in notebook.cells:
        ran = outputs.get(cell["id"])
        if SHOWN_TAG in cell.metadata.get("tags", []) and ran and ran.source == cell.source:
            number += 1
            kept = [_text_only(output, number) for output in ran.outputs]
            cell.outputs = [output for output in kept if output]
            # nbval refuses a cell that has outputs and was never run.
            cell.execution_count = number if cell.outputs else None


def _text_only(output: NotebookNode, number: int) -> NotebookNode | None:
    if output.output_type == "stream":
        return output if output.name == "stdout" else None
    text = output.get("data", {}).get("text/plain")
    if text is None:
        return None
    kept = {"output_type": output.output_type, "metadata": {}}
    if output.output_type == "execute_result":
        kept["execution_count"] = number
    return nbformat.from_dict({**kept, "data": {"text/plain": "".join(text)}})
