"""Render a part of a page as HTML: markdown, code, terminal output, HTML.

Every result of this module has passed the filter of inert.py.
"""

from __future__ import annotations

import base64
import html
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from nbconvert.filters.ansi import ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from proflab_course.grading.pages.inert import (
    FORBIDDEN_TAG,
    PICTURE,
    cut,
    filtered,
    note,
    readable,
    too_deep,
)
from proflab_course.grading.run.student_files import read_start

# Characters of one piece; a longer one is cut, with a note on the page.
MOST = {"markdown": 100_000, "code": 100_000, "text": 100_000, "html": 4_000_000}
_TOO_DEEP = "This is nested too deeply to be laid out"
_MOST_AS_WRITTEN = 10_000  # characters
_MOST_COLOURS = 2_000  # changes of colour in a text, each of which becomes a tag
_MOST_ADDRESS = 300
_MOST_PICTURES = 8 * 1024**2  # characters of a piece's pictures, as data URLs
_MOST_PICTURE = 2 * 1024**2  # bytes of a file beside the notebook

# A picture's kind, by its first bytes: its name may say anything.
_FILES = {b"\x89PNG\r\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_ELSEWHERE = "<em>[a picture from elsewhere is not shown]</em>"
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,40}[ -/]{0,8}[@-~])?")  # a terminal's command
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,40}m")


PieceKind = Literal["markdown", "code", "text", "html"]


@dataclass(frozen=True)
class Piece:
    """A part of a page: a cell's source or an output's data; `folder` has its pictures."""

    kind: PieceKind
    text: str
    attachments: dict[str, Any] = field(default_factory=dict)
    folder: str = ""

    def as_dict(self) -> dict:
        """Return the piece as plain data."""
        return asdict(self)


def to_html(piece: Piece) -> str:
    """Return the piece as inert HTML, cut if it is too long."""
    text, left_out = cut(readable(piece.text), MOST[piece.kind])
    if piece.kind == "text":
        return _terminal_html(text) + left_out
    if piece.kind == "code":
        return _code_html(text) + left_out
    shown = filtered(_markdown_html(text, piece) if piece.kind == "markdown" else text)
    return (as_written(piece, _TOO_DEEP) if too_deep(shown) else shown) + left_out


def as_written(piece: Piece, why: str) -> str:
    """Return the replacement of a piece that could not be rendered: its text, and the reason."""
    if piece.kind == "html":
        return note(f"{why} and is left out")
    text, left_out = cut(_ESCAPE.sub("", readable(piece.text)), _MOST_AS_WRITTEN)
    shown = f"<pre>{html.escape(text)}</pre>{left_out}"
    return note(f"{why} and stands here as it was written") + shown


def _markdown_html(text: str, piece: Piece) -> str:
    """Return markdown as HTML, not yet filtered."""
    return MarkdownWithMath(renderer=MarkdownRenderer(piece)).render(text)


def _code_html(code: str) -> str:
    return filtered(
        highlight(code or " ", get_lexer_by_name("ipython3"), HtmlFormatter()), math=False
    )


def _terminal_html(text: str) -> str:
    """Return terminal output as HTML, in its colours unless these are too many."""
    keep = len(_COLOUR.findall(text)) <= _MOST_COLOURS
    text = _ESCAPE.sub(lambda found: found[0] if keep and _COLOUR.fullmatch(found[0]) else "", text)
    left_out = "" if keep else note("colours are left out: there are too many")
    return filtered(ansi2html(text), math=False) + left_out


class MarkdownRenderer(IPythonRenderer):
    """Render markdown with forbidden tags as text, pictures embedded, foreign addresses as text."""

    def __init__(self, piece: Piece) -> None:
        super().__init__(escape=False, exclude_anchor_links=True)
        self.pasted, self.folder = piece.attachments, piece.folder
        self.left = _MOST_PICTURES

    def inline_html(self, html: str) -> str:
        """Return a tag that is allowed, or its text."""
        return FORBIDDEN_TAG.sub("&lt;", html)

    def block_html(self, html: str) -> str:
        """Return a block with its forbidden tags as text."""
        return FORBIDDEN_TAG.sub("&lt;", html) + "\n"

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        """Return a heading one level lower, because the page has a heading of its own."""
        return super().heading(text, min(level + 1, 6), **attrs)

    def task_list_item(self, text: str, checked: bool = False) -> str:
        """Return an item of a task list with a character as its box."""
        box = "☑ " if checked else "☐ "
        inner = text.replace("<p>", f"<p>{box}", 1) if text.startswith("<p>") else box + text
        return f"<li>{inner}</li>\n"

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """Return a link's text and its address, neither of which can be clicked."""
        address = html.escape(html.unescape(url)[:_MOST_ADDRESS])
        text = text.removesuffix(f" {_ELSEWHERE}")
        here = url.startswith("#")  # a place in the notebook, which the page does not have
        return text if here or text == address else f"{text} ({address})"

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """Return a picture that is in the page, or its description."""
        description = html.escape(html.unescape(re.sub(r"<[^<>]*>", "", text)))
        data, why = self.picture(html.unescape(url))
        if data:
            return f'<img src="{data}" alt="{description or "a picture without a description"}">'
        return f"{description} {why}" if description else why

    def picture(self, url: str) -> tuple[str, str]:
        """Return the picture's data URL, or an empty string and, as HTML, why there is none."""
        name = unquote(url.removeprefix("attachment:"))[:_MOST_ADDRESS]
        if url.startswith("data:"):
            data, why = url, "a picture of a kind that is not shown"
        elif url.startswith("attachment:"):
            data, why = self.attached(url, name), f"the pasted picture {name} is missing"
        elif re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]", url):
            return "", _ELSEWHERE
        else:
            data, why = self.beside(name), f"the picture {name} is missing"
        self.left -= len(data)
        if PICTURE.fullmatch(data) and self.left >= 0:
            return data, ""
        return "", f"<em>[{html.escape(why if self.left >= 0 else 'one picture too many')}]</em>"

    def attached(self, url: str, name: str) -> str:
        """Return an attachment's data URL, empty where there is none."""
        bundle = self.pasted.get(url.removeprefix("attachment:")) or self.pasted.get(name)
        for mime in ("image/png", "image/jpeg", "image/gif", "image/webp"):
            if isinstance(bundle, dict) and isinstance(bundle.get(mime), str):
                return f"data:{mime};base64,{bundle[mime]}"
        return ""

    def beside(self, name: str) -> str:
        """Return the data URL of a picture file beside the notebook, empty where there is none."""
        if not self.folder or not re.fullmatch(r"(?:[\w-][\w .-]*/)*[\w-][\w .-]*", name):
            return ""
        data = read_start(Path(self.folder) / name, _MOST_PICTURE + 1) or b""
        kind = next((mime for start, mime in _FILES.items() if data.startswith(start)), "")
        if not kind or len(data) > _MOST_PICTURE:
            return ""
        return f"data:{kind};base64,{base64.b64encode(data).decode()}"
