"""Make a deck of slides for each lesson, of what the lesson has already.

A deck has the lesson's picture and goals; of each section the prediction that it asks for and what
its demo cells show; the concept questions, and the Summary. It is one HTML file that needs no other
and no network. Printed it has a slide a page: where Chromium is, that is made as a PDF, too.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lessons import small_picture
from markupsafe import Markup

from proflab_course.build.sections import heading_lines
from proflab_course.build.stamp import LAST_CELL
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Cell, read_notebook
from proflab_course.course.prose import paragraphs, split_sentences
from proflab_course.grading.pages.markup import Piece, to_html
from proflab_course.questions.pages import render_page

HERE = Path(__file__).parent
MOST = 20
_MOST_LINES = 16  # of what a demo cell prints; more cannot be read from the last row
_SENTENCES = 2  # of the text below a picture
_CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
_SECONDS = 120
_GOALS = "You will be able to"
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\([^)]*\)")
_ASKS = ("**Predict", "**Guess")
_NO_GUESS = re.compile(r" ?\(you made no guess[^)]*\)")
_QUESTION = re.compile(r"concept_\w+_text")
_HEADING = re.compile(r"^## (?:\d+ · )?(.*?)(?: · \d+ (?:min|points?).*)?$")


@dataclass(frozen=True)
class Slide:
    """One slide: heading and body, as HTML; rank: the lower, the sooner it is in the deck."""

    kind: str  # "title", "goals", "predict", "shown", "question" or "summary"
    heading: str
    body: Markup
    rank: int = 0


def deck(course: Course, lesson: str, shown: list[list[dict]]) -> list[Slide]:
    """Return the slides of a lesson, at most MOST. shown: the outputs of its demo cells."""
    made = list(_slides(course, lesson, shown))
    by_rank = sorted(range(len(made)), key=lambda place: (made[place].rank, place))
    return [made[place] for place in sorted(by_rank[:MOST])]


def write_deck(slides: Sequence[Slide], target: Path, pdf: bool = True) -> list[Path]:
    """Write the deck as HTML, and as PDF if asked and a Chromium is there; return the files."""
    target.parent.mkdir(parents=True, exist_ok=True)
    values = {"title": slides[0].heading, "slides": slides}
    target.write_bytes(render_page("slides", values, script="lecture", folder=HERE))
    printed = target.with_suffix(".pdf")
    return [target, printed] if pdf and _print(target, printed) else [target]


def slides_page(decks: dict[str, tuple[int, list[Path]]]) -> str:
    """Return the page that lists the decks; decks: by title, how many slides, and the files."""
    rows = []
    for title, (count, files) in decks.items():
        links = (f'<a href="../slides/{path.name}">{path.suffix[1:].upper()}</a>' for path in files)
        rows.append(f"| {title} | {count} | {' · '.join(links)} |")
    return _PAGE + "\n".join(rows) + "\n"


_PAGE = """\
# Slides

A deck a lesson, made of the lesson itself: its picture and goals, what it asks you to predict, what
its demo cells then show, its concept questions and its summary. Arrow keys, space or a tap turn the
slides; nothing is fetched from elsewhere. Letters of the concept questions are those of the public
release; `proflab questions` makes the page with your class's, and the key.

