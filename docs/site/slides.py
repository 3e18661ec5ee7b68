"""Make a deck of slides for each lesson, of what the lesson has already.

A deck has the lesson's picture and goals; of some sections the prediction that they ask for and
what their demo cells show; and the Summary. Each slide has a note for the speaker, which stands on
the page that lists the decks and not on what everybody sees. A deck is one HTML file that needs no
other and no network. Printed it has a slide a page: where Chromium is, that is made as a PDF, too.
Concept questions have pages of their own (`proflab questions`), in a class's own order.
"""

from __future__ import annotations

import html
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import chromium
from bs4 import BeautifulSoup
from lessons import small_picture
from markupsafe import Markup
from notes import Slips, at_goals, at_predict, at_shown, at_summary

from proflab.lesson.names import used_names
from proflab.lesson.plot import with_thin_spaces
from proflab_classroom.questions.guesses import asking, guesses_in
from proflab_classroom.questions.pages import render_page
from proflab_course.build.stamp import LAST_CELL
from proflab_course.course.layout import Course
from proflab_course.course.notebook import GUESS_TAG, Cell, read_notebook
from proflab_course.course.prose import paragraphs, split_sentences
from proflab_course.course.sections import heading_lines
from proflab_course.grading.pages.markup import Piece, to_html
from proflab_course.tracks.objectives import stated_objectives

HERE = Path(__file__).parent
MOST = 12
_MOST_LINES = 12  # of what a demo cell prints; more cannot be read from the last row
_SENTENCES, _FIRST = 4, 3  # of the text below a picture, and of the lesson's first text
_COLUMNS = 76  # letters in a printed line, before it is made smaller or wraps
_SMALLEST = 0.72
_SECONDS = 120
_GOALS = "You will be able to"
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\([^)]*\)")
_ASKS = ("**Predict", "**Guess")
_PLACE = re.compile(r"\b(?:picture|cell|plot|figure|line)s? (?:below|above)\b|\bnext cell\b")
_ASIDE = re.compile(r", in the next cell(?=[:,.])")
# How guesses.told (proflab/lesson/guesses.py) ends or begins its sentence where nobody guessed.
_NO_GUESS = re.compile(r" ?\(you made no guess[^)]*\)")
_ANSWERS = re.compile(rf"{_NO_GUESS.pattern}|: the document assumes ")
_HEADING = re.compile(r"^## (?:\d+ · )?(.*?)(?: · \d+ (?:min|points?).*)?$")


@dataclass(frozen=True)
class Slide:
    """One slide: its kind, heading and body, as HTML, and the speaker's note, as Markdown."""

    kind: str  # "title", "goals", "predict", "shown" or "summary"
    heading: str
    body: Markup
    note: str


@dataclass(frozen=True)
class _Unit:
    """Slides that stay or go together, such as a prediction and its answer.

    rank: the lower, the sooner they are in the deck; 0: always
    """

    slides: tuple[Slide, ...]
    rank: int = 0


@dataclass
class _Asked:
    """A prediction that waits for its answer: its section, and its guesses with their hints."""

    slide: Slide
    section: str
    guesses: dict[str, str] = field(default_factory=dict)

    def answered(self, answers: Sequence[str] = ()) -> Slide:
        """Return its slide with a note that says what came out."""
        note = at_predict(self.section, self.guesses.values(), answers)
        return replace(self.slide, note=note)


def deck(course: Course, lesson: str, shown: list[list[dict]]) -> list[Slide]:
    """Return the slides of a lesson, at most MOST. shown: the outputs of its demo cells.

    A prediction stands before what answers it, and never without; where no demo cell was run, it
    stands alone.
    """
    units = list(_units(course, lesson, shown))
    kept: set[int] = set()
    for place in sorted(range(len(units)), key=lambda place: (units[place].rank, place)):
        if sum(len(units[n].slides) for n in (*kept, place)) <= MOST:
            kept.add(place)
    return [slide for place in sorted(kept) for slide in units[place].slides]


def _with_thin_spaces(html: str) -> Markup:
    """Return HTML in whose text thousands stand apart by a space; what is in a tag stays."""
    parts = re.split(r"(<[^>]*>)", html)
    parts[::2] = map(with_thin_spaces, parts[::2])
    return Markup("".join(parts))  # noqa: S704 (inert as it came)


