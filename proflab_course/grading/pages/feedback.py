"""Remove hidden cases from students' feedback, except their labels and verdicts.

If the instructor allows it, the author's explanation of each failed one is added. Below an essay
stand the items that it earned, and with that permission all of them.

`HideHidden` is a preprocessor for nbgrader's `generate_feedback` (see jupyter_config.py). It works
on notebooks graded by `proflab grade`, whose hidden results are marked, and on those graded by
`nbgrader autograde`, where it keeps only lines that visible cases print.
"""

from __future__ import annotations

from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import List, Unicode

from proflab_course.cases.case import GrammarError
from proflab_course.cases.hidden_blocks import BEGIN_HIDDEN, hidden_source_removed
from proflab_course.cases.reader import TestCell, split
from proflab_course.cases.vary import OWN, own_numbers
from proflab_course.course.answer_cells import is_answer_cell, question_of
from proflab_course.course.layout import Course, CourseError, root_of
from proflab_course.course.rubric import item_marks, rubric_in, without_items
from proflab_course.grading.answer_key import kind_of, meta
from proflab_course.grading.output_cells import HIDDEN
from proflab_course.grading.pages.overview import ANSWER, HIDDEN_HEAD
from proflab_course.grading.size_limits import cut_text

# As proflab/checks/expect.py and output_cells.py print them.
_PASSED, _FAILED, _NOT_REACHED = "✅", "❌", "–"
_RACED = "🏁"  # a race that is right, however slow


class HideHidden(NbGraderPreprocessor):
    """Replace hidden cases by their labels and verdicts, in the source and in the outputs."""

    explain = List(
        Unicode(),
        help="Lessons whose deadline is over, as 01_parameters or 01: feedback says what their "
        "failed hidden cases were about, and shows the items of their essay.",
    ).tag(config=True)

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Rewrite a test cell that has hidden cases; leave every other cell as it is."""
        where = resources.get("nbgrader", {})
        lesson = where.get("assignment", "")
        explain = bool({lesson, lesson.partition("_")[0]} & {*self.explain})
        if kind_of(cell) == "test" and BEGIN_HIDDEN in cell.source:
            if is_answer_cell(meta(cell).get("grade_id", "")):
                hide_answers(cell, explain)
            else:
                _hide_cases(cell, explain)
        elif kind_of(cell) == "manual" and isinstance(comment := meta(cell).get("comment"), str):
            meta(cell)["comment"] = told_items(comment, _items(where) if explain else ())
        return cell, resources


def told_items(comment: str, items: tuple[str, ...] = ()) -> str:
    """Return a comment for a student: which items were earned, without the markers' names.

    items: their texts, for after the deadline. While two markers differ, nothing is said of items.
    """
    marks = item_marks(comment)
    told = without_items(comment)
    settled = [marks[""]] if "" in marks else [*set(marks.values())]
    if len(settled) != 1:
        return told
    listed = ", ".join(map(str, sorted(settled[0]))) or "none"
    lines = [f"Items of the mark scheme that were earned: {listed}."]
    if items:
        states = [_PASSED if n in settled[0] else _NOT_REACHED for n in range(1, len(items) + 1)]
        texts = zip(states, items, strict=True)
        lines += ["", *(f"- {state} {n}: {text}" for n, (state, text) in enumerate(texts, 1))]
    return "\n\n".join(filter(None, ["\n".join(lines), told]))


def _items(where: dict) -> tuple[str, ...]:
    """Return the texts of the items of a lesson's essay; none if they cannot be read."""
    try:
        rubric = rubric_in(Course(root_of(where["db_url"])).source(where["assignment"]))
    except (CourseError, KeyError):
        return ()
    return rubric.items if rubric else ()


def _hide_cases(cell: NotebookNode, explain: bool) -> None:
    """Take the hidden cases out of one graded test cell."""
    marks = [mark for o in cell.outputs if (mark := _mark_of(o)) is not None]
    test = _split(cell)
    if marks:
        cell.outputs = [o for o in cell.outputs if _mark_of(o) is None]
    else:
        marks = _stock_marks(cell, [a.label for hidden, a in test.answers if hidden])
        visible = [answer.label for hidden, answer in test.answers if not hidden]
        cell.outputs = _stock_outputs(cell, visible)
    explained = dict(test.explained) if explain else None
    if explained is not None and cell.metadata.get(OWN):
        for label, code in own_numbers(cell.source, test.name).items():
            told = [explained.get(label), f"your numbers: {cut_text(code)}"]
            explained[label] = "\n   ".join(filter(None, told))
    lines = [line for mark in marks for line in _told(mark, explained)]
    cell.source = hidden_source_removed(cell.source)
    text = "\n".join([HIDDEN_HEAD, *(f"  {line}" for line in lines), ""])
    cell.outputs.append(new_output("stream", name="stdout", text=text))