| lesson | slides | |
|---|--:|---|
"""


# ── what a lesson has ─────────────────────────────────────────────────────────────────────────


def _slides(course: Course, lesson: str, shown: list[list[dict]]) -> Iterator[Slide]:
    folder = str(course.release(lesson).parent)
    nodes = read_notebook(course.release(lesson), lesson).notebook.cells
    cells = [Cell(node, "") for node in nodes]
    yield from _opening(cells[0].source, folder)
    outputs = iter(shown)
    heading, asked, pictures = "", 0, 0
    for place, cell in enumerate(cells[1:], start=1):
        if cell.node.cell_type == "markdown":
            if _QUESTION.fullmatch(cell.name):
                yield Slide("question", heading, _markdown(cell.source, folder))
                continue
            for title, text in _parts(cell):
                heading, asked, pictures = (title, 0, 0) if title else (heading, asked, pictures)
                if heading == "Summary":
                    yield Slide("summary", heading, _markdown(text, folder))
                    break
                for part in paragraphs(text):
                    if part.startswith(_ASKS):
                        yield Slide("predict", heading, _markdown(part, folder), rank=2 + 2 * asked)
                        asked += 1
        elif cell.role == "demo" and cell.name != LAST_CELL:
            below = cells[place + 1] if place + 1 < len(cells) else None
            body = _shown(next(outputs, []), below, folder)
            # Not what a card would show that is not there, nor what a solution costs.
            if body is not None and "device" not in cell.tags and "race." not in cell.source:
                drawn = "<img" in body
                yield Slide("shown", heading, body, rank=(1 if drawn else 2) + 2 * pictures)
                pictures += 1


def _opening(text: str, folder: str) -> Iterator[Slide]:
    """Yield title and goals of the first cell."""
    parts = paragraphs(text)
    title = parts[0].removeprefix("# ")
    picture = next((part for part in parts if part.startswith("![")), "")
    plain = [part for part in parts[1:] if not part.startswith(("[![", "![", "**", "- "))]
    yield Slide("title", title, _markdown("\n\n".join([picture, *plain[:1]]), folder))
    goals = next((part for part in parts if part.startswith(f"**{_GOALS}")), "")
    listed = parts[parts.index(goals) + 1] if goals == f"**{_GOALS}**" else goals
    told = listed.removeprefix(f"**{_GOALS}**").strip()
    yield Slide("goals", _GOALS, _markdown(told, folder))


def _parts(cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield each section's name ("" for what goes on) and its text in this cell."""
    lines = cell.source.split("\n")
    starts = [line for line, _ in heading_lines(cell)]
    cuts = sorted({0, *starts, len(lines)})
    for begin, end in zip(cuts, cuts[1:], strict=False):
        found = _HEADING.match(lines[begin]) if begin in starts else None
        text = lines[begin + 1 : end] if found else lines[begin:end]
        yield (found[1] if found else ""), "\n".join(text).strip("\n")


def _shown(outputs: list[dict], below: Cell | None, folder: str) -> Markup | None:
    """Return what a demo cell shows and the sentences below it; None if it fits on no slide."""
    drawn, told, printed = [], [], []
    for output in outputs:
        data = output.get("data", {})
        text = output.get("text") or data.get("text/plain", "")
        if "text/html" in data:
            drawn.append(small_picture(data["text/html"]))
        elif _NO_GUESS.search(text):
            told.append(f"<p>{html.escape(_NO_GUESS.sub('', text).strip())}</p>")
        elif text.count("\n") <= _MOST_LINES:
            printed.append(f"<pre>{html.escape(text.rstrip())}</pre>")
    told += [] if drawn else printed
    caption = _caption(below, folder)
    if not drawn and not told:
        return None
    return Markup("\n".join([*told, *drawn, caption]))  # noqa: S704 (each part is inert)


def _caption(below: Cell | None, folder: str) -> str:
    if below is None or below.node.cell_type != "markdown":
        return ""
    first = paragraphs(below.source)[0]
    if first.startswith(("#", "<", "**", "|", "-", "!", ">", "```")):
        return ""
    sentences = split_sentences(first).split("\n")[:_SENTENCES]
    return _markdown(" ".join(sentences).removesuffix(":"), folder)


def _markdown(text: str, folder: str) -> Markup:
    return Markup(to_html(Piece("markdown", _LINK.sub(r"\1", text), folder=folder)))  # noqa: S704


# ── PDF ──────────────────────────────────────────────────────────────────────────────────────


def _print(page: Path, pdf: Path) -> bool:
    """Have a Chromium print the page; say whether there is a PDF now."""
    program = next(filter(None, map(shutil.which, _CHROMIUMS)), None)
    if program is None:
        return False
    with tempfile.TemporaryDirectory() as profile:
        words = [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
        words += [f"--user-data-dir={profile}", "--no-pdf-header-footer"]
        words += [f"--print-to-pdf={pdf}", page.resolve().as_uri()]
        try:
            done = subprocess.run(words, capture_output=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0 and pdf.exists()