def write_deck(slides: Sequence[Slide], target: Path, pdf: bool = True) -> list[Path]:
    """Write the deck as HTML, and as PDF if asked and a Chromium is there; return the files."""
    target.parent.mkdir(parents=True, exist_ok=True)
    values = {"title": slides[0].heading, "slides": slides}
    target.write_bytes(render_page("slides", values, script="lecture", folder=HERE))
    printed = target.with_suffix(".pdf")
    return [target, printed] if pdf and _print(target, printed) else [target]


def slides_page(decks: dict[str, tuple[list[Slide], list[Path]]]) -> str:
    """Return the page that lists the decks, with their notes; decks: by title, slides and files."""
    rows, notes = [], []
    for title, (slides, files) in decks.items():
        links = (f'<a href="../slides/{path.name}">{path.suffix[1:].upper()}</a>' for path in files)
        rows.append(f"| {title} | {len(slides)} | {' · '.join(links)} |")
        told = [f"{n}. **{each.heading}** · {each.note}" for n, each in enumerate(slides, start=1)]
        notes.append("\n".join([f"## {title}", "", *told, ""]))
    return _PAGE.format(most=MOST, rows="\n".join(rows), notes="\n".join(notes))


_PAGE = """\
# Slides

A deck a lesson, of at most {most} slides, made of the lesson itself: its picture and goals, what it
asks you to predict, what its demo cells then show, and its summary. Arrow keys, space or a tap turn
the slides; nothing is fetched from elsewhere. Below the table is a note for the speaker about each
slide. Concept questions have pages of their own: `proflab questions` makes them with your class's
letters, and the key. On slides a space groups thousands, and a point is the decimal sign.

| lesson | slides | |
|---|--:|---|
{rows}

{notes}"""


# ── what a lesson has ─────────────────────────────────────────────────────────────────────────


def _units(course: Course, lesson: str, shown: list[list[dict]]) -> Iterator[_Unit]:
    folder = str(course.release(lesson).parent)
    nodes = read_notebook(course.release(lesson), lesson).notebook.cells
    cells = [Cell(node, "") for node in nodes]
    yield from _opening(cells[0].source, folder, at_goals(course, lesson))
    outputs, slips = iter(shown), Slips(cells)
    heading, count = cells[0].source.split("\n")[0].removeprefix("# "), 0
    asked: list[_Asked] = []  # predictions that wait for an answer
    latest: list[_Asked] = []  # those of the last text that has some
    for place, cell in enumerate(cells[1:], start=1):
        if cell.role == "text":
            for title, text in _parts(cell):
                heading, count = (title, 0) if title else (heading, count)
                if heading == "Summary":
                    note = at_summary(course, lesson)
                    yield _Unit((Slide("summary", heading, _markdown(text, folder), note),))
                    break
                new = [
                    _Asked(_asks(_markdown(_without_places(part), folder)), heading)
                    for part in paragraphs(text)
                    if part.startswith(_ASKS)
                ]
                asked, latest = asked + new, new or latest
        elif GUESS_TAG in cell.tags and latest:
            guesses = list(guesses_in(cell.source))
            for (name, hint), each in zip(guesses, asking(latest, guesses), strict=True):
                each.guesses[name] = hint
            if not any(shown):
                yield from (_Unit((each.answered(),), 1) for each in latest)
                latest = []
        elif cell.role == "demo" and cell.name != LAST_CELL:
            below = cells[place + 1] if place + 1 < len(cells) else None
            given = next(outputs, [])
            body = _shown(given)
            # Not what a card would show that is not there, nor what a solution costs.
            if body is None or "device" in cell.tags or "race." in cell.source:
                continue
            names = used_names(cell.statements())
            answered = [each for each in asked if each.guesses.keys() & names]
            asked = [each for each in asked if each not in answered]
            if rank := _rank(body, bool(answered)):
                purpose = cell.source.split("\n")[0].removeprefix("# ")
                note = at_shown(_caption(below), purpose, _alt(body), slips.ask(names))
                slide = Slide("shown", heading, body, note)
                answers = _answers(given)
                own = len(answers) == len(answered)  # else each prediction has all of them
                asks = (
                    each.answered(answers[at : at + 1] if own else answers)
                    for at, each in enumerate(answered)
                )
                yield _Unit((*asks, slide), rank + 2 * count)
                count += 1


def _rank(body: Markup, answers: bool) -> int:
    """Return how soon what a demo cell shows is in the deck; 0: never, for idle text."""
    if "<img" in body:
        return 1 if answers else 2
    return 2 if answers else 0


