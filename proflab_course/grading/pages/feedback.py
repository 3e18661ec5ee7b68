"""Keeps hidden cases out of what students are sent: labels and verdicts stay, nothing else.

`HideHidden` is a preprocessor for nbgrader's `generate_feedback` (see jupyter_config.py). It works
on notebooks graded by `proflab grade`, whose hidden results are marked, and on those graded by
`nbgrader autograde`, where it keeps only the lines that visible cases are known to print.
"""

from __future__ import annotations

import re

from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import NbGraderPreprocessor

from proflab_course.course.test_cells import (
    BEGIN_HIDDEN,
    GrammarError,
    hidden_source_removed,
    split,
)
from proflab_course.grading.answer_key import kind_of, meta
from proflab_course.grading.output_cells import HIDDEN

_PASSED, _FAILED = "✅", "❌"


class HideHidden(NbGraderPreprocessor):
    """Replaces hidden cases by their labels and verdicts, in the source and in the outputs."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Rewrite a test cell that has hidden cases; leave every other cell as it is."""
        if kind_of(cell) == "test" and BEGIN_HIDDEN in cell.source:
            _hide_cases(cell)
        return cell, resources


def _hide_cases(cell: NotebookNode) -> None:
    """Take the hidden cases out of one graded test cell."""
    marked = [o for o in cell.outputs if _mark_of(o) is not None]
    visible, hidden = _case_labels(cell)
    if marked:
        verdicts = [(_mark_of(o)["label"], bool(_mark_of(o)["passed"])) for o in marked]
        cell.outputs = [o for o in cell.outputs if _mark_of(o) is None]
    else:
        verdicts = [(label, _stock_passed(cell, label)) for label in hidden]
        cell.outputs = _stock_outputs(cell, visible)
    lines = [f"{_PASSED if passed else _FAILED} {label}" for label, passed in verdicts]
    cell.source = hidden_source_removed(cell.source)
    cell.outputs.append(new_output("stream", name="stdout", text=_hidden_text(lines)))


def _hidden_text(lines: list[str]) -> str:
    """Return what a student is told of the hidden cases."""
    return "\n".join(["Cases on other input, not shown:", *(f"  {line}" for line in lines), ""])


def _mark_of(output: NotebookNode) -> dict | None:
    """Return the mark of a hidden case's output."""
    return output.get("metadata", {}).get("proflab", {}).get(HIDDEN)


def _case_labels(cell: NotebookNode) -> tuple[list[str], list[str]]:
    """Return the labels of a test cell's visible cases, and of its hidden ones."""
    try:
        cases = split(cell.source, meta(cell).get("grade_id", "")).answers
    except GrammarError:
        return [], []
    visible = [answer.label for hidden, answer in cases if not hidden]
    return visible, [answer.label for hidden, answer in cases if hidden]


def _stock_text(cell: NotebookNode) -> str:
    """Return everything that a test cell printed in nbgrader's own grading."""
    return "".join(o.text for o in cell.outputs if o.output_type == "stream")


def _stock_passed(cell: NotebookNode, label: str) -> bool:
    """Return True if a case printed its line in nbgrader's own grading, which stops at an error."""
    return (
        re.search(rf"^{_PASSED} {re.escape(label)}: ", _stock_text(cell), re.MULTILINE) is not None
    )


def _stock_outputs(cell: NotebookNode, visible: list[str]) -> list[NotebookNode]:
    """Return the outputs that can only come from visible cases; the rest may quote a hidden one."""
    lines = _stock_text(cell).splitlines()
    starts = tuple(f"{_PASSED} {label}: " for label in visible)
    kept = "".join(f"{line}\n" for line in lines if line.startswith(starts))
    outputs = [new_output("stream", name="stdout", text=kept)] if kept else []
    for output in cell.outputs:
        if output.output_type == "error":
            outputs.append(_stock_error(output, visible))
    return outputs


def _stock_error(error: NotebookNode, visible: list[str]) -> NotebookNode:
    """Return a visible case's own message, or the name of the exception alone."""
    said = error.evalue
    known = any(said.startswith(f"{_FAILED} {label}: ") for label in visible)
    text = said if known else f"{error.ename} (run the cell in your own notebook to see where)"
    return new_output("error", ename=error.ename, evalue=text, traceback=[text])
