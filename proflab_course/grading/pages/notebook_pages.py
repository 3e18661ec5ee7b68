"""Make the pages that show a graded notebook: feedback, and formgrader's view of a submission.

`DisarmMarkup` replaces all that a student wrote or displayed by HTML that a browser only shows (see
inert.py), laid out within limits (see render.py); `FILTERS` are the template's own filters, which
then leave it alone. Both stand in jupyter_config.py, because formgrader's exporter is nbconvert's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nbconvert.exporters import HTMLExporter
from nbconvert.filters.strings import strip_files_prefix
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.api import MissingEntry
from nbgrader.preprocessors import NbGraderPreprocessor
from pygments.formatters import HtmlFormatter
from sqlalchemy.exc import SQLAlchemyError
from traitlets.config import Config

from proflab_course.grading.odd_json import as_dict, as_list, join_text
from proflab_course.grading.pages.inert import note, plain_math, readable
from proflab_course.grading.pages.markup import Piece, PieceKind
from proflab_course.grading.pages.render import Inert, shared_renderer
from proflab_course.grading.submissions.read_notebook import MAX_CELLS

# Outputs of a cell, and of a page.
_MOST_OUTPUTS, _MOST_PAGE_OUTPUTS = 200, 2_000
_MOST_LATEX = 10_000  # characters
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")
_MIME = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,100}")
_NAME = re.compile(r"[\w.:-]{1,200}")  # a grade_id, or a tag
# Of an output's forms, the first of these is shown.
_SHOWN = ("text/html", "text/markdown", "image/png", "image/jpeg", "text/latex", "text/plain")
_KINDS: dict[str, PieceKind] = {
    "text/html": "html",
    "text/markdown": "markdown",
    "text/plain": "text",
}

Place = tuple[Any, str, Piece]


class FeedbackPage(HTMLExporter):
    """Write a student's feedback page with the template proflab_feedback.

    If it cannot be made, write a page with that sentence and continue with the class.
    """

    @property
    def default_config(self) -> Config:
        """The template of this page, whatever is configured for HTML pages in general."""
        config = super().default_config
        config.FeedbackPage.template_name = "proflab_feedback"
        here = str(Path(__file__).parent)
        config.FeedbackPage.extra_template_basedirs = [here]
        config.FeedbackPage.extra_template_paths = [here]  # of the palette
        # nbgrader's list for feedback gives the order: hidden cases are removed before rendering.
        config.FeedbackPage.preprocessors = []
        config.FeedbackPage.filters = FILTERS
        return config

    def from_filename(  # type: ignore[override]  # a page is a text
        self, filename: str, resources: dict | None = None, **options: Any
    ) -> tuple[str, dict]:
        """Return the page of the notebook in `filename`, or a page about the failure."""
        resources = self._init_resources(resources)
        try:
            page, resources = super().from_filename(filename, resources=resources, **options)
        except (SQLAlchemyError, MissingEntry):
            raise
        except Exception as error:
            self.log.exception("The page of %s only says that it could not be made", filename)
            page = _page_of_failure(resources, type(error).__name__)
        return page.encode("utf-8", "replace").decode(), resources


class DisarmMarkup(NbGraderPreprocessor):
    """Replace a student's text and outputs by inert HTML."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Render all cells and outputs within the limits of one page."""
        nb.metadata = NotebookNode(
            language_info=NotebookNode(name="python", pygments_lexer="ipython3")
        )
        nb.nbformat_minor = 4  # without cell ids
        folder = str(resources.get("metadata", {}).get("path", ""))
        nb.cells = nb.cells[:MAX_CELLS]
        left = _MOST_PAGE_OUTPUTS
        places: list[Place] = []
        for cell in nb.cells:
            places += self.disarm(cell, folder, left)
            left -= len(cell.get("outputs", []))
        due = [place for place in places if not isinstance(place[0][place[1]], Inert)]
        laid_out = shared_renderer().page(piece for _, _, piece in due)
        for (holder, key, _), shown in zip(due, laid_out, strict=True):
            holder[key] = [shown] if key == "traceback" else shown
        for cell in nb.cells:
            for output in cell.get("outputs", []):
                if "data" in output:
                    _say_what_is_missing(output)
        return nb, resources

    def disarm(self, cell: NotebookNode, folder: str, left: int) -> Iterator[Place]:
        """Rebuild a cell from the parts that the page shows; yield those to be rendered."""
        cell.metadata = _known_metadata(cell.metadata)
        cell.pop("id", None)
        pasted = as_dict(cell.pop("attachments", None))
        outputs = cell.pop("outputs", None)
        kind: PieceKind = cell.cell_type if cell.cell_type in ("code", "markdown") else "text"
        yield cell, "source", Piece(kind, join_text(cell.get("source")), pasted, folder)
        if cell.cell_type == "code":
            cell.execution_count = _run_number(cell)
            cell.outputs = _first_outputs(as_list(outputs), min(_MOST_OUTPUTS, max(0, left)))
            for output in cell.outputs:
                yield from _places_in(output)


def _run_number(shown: dict) -> int | None:
    """Return the number in front of a cell or a result; None if it has no valid one."""
    count = shown.get("execution_count")
    return count if type(count) is int and count >= 0 else None


def _known_metadata(metadata: dict) -> NotebookNode:
    """Return the well-formed part of a cell's metadata that the templates read."""
    known = NotebookNode()
    marks, tags = as_dict(metadata.get("nbgrader")), metadata.get("tags")
    if _NAME.fullmatch(str(marks.get("grade_id", ""))):
        known["nbgrader"] = marks
    if isinstance(tags, list):
        known["tags"] = [tag for tag in tags if isinstance(tag, str) and _NAME.fullmatch(tag)]
    return known