def _opening(text: str, folder: str, aims: str) -> Iterator[_Unit]:
    """Yield title and goals of the first cell; aims: the note about the goals."""
    parts = paragraphs(text)
    title = parts[0].removeprefix("# ")
    picture = next((part for part in parts if part.startswith("![")), "")
    plain = [p for p in parts[1:] if not p.startswith(("![", "*", "- ", "[Open "))]
    first = (
        " ".join(split_sentences(_LINK.sub(r"\1", plain[0])).split("\n")[:_FIRST]) if plain else ""
    )
    yield _Unit((Slide("title", title, _markdown(picture or first, folder), first),))
    if goals := stated_objectives(text):
        listed = "\n".join(f"- {goal}" for goal in goals)
        yield _Unit((Slide("goals", _GOALS, _markdown(listed, folder), aims),))


def _asks(body: Markup) -> Slide:
    """Return the slide of a prediction, whose title gives nothing away as a section's may."""
    return Slide("predict", "Predict", body, "")


def _without_places(text: str) -> str:
    """Return a question without what follows it about places in the notebook."""
    sentences = split_sentences(_ASIDE.sub("", " ".join(text.split("\n")))).split("\n")
    while len(sentences) > 1 and "?" not in sentences[-1] and _PLACE.search(sentences[-1]):
        sentences.pop()
    return " ".join(sentences)


def _parts(cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield each section's name ("" for what goes on) and its text in this cell."""
    lines = cell.source.split("\n")
    starts = [line for line, _ in heading_lines(cell)]
    cuts = sorted({0, *starts, len(lines)})
    for begin, end in zip(cuts, cuts[1:], strict=False):
        found = _HEADING.match(lines[begin]) if begin in starts else None
        text = lines[begin + 1 : end] if found else lines[begin:end]
        yield (found[1] if found else ""), "\n".join(text).strip("\n")


def _shown(outputs: list[dict]) -> Markup | None:
    """Return what a demo cell shows; None if it fits on no slide."""
    drawn, told, printed, left = [], [], [], _MOST_LINES
    for output in outputs:
        data = output.get("data", {})
        text = output.get("text") or data.get("text/plain", "")
        if "text/html" in data:
            drawn.append(small_picture(data["text/html"]))
        elif _ANSWERS.search(text):
            told += [f'<p class="answer">{html.escape(each)}</p>' for each in _answers([output])]
        elif text.count("\n") <= left:
            left -= text.count("\n")
            printed.append(_fitted(text.rstrip()))
    told += [] if drawn else printed
    if not drawn and not told:
        return None
    return _with_thin_spaces("\n".join([*told, *drawn]))


def _answers(outputs: list[dict]) -> list[str]:
    """Return what a demo cell says of each guess, without the remark that there was none."""
    texts = [each.get("text") or each.get("data", {}).get("text/plain", "") for each in outputs]
    return [_NO_GUESS.sub("", text).strip() for text in texts if _ANSWERS.search(text)]


def _alt(body: Markup) -> str:
    """Return what the first picture says of itself to those who cannot see it; "" without one."""
    found = BeautifulSoup(body, "html.parser").img
    return str(found["alt"]) if found else ""


def _fitted(text: str) -> str:
    """Return printed text in letters as large as its longest line allows."""
    longest = max(map(len, text.splitlines()), default=0)
    size = 1 if longest <= _COLUMNS else max(_COLUMNS / longest, _SMALLEST)
    return f'<pre style="font-size: {0.8 * size:.2f}em">{html.escape(text)}</pre>'


def _caption(below: Cell | None) -> str:
    """Return the first sentences of the text below a demo cell: what to say of it."""
    if below is None or below.node.cell_type != "markdown":
        return ""
    first = paragraphs(below.source)[0]
    if first.startswith(("#", "<", "**", "|", "-", "!", ">", "```")):
        return ""
    told = _first_sentences(first, _SENTENCES)
    return " ".join(each for each in told if not _PLACE.search(each)).removesuffix(":")


def _first_sentences(text: str, count: int) -> list[str]:
    return split_sentences(_LINK.sub(r"\1", text)).split("\n")[:count]


def _markdown(text: str, folder: str) -> Markup:
    return _with_thin_spaces(to_html(Piece("markdown", _LINK.sub(r"\1", text), folder=folder)))


# ── PDF ──────────────────────────────────────────────────────────────────────────────────────


def _print(page: Path, pdf: Path) -> bool:
    """Have a Chromium print the page; say whether there is a PDF now."""
    program = chromium.find()
    if program is None:
        return False
    try:
        flags = ["--no-pdf-header-footer", f"--print-to-pdf={pdf}"]
        chromium.show(program, page, flags, _SECONDS)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return False
    return pdf.exists()
