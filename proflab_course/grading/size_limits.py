"""Limit the size of what is written for one hand-in: the graded notebook, and reasons of cases.

Outputs are limited when they arrive (`limits.py`). This file counts everything that will be
written, of any origin, and replaces parts that exceed the limit by a note.
"""

from __future__ import annotations

from dataclasses import replace

import nbformat
from nbformat import NotebookNode

from proflab_course.grading.limits import MAX_TEXT, MB
from proflab_course.grading.odd_json import fit_text
from proflab_course.grading.run.replies import output_size, start_of

_MAX_WRITTEN = 32 * MB
MAX_REASONS = 256 * 1024  # characters, of all cases of a hand-in
_SHORT = 100
_CUT = "… (the rest was cut)"
# So many lists and objects, and items in them, take at most 500 MB when a notebook is read.
_MAX_BOXES, _MAX_ITEMS = 1_000_000, 8_000_000


def too_many_parts(text: str) -> bool:
    """Return True if JSON consists of so many small parts that it takes far more memory."""
    boxes = text.count("[") + text.count("{")
    return boxes > _MAX_BOXES or boxes + text.count(",") > _MAX_ITEMS


def cut_text(text: str, most: int = MAX_TEXT) -> str:
    """Return `text`, or its beginning and a note that there was more."""
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT


def cut_cases(cases: list) -> list:
    """Return the cases with texts of at most 2,000 characters; beyond MAX_REASONS, of 100."""
    kept, left = [], MAX_REASONS
    for case in cases:
        most = MAX_TEXT if left > 0 else _SHORT
        texts = {name: getattr(case, name) for name in ("reason", "diagnosis")}
        texts = {name: fit_text(cut_text(text, most)) for name, text in texts.items() if text}
        left -= sum(map(output_size, texts.values()))
        kept.append(replace(case, **texts))
    return kept


def cut_notebook(notebook: NotebookNode, most: int = _MAX_WRITTEN) -> str:
    """Make the notebook fit into `most` bytes; return a sentence about the cut, or "".

    Outputs are cut first, the largest ones before others, then pictures pasted into text, then the
    ends of sources.
    """
    sizes = [output_size(cell) for cell in notebook.cells]
    if sum(sizes) <= most:
        return ""
    for cut in (_drop_outputs, _drop_pictures, _shorten_source):
        for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
            if sum(sizes) <= most:
                break
            cut(notebook.cells[place])
            sizes[place] = output_size(notebook.cells[place])
    return f"the graded copy shows only part of it, since it was larger than {most // MB} MB"


def _drop_outputs(cell: NotebookNode) -> None:
    if cell.get("outputs"):
        note = "… this cell's output was cut: the notebook was too large\n"
        output = {"output_type": "stream", "name": "stderr", "text": note}
        cell["outputs"] = [nbformat.from_dict(output)]


def _drop_pictures(cell: NotebookNode) -> None:
    if cell.pop("attachments", None):
        cell["source"] += "\n\n(Its pictures were cut: the notebook was too large.)"


def _shorten_source(cell: NotebookNode) -> None:
    cell["source"] = cut_text(start_of(cell["source"], MAX_TEXT))
