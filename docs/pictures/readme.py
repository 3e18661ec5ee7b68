"""Draws the README's picture, light and dark: a student's notebook beside its class's results.

    make demo && python docs/pictures/readme.py

Both halves are what they show: cells of a hand-in of the sample class, executed, and the report
that `make demo` wrote. Chromium (CHROME names another browser of its kind) photographs them. The
picture keeps the words of both pages, by which tests/build/test_readme.py sees that it is of
today's lesson and class.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from PIL import Image, PngImagePlugin

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))
import chromium  # noqa: E402

LESSON = "01_parameters"
HAND_IN = ROOT / "submitted" / "complete" / LESSON
# Of a section its heading, question, guess, a test and the picture, not what the student wrote.
HEADING, TESTED, DRAWN = "## 3 ", "test_attention_parameters_2", "demo_attention"
GUESS = "guess_feed_forward = 1"  # what stands there in place of None
SIZE = (900, 1080)  # of a half, in pixels
LESSON_WIDTH, REPORT_WIDTH = 600, 720  # in points: letters that can be read in a README
# Long lines go on below; a tick has its colour where no font has its picture.
STYLE = "<style>pre { white-space: pre-wrap !important; }</style>"
TICK = '<b style="color: {}">✔</b>'
GREEN = {"light": "#0a7d33", "dark": "#3fb950"}
WORDS = "Words"  # the name under which the picture keeps them
TARGETS = {
    scheme: ROOT / "docs" / "pictures" / name
    for scheme, name in {"light": "readme.png", "dark": "readme-dark.png"}.items()
}
# What is between the halves, ground and line; and what Chromium calls a scheme.
BETWEEN = {"light": ("white", "#c8ccd0"), "dark": ("#111111", "#3d444d")}
PREFERRED = {"light": 1, "dark": 0}


def executed() -> nbformat.NotebookNode:
    """Return the section's cells with the outputs of an execution."""
    notebook = nbformat.read(HAND_IN / f"{LESSON}.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace(GUESS.replace("1", "None"), GUESS)
    with tempfile.TemporaryDirectory() as folder:  # where no earlier guess is noted
        release = ROOT / "release" / LESSON
        shutil.copytree(release, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
        where = {"metadata": {"path": folder}}
        NotebookClient(notebook, allow_errors=True, resources=where).execute()
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
    first = next(i for i, cell in enumerate(notebook.cells) if HEADING in cell.source)
    text, guess = notebook.cells[first : first + 2]
    heading, *_, question = text.source[text.source.index(HEADING) :].split("\n\n")
    text.source = f"{heading}\n\n{question}"
    cells[DRAWN].source = cells[DRAWN].source.split("\n")[0]
    notebook.cells = [text, guess, cells[TESTED], cells[DRAWN]]
    return notebook


def notebook_page(notebook: nbformat.NotebookNode, scheme: str) -> str:
    """Return a notebook as JupyterLab draws it in a light or a dark theme."""
    words = {"mathjax_url": "", "require_js_url": "", "theme": scheme}
    page = HTMLExporter(template_name="lab", **words).from_notebook_node(notebook)[0]
    return page.replace("</head>", f"{STYLE}</head>").replace("✅", TICK.format(GREEN[scheme]))


def words_of(page: str) -> str:
    """Return what stands on a page, and what its pictures say of themselves, in one line."""
    body = BeautifulSoup(page, "html.parser").body
    for unseen in body.select("script, style"):
        unseen.decompose()
    told = [image.get("alt", "") for image in body.select("img")]
    return " ".join(" ".join([body.get_text(" "), *told]).split())


def photograph(page: Path, picture: Path, width: int, scheme: str) -> Image.Image:
    """Take a picture of SIZE of the top of a page that is laid out in so many points."""
    browser = chromium.find()
    if browser is None:
        sys.exit("no Chromium: install it, or name a browser of its kind in CHROME")
    scale = SIZE[0] / width
    flags = ["--hide-scrollbars", "--virtual-time-budget=5000", f"--screenshot={picture}"]
    flags += [f"--force-device-scale-factor={scale}"]
    flags += [f"--blink-settings=preferredColorScheme={PREFERRED[scheme]}"]
    flags += [f"--window-size={width},{round(SIZE[1] / scale)}"]
    chromium.show(browser, page, flags, seconds=60)
    return Image.open(picture)


def draw(report: Path, targets: dict[str, Path]) -> None:
    """Photograph the notebook and this report side by side, by scheme, into these files."""
    notebook = executed()
    for scheme, target in targets.items():
        _draw(notebook_page(notebook, scheme), report, target, scheme)


def _draw(lesson: str, report: Path, target: Path, scheme: str) -> None:
    results = report.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "notebook.html")
        page.write_text(lesson, encoding="utf-8")
        left = photograph(page, Path(folder, "left.png"), LESSON_WIDTH, scheme)
        right = photograph(report, Path(folder, "right.png"), REPORT_WIDTH, scheme)
        ground, line = BETWEEN[scheme]
        both = Image.new("RGB", (left.width + right.width + 20, left.height), ground)
        both.paste(line, (left.width + 9, 0, left.width + 11, left.height))
        both.paste(left, (0, 0))
        both.paste(right, (left.width + 20, 0))
    kept = PngImagePlugin.PngInfo()
    kept.add_itxt(WORDS, f"{words_of(lesson)}\n{words_of(results)}", zip=True)
    both.quantize(160).save(target, optimize=True, pnginfo=kept)


def main() -> None:
    """Draw the pictures of the report that `make demo` wrote."""
    report = ROOT / "reports" / f"{LESSON}.html"
    if not report.exists():
        sys.exit(f"{report} is not there: run `make demo` first")
    draw(report, TARGETS)


if __name__ == "__main__":
    main()