def _first_outputs(outputs: list, most: int) -> list[NotebookNode]:
    """Return a cell's first outputs, rebuilt from the fields that a page shows."""
    kept = [rebuilt for rebuilt in map(_shown_output, outputs[:most]) if rebuilt]
    if len(outputs) > most:
        text = f"… {len(outputs) - most:,} more outputs are left out here\n"
        kept.append(new_output("stream", name="stdout", text=text))
    return kept


def _shown_output(output: Any) -> NotebookNode | None:
    """Return an output with its best form that a page shows, and its text to fall back on."""
    kind = output.get("output_type") if isinstance(output, dict) else None
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return new_output("stream", name=name, text=_kept_text(output.get("text")))
    if kind == "error":
        lines = output.get("traceback") or [join_text(output.get("evalue"))]
        traceback = _kept_text(lines, "\n")
        return new_output("error", ename="", evalue="", traceback=[traceback])
    data = output.get("data") if kind in ("display_data", "execute_result") else None
    if not isinstance(data, dict):
        return None
    shown = _shown_data(data)
    sizes = _picture_sizes(output.get("metadata"), shown)
    if kind == "execute_result":
        return new_output(kind, shown, execution_count=_run_number(output), metadata=sizes)
    return new_output(kind, shown, metadata=sizes)


def _shown_data(data: dict) -> NotebookNode:
    """Return the best form of a display that a page shows, and its text to fall back on."""
    forms = [mime for mime in _SHOWN if mime in data and usable(mime, data[mime])]
    kept = NotebookNode({mime: _kept_text(data[mime]) for mime in forms[:1]})
    if "text/plain" in forms:
        kept["text/plain"] = _kept_text(data["text/plain"])
    if "text/latex" in kept:
        kept["text/latex"] = plain_math(readable(kept["text/latex"])[:_MOST_LATEX])
    if not kept:
        kinds = ", ".join(sorted(name for name in map(str, data) if _MIME.fullmatch(name))[:5])
        what = f"an output of the kind {kinds}" if kinds else "an empty output"
        kept["text/plain"] = Inert(note(f"{what} is left out: pages show text and pictures"))
    return kept


def usable(mime: str, value: Any) -> bool:
    """Return True if a value has the type of its MIME type."""
    if mime.startswith("image/"):
        return bool(_BASE64.fullmatch(join_text(value)))
    return isinstance(value, str | list)


def _picture_sizes(metadata: Any, data: dict) -> dict:
    """Return the width and height of the pictures, if these are numbers."""
    sizes = {}
    for mime in data:
        given = as_dict(as_dict(metadata).get(mime))
        if mime.startswith("image/") and given:
            sizes[mime] = {k: given[k] for k in ("width", "height") if type(given.get(k)) is int}
    return sizes


def _places_in(output: NotebookNode) -> Iterator[Place]:
    """Yield the places in an output that must be rendered."""
    if output.output_type == "stream":
        yield output, "text", Piece("text", output.text)
    elif output.output_type == "error":
        yield output, "traceback", Piece("text", output.traceback[0])
    else:
        for mime in output.data:
            if mime in _KINDS:
                yield output.data, mime, Piece(_KINDS[mime], output.data[mime])


def _say_what_is_missing(output: NotebookNode) -> None:
    """Show an output's text if the filter removed all of its HTML."""
    for mime in ("text/html", "text/markdown"):
        shown = output.data.get(mime, " <img")
        if "<img" not in shown and not re.sub(r"<[^<>]*>", "", shown).strip():
            del output.data[mime]
            output.data.setdefault(
                "text/plain", Inert(note("what a script would have drawn is left out"))
            )


def _kept_text(value: Any, between: str = "") -> str:
    """Return a text as one string; leave filtered HTML as it is."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, Inert) else join_text(value, between)


def _page_of_failure(resources: dict, error: str) -> str:
    marks = resources.get("nbgrader", {})
    lesson = note(f"{marks.get('notebook', 'This lesson')}: this page could not be made ({error})")
    score = marks.get("score")
    points = f"<p>{score:g} of {marks['max_score']:g} points.</p>" if score is not None else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Feedback</title>'
        f"</head><body><h1>Feedback</h1>{lesson}{points}<p>Your points are safe. Please tell your "
        "instructor, whose log says more.</p></body></html>\n"
    )


# ── filters of the templates ────────────────────────────────────────────────────────────────


def _laying_out(kind: PieceKind) -> Callable[..., Inert]:
    """Return a template filter that renders what is not yet filtered."""

    def lay_out(text: Any, *_: Any, **__: Any) -> Inert:
        if isinstance(text, Inert):
            return text
        return shared_renderer().page([Piece(kind, str(text))])[0]

    return lay_out


def _strip_prefix(text: str) -> str:
    """Return filtered HTML unchanged, because it has no such addresses."""
    return text if isinstance(text, Inert) else strip_files_prefix(text)


@functools.cache
def code_colours(style: str) -> str:
    """Return the CSS of one of Pygments' styles for code."""
    return HtmlFormatter(style=style).get_style_defs(".highlight")


FILTERS = {
    "code_colours": code_colours,
    "markdown2html": _laying_out("markdown"),
    "highlight_code": _laying_out("code"),
    "ansi2html": _laying_out("text"),
    "clean_html": _laying_out("html"),
    "strip_files_prefix": _strip_prefix,
}
