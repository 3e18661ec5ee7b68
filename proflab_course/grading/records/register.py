"""Enter a lesson and its cells into the gradebook, as `nbgrader generate_assignment` does.

What the cells are to be, nbgrader's SaveCells says. It writes them with several queries each, so
it is not asked to where the gradebook has them already, as at each grading but the first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import SaveCells

from proflab_course.grading.answer_key import Key
from proflab_course.grading.records.changed_cells import KINDS, change_cells
from proflab_course.grading.submissions.read_notebook import notebook_of

Wanted = Mapping[str, Mapping[str, Mapping[str, Any]]]  # by nbgrader's list of cells, then by name


def register(book: Gradebook, key: Key) -> str:
    """Enter the lesson's assignment and cells.

    Returns a sentence on the cells that the lesson has gained and lost since it was graded.
    """
    try:
        notebook = book.find_notebook(key.name, key.name)
    except MissingEntry:
        notebook = None
    if notebook is not None and _in_step(notebook, key):
        return ""
    book.update_or_create_assignment(key.name)
    saver = _saver(key, book)
    changed = ""
    if notebook is not None and notebook.submissions:
        changed = change_cells(book.db(), notebook, _wanted(saver))
    # The cells are in the saver; of the notebook it reads the kernelspec alone.
    saver._create_notebook(notebook_of([], key.metadata))
    return changed


def _in_step(notebook: Any, key: Key) -> bool:
    """Say whether the gradebook has this notebook's cells as nbgrader would write them."""
    if notebook.kernelspec != json.dumps(key.metadata.get("kernelspec", {})):
        return False
    for listed, wanted in _wanted(_saver(key, _NoCells())).items():
        there = {cell.name: cell for cell in getattr(notebook, listed)}
        if there.keys() != wanted.keys():
            return False
        for name, columns in wanted.items():
            if any(getattr(there[name], column) != value for column, value in columns.items()):
                return False
    return True


class _NoCells:
    """A gradebook without cells: what SaveCells makes for it depends on the lesson alone."""

    def _missing(self, *_: str) -> NoReturn:
        raise MissingEntry

    find_grade_cell = find_solution_cell = find_task_cell = find_source_cell = _missing


def _saver(key: Key, book: Any) -> SaveCells:
    """Return nbgrader's SaveCells after it has seen all of the lesson's cells."""
    saver = SaveCells()
    for listed, _ in KINDS.values():
        setattr(saver, f"new_{listed}", {})
    saver.gradebook, saver.notebook_id, saver.assignment_id = book, key.name, key.name
    for index, cell in enumerate(key.cells):
        saver.preprocess_cell(cell.master, {}, index)
    return saver


def _wanted(saver: SaveCells) -> Wanted:
    return {listed: getattr(saver, f"new_{listed}") for listed, _ in KINDS.values()}
