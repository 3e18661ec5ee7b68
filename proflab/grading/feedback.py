"""Keeps hidden cases out of what students are sent: labels and verdicts stay, nothing else.

`HideHidden` is a preprocessor for nbgrader's `generate_feedback` (see jupyter_config.py). It works
on notebooks graded by `proflab grade`, whose hidden results are marked, and on those graded by
`nbgrader autograde`, where it keeps only the lines that visible cases are known to print.
"""

from __future__ import annotations

import re
from pathlib import Path

import bleach
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config import Config

from proflab.grading.execute import HIDDEN
from proflab.grading.key import kind_of, meta
from proflab.grading.split import BEGIN_HIDDEN, GrammarError, hidden_source_removed, split

PASSED, FAILED = "✅", "❌"

# What a student's markdown may hold as HTML: plain tags without attributes, and pictures.
_SAFE_TAG = re.compile(
    r"</?(?:details|summary|b|i|em|strong|br|sub|sup|kbd|p|table|tr|td|th)\s*/?>"
    r"|<img\s+(?:(?:alt|width|height)=\"[^\"<>]*\"\s*"
    r"|src=\"(?:data:image/[^\"<>]*|[^\"<>:/][^\"<>:]*)\"\s*)+/?>",
    re.IGNORECASE,
)
# Pictures from elsewhere: a page that shows one tells its server who is reading.
_LINKED_PICTURE = re.compile(r"\[!\[([^\]]*)\]\([^)]*//[^)]*\)\]\(([^)]*)\)")
_FOREIGN_PICTURE = re.compile(r"!(\[[^\]]*\]\(\s*<?(?:[a-z]+:)?//)", re.IGNORECASE)
_SHOWN_AS_TEXT = ("text/plain", "text/latex", "application/json")
_PICTURES = ("image/png", "image/jpeg")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")
_HTML_TAGS = set(
    "a abbr b blockquote br caption code col div em figcaption figure h1 h2 h3 h4 hr i img li ol p "
    "pre s small span strong sub sup table tbody td tfoot th thead tr u ul".split()
)
_ANY_TAG = re.compile(r"<(?=[A-Za-z/!?])")


class FeedbackPage(HTMLExporter):
    """Writes the page that a student is sent, by the template proflab_feedback."""

    @property
    def default_config(self) -> Config:
        """Its own template, whatever is set for HTML pages in general."""
        config = super().default_config
        config.FeedbackPage.template_name = "proflab_feedback"
        config.FeedbackPage.extra_template_basedirs = [str(Path(__file__).parent / "templates")]
        return config


class HideHidden(NbGraderPreprocessor):
    """Replaces hidden cases by their labels and verdicts, in the source and in the outputs."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Rewrite a test cell that has hidden cases; leave every other cell as it is."""
        if kind_of(cell) == "test" and BEGIN_HIDDEN in cell.source:
            hide(cell)
        return cell, resources


class DisarmMarkup(NbGraderPreprocessor):
    """Makes what a student wrote or displayed harmless in a browser: no script, no foreign address.

    nbgrader's pages leave markdown and HTML outputs as they are.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Disarm a cell's text, if it is not code, and its outputs."""
        if cell.cell_type != "code":
            cell.source = escape_tags(cell.source)
            return cell, resources
        for output in cell.outputs:
            if "data" in output:
                output.data = NotebookNode(disarmed(output.data))
        return cell, resources


def disarmed(data: dict) -> dict:
    """A display's mime bundle without what a browser would execute or fetch."""
    kept = {mime: value for mime, value in data.items() if mime in _SHOWN_AS_TEXT}
    for mime in _PICTURES:
        if _BASE64.fullmatch(str(data.get(mime, "-"))):
            kept[mime] = data[mime]
    if "text/markdown" in data:
        kept["text/markdown"] = escape_tags(str(data["text/markdown"]))
    if "text/html" in data:
        kept["text/html"] = bleach.clean(
            str(data["text/html"]),
            tags=_HTML_TAGS,
            attributes=allowed_attribute,
            protocols={"http", "https", "data"},
        )
    return kept


