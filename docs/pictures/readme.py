"""Draws the README's picture: a student's notebook beside the page of results of its class.

    make demo && python docs/pictures/readme.py

Both halves are what they show: cells of a hand-in of the sample class, executed, and the report
that `make demo` wrote. Chromium (CHROME names another browser of its kind) photographs them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
LESSON = "01_parameters"
HAND_IN = ROOT / "submitted" / "complete" / LESSON
# From the section's heading to its last picture; what the student wrote is not shown.
HEADING, LEFT_OUT, LAST = "## 3 ", "attention_parameters", "demo_attention"
SIZE = (780, 985)
TARGET = ROOT / "docs" / "pictures" / "readme.png"


def notebook_page() -> str:
    """Write the section as JupyterLab draws it, with the outputs of an execution."""
    notebook = nbformat.read(HAND_IN / f"{LESSON}.ipynb", as_version=4)
    where = {"metadata": {"path": str(ROOT / "release" / LESSON)}}
    NotebookClient(notebook, allow_errors=True, resources=where).execute()
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    first = next(i for i, cell in enumerate(notebook.cells) if HEADING in cell.source)
    section = notebook.cells[first : names.index(LAST) + 2]
    section[0].source = section[0].source[section[0].source.index(HEADING) :]
    section[-1].source = section[-1].source.split("\n## ")[0]
    notebook.cells = [cell for cell in section if cell.id != LEFT_OUT]
    exporter = HTMLExporter(template_name="lab", mathjax_url="", require_js_url="")
    return exporter.from_notebook_node(notebook)[0]


def photograph(page: Path, picture: Path) -> Image.Image:
    """Take a picture of the top of a page, at one and a half times its points."""
    names = (os.environ.get("CHROME", ""), "chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        sys.exit("no Chromium: install it, or name a browser of its kind in CHROME")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    flags += ["--hide-scrollbars", "--virtual-time-budget=5000", "--force-device-scale-factor=1.5"]
    flags += [f"--user-data-dir={page.parent / 'profile'}", f"--screenshot={picture}"]
    flags += [f"--window-size={SIZE[0]},{SIZE[1]}", page.as_uri()]
    subprocess.run([browser, *flags], check=True, timeout=60, capture_output=True)
    return Image.open(picture)


def main() -> None:
    """Photograph both pages and put them side by side."""
    report = ROOT / "reports" / f"{LESSON}.html"
    if not report.exists():
        sys.exit(f"{report} is not there: run `make demo` first")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "notebook.html")
        page.write_text(notebook_page(), encoding="utf-8")
        left = photograph(page, Path(folder, "left.png"))
        right = photograph(report, Path(folder, "right.png"))
        both = Image.new("RGB", (left.width + right.width + 20, left.height), "white")
        both.paste("#c8ccd0", (left.width + 9, 0, left.width + 11, left.height))
        both.paste(left, (0, 0))
        both.paste(right, (left.width + 20, 0))
        both.quantize(160).save(TARGET, optimize=True)


if __name__ == "__main__":
    main()