def hide_answers(cell: NotebookNode, explain: bool) -> None:
    """Leave of graded concept questions what a student may read; note for the page how many.

    explain: say which are right, which misconception a wrong answer looks like, and why.
    """
    test = _split(cell)
    forms = [answer.label for hidden, answer in test.answers if not hidden]
    labels = [answer.label for hidden, answer in test.answers if hidden]
    marks = [mark for output in cell.outputs if (mark := _mark_of(output)) is not None]
    by_label = {mark["label"]: mark for mark in marks or _stock_marks(cell, labels)}
    lines = _stock_text(cell).splitlines()
    shown, right, answered = list[str](), 0, 0
    for form, label in zip(forms, labels, strict=False):
        mark = by_label.get(label, {"passed": False})
        is_open = not any(line.startswith(f"{_PASSED} {form}") for line in lines)
        answered += not is_open
        right += bool(mark["passed"]) and not is_open
        said = _said_of_answer(mark, is_open, test.explained.get(label), explain)
        shown.append(f"{question_of(label).replace('_', '.')}: {said}\n")
    cell.metadata[ANSWER] = {"asked": len(shown), "answered": answered, "right": right}
    cell.source = hidden_source_removed(cell.source)
    cell.outputs = [new_output("stream", name="stdout", text="".join(shown))]


def _said_of_answer(mark: dict, is_open: bool, why: str | None, explain: bool) -> str:
    """Return what a student may read of one answer, the reason on a line of its own."""
    if is_open:
        lines = ["not answered"]
    elif not explain:
        lines = ["answered"]
    elif mark["passed"]:
        lines = ["✅ right"]
    else:
        lines = ["❌ another answer is right", mark.get("diagnosis") or ""]
    return "\n   ".join(filter(None, [*lines, why if explain else None]))


def _told(mark: dict, explained: dict[str, str] | None) -> list[str]:
    """Return the text for a student about one hidden case; explained: explanations by label."""
    label = mark["label"]
    if not mark.get("reached", True):
        return [f"{_NOT_REACHED} {label}: not reached"]
    if mark["passed"]:
        way = f": {100 * mark['share']:.0f} % of the way" if "share" in mark else ""
        return [f"{_PASSED} {label}{way}"]
    about = [] if explained is None else [explained.get(label), mark.get("diagnosis")]
    return [f"{_FAILED} {label}", *(f"   {message}" for message in about if message)]


def _mark_of(output: NotebookNode) -> dict | None:
    return output.get("metadata", {}).get("proflab", {}).get(HIDDEN)


def _split(cell: NotebookNode) -> TestCell:
    """Return the cases of a test cell graded by ProfLab; none for any other cell."""
    name = meta(cell).get("grade_id", "")
    try:
        return split(cell.source, name)
    except GrammarError:
        return TestCell(name, 0.0, ())


def _stock_text(cell: NotebookNode) -> str:
    """Return all text that a test cell printed in nbgrader's own grading."""
    return "".join(o.text for o in cell.outputs if o.output_type == "stream")


def _stock_marks(cell: NotebookNode, labels: list[str]) -> list[dict]:
    """Return the marks of hidden cases in nbgrader's own grading, which stops at an error.

    A case passed if its line was printed; the case that raised the error was reached.
    """
    lines = _stock_text(cell).splitlines()
    failed = [o.evalue for o in cell.outputs if o.output_type == "error"]
    marks = []
    for label in labels:
        passed = any(line.startswith(_stock_starts(label)) for line in lines)
        reached = passed or any(message.startswith(f"{_FAILED} {label}: ") for message in failed)
        marks.append({"label": label, "passed": passed, "reached": reached})
    return marks


def _stock_starts(label: str) -> tuple[str, str]:
    """Return how the line of a case that passed begins, in nbgrader's own grading."""
    return f"{_PASSED} {label}: ", f"{_RACED} {label}: "


def _stock_outputs(cell: NotebookNode, visible: list[str]) -> list[NotebookNode]:
    """Return the outputs that only visible cases can write; others may quote a hidden one."""
    lines = _stock_text(cell).splitlines()
    starts = [_stock_starts(label) for label in visible]
    kept = "".join(f"{line}\n" for line in lines if line.startswith(sum(starts, ())))
    outputs = [new_output("stream", name="stdout", text=kept)] if kept else []
    for output in cell.outputs:
        if output.output_type == "error":
            all_passed = all(any(line.startswith(start) for line in lines) for start in starts)
            outputs.append(_stock_error(output, visible, all_passed))
    return outputs


def _stock_error(error: NotebookNode, visible: list[str], all_passed: bool) -> NotebookNode:
    """Return a visible case's own message, or the name of the exception alone.

    all_passed: all visible cases passed, so a hidden case raised it.
    """
    message = error.evalue
    known = any(message.startswith(f"{_FAILED} {label}: ") for label in visible)
    where = "on other input" if all_passed else "(run the cell in your own notebook to see where)"
    text = message if known else f"{error.ename} {where}"
    return new_output("error", ename=error.ename, evalue=text, traceback=[text])