def allowed_attribute(tag: str, name: str, value: str) -> bool:
    """Whether an HTML output may keep an attribute: sizes, descriptions, pictures in the page."""
    if tag == "img" and name == "src":
        return re.match(r"data:image/(png|jpeg|gif);base64,", value) is not None
    return name in {"alt", "title", "width", "height", "colspan", "rowspan", "class"}


def escape_tags(text: str) -> str:
    """Markdown with every tag escaped that may do harm, and pictures from elsewhere as links."""
    text = _LINKED_PICTURE.sub(r"[\1](\2)", text)
    text = _FOREIGN_PICTURE.sub(r"\1", text)
    return _ANY_TAG.sub(lambda found: "<" if _SAFE_TAG.match(text, found.start()) else "&lt;", text)


def hide(cell: NotebookNode) -> None:
    """Take the hidden cases out of one graded test cell."""
    marked = [o for o in cell.outputs if mark_of(o) is not None]
    visible, hidden = labels(cell)
    if marked:
        verdicts = [(mark_of(o)["label"], bool(mark_of(o)["passed"])) for o in marked]
        cell.outputs = [o for o in cell.outputs if mark_of(o) is None]
    else:
        verdicts = [(label, stock_passed(cell, label)) for label in hidden]
        cell.outputs = stock_outputs(cell, visible)
    lines = [f"{PASSED if passed else FAILED} {label}" for label, passed in verdicts]
    cell.source = hidden_source_removed(cell.source)
    cell.outputs.append(new_output("stream", name="stdout", text=hidden_text(lines)))


def hidden_text(lines: list[str]) -> str:
    """What a student is told of the hidden cases."""
    return "\n".join(["Cases on other input, not shown:", *(f"  {line}" for line in lines), ""])


def mark_of(output: NotebookNode) -> dict | None:
    """The mark of a hidden case's output."""
    return output.get("metadata", {}).get("proflab", {}).get(HIDDEN)


def labels(cell: NotebookNode) -> tuple[list[str], list[str]]:
    """The labels of a test cell's visible and hidden cases."""
    try:
        cases = split(cell.source, meta(cell).get("grade_id", "")).answers
    except GrammarError:
        return [], []
    visible = [answer.label for hidden, answer in cases if not hidden]
    return visible, [answer.label for hidden, answer in cases if hidden]


def stock_text(cell: NotebookNode) -> str:
    """Everything that a test cell printed in nbgrader's own grading."""
    return "".join(o.text for o in cell.outputs if o.output_type == "stream")


def stock_passed(cell: NotebookNode, label: str) -> bool:
    """Whether a case printed its line in nbgrader's own grading, which stops at the first error."""
    return re.search(rf"^{PASSED} {re.escape(label)}: ", stock_text(cell), re.MULTILINE) is not None


def stock_outputs(cell: NotebookNode, visible: list[str]) -> list[NotebookNode]:
    """The outputs that can only come from visible cases; the rest may quote a hidden one."""
    lines = stock_text(cell).splitlines()
    starts = tuple(f"{PASSED} {label}: " for label in visible)
    kept = "".join(f"{line}\n" for line in lines if line.startswith(starts))
    outputs = [new_output("stream", name="stdout", text=kept)] if kept else []
    for output in cell.outputs:
        if output.output_type == "error":
            outputs.append(stock_error(output, visible))
    return outputs


def stock_error(error: NotebookNode, visible: list[str]) -> NotebookNode:
    """A visible case's own message, or the name of the exception alone."""
    said = error.evalue
    known = any(said.startswith(f"{FAILED} {label}: ") for label in visible)
    text = said if known else f"{error.ename} (run the cell in your own notebook to see where)"
    return new_output("error", ename=error.ename, evalue=text, traceback=[text])
