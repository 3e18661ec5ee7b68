"""Measure the lessons in a browser: what runs there, how soon, and what a visitor's page asks for.

    PROFLAB_PYODIDE=FOLDER python benchmarks/bench_browser.py           # all of it, ten minutes
    PROFLAB_PYODIDE=FOLDER python benchmarks/bench_browser.py 01 05     # these lessons alone
    PROFLAB_PYODIDE=FOLDER python benchmarks/bench_browser.py --tick 1  # with a clock of 1 ms

FOLDER is a Pyodide distribution; Chromium and chromedriver are needed, too. The pages are static
files, served from this machine. First each solved lesson is run by Run All in JupyterLab: how many
of its code cells ran, said in a sentence why they cannot, or failed, and how many cases hold,
hidden ones among them. Demos have the size that they take in a browser. Then a browser that was
never there opens lesson 01: seconds until it can be read and until its first cell has run,
megabytes sent, uncompressed, and requests to other servers. Last, lesson 01 is solved with keys and
clicks, reloaded, downloaded and graded in the sandbox.

Chromium's clocks have steps of 0.1 ms in such a page. Firefox's and Safari's have 1 ms: `--tick`
makes Chromium's as coarse.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from record import recording

from proflab.lesson.outline import LessonCell, Outline, digest

if TYPE_CHECKING:
    from lite_page import LitePage

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / part) for part in ("tests", "tests/helpers")]

VARIABLE = "PROFLAB_PYODIDE"
_ROW = "{:<20}{:>6}{:>6}{:>14}{:>8}{:>7}{:>6}{:>6}"
FIRST, TYPED = "01_parameters", "linear_parameters"


def main() -> None:
    """Print the table of the lessons, then what a first visit costs, then the solved lesson."""
    pyodide = Path(os.environ.get(VARIABLE, ""))
    if not os.environ.get(VARIABLE) or not (pyodide / "pyodide.js").is_file():
        print(f"bench_browser needs {VARIABLE}, the folder of a Pyodide distribution: skipped")
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("lessons", nargs="*", help="numbers of lessons; all, if none is named")
    parser.add_argument("--tick", type=float, metavar="MS", help="coarsen the clock to such steps")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proflab-") as place:
        work = Path(place)
        run_lessons(work, pyodide, options.lessons, options.tick)
        if not options.lessons:
            visit(work, pyodide)


# ── every solved lesson ──────────────────────────────────────────────────────────────────────


def run_lessons(work: Path, pyodide: Path, numbers: list[str], tick: float | None) -> None:
    """Run each solved lesson in a tab of its own, and print what its cells did."""
    from lite_page import LitePage
    from site_pages import served

    site = work / "solved"
    write_solved(work, site, pyodide, numbers, tick)
    lessons = sorted(path.name for path in (site / "files").iterdir())
    print(
        _ROW.format("solved lesson", "cells", "ran", "said why not", "failed", "cases", "hold", "s")
    )
    rows, notes = [], []
    for lesson in lessons:
        with served(site) as address, LitePage.opened(address, folder(work)) as page:
            page.open(lesson)
            began = time.monotonic()
            page.run_all()
            seconds = round(time.monotonic() - began)
            cells = [cell for cell in page.cells() if cell["type"] == "code"]
        ends = sorted_by_end(cells, notes, lesson)
        rows.append([len(cells), *map(len, ends), cases_in(cells), cases_in(ends[0]), seconds])
        print(_ROW.format(lesson, *rows[-1]), flush=True)
    print(_ROW.format("all", *map(sum, zip(*rows, strict=True))))
    failed = sum(row[3] for row in rows)
    print(*notes, sep="\n")
    if failed:
        sys.exit(f"{failed} cells failed")


def write_solved(
    work: Path, site: Path, pyodide: Path, numbers: list[str], tick: float | None
) -> None:
    """Write JupyterLite with all lessons as they are written, solutions and hidden cases too."""
    from lite_page import write_site

    from proflab_course.course.layout import Course

    course, bare = work / "course", work / "bare"
    command = [sys.executable, ROOT / ".ci" / "bare", "--write", bare, *numbers]
    subprocess.run(command, check=True)
    for name in ("proflab", "LICENSE", "pyproject.toml"):
        course.mkdir(exist_ok=True)
        (course / name).symlink_to(ROOT / name)
    for lesson in sorted(bare.iterdir()):
        target = course / "release" / lesson.name
        shutil.copytree(lesson, target, ignore=shutil.ignore_patterns("cells.json"))
        cells = json.loads((lesson / "cells.json").read_text("utf-8"))
        first = [{"name": "clock", "code": COARSER.format(tick)}] if tick else []
        notebook = as_notebook([*first, *cells])
        nbformat.write(notebook, target / f"{lesson.name}.ipynb")
        (target / "lesson.json").write_text(outline_of(lesson.name, cells).text(), "utf-8")
    made = Course(course)
    write_site(made, made.lessons("release"), site, pyodide)


COARSER = """\
from pyodide.code import run_js

run_js('''{{
    const fine = performance.now.bind(performance);
    performance.now = () => Math.floor(fine() / {0}) * {0};
}}''');
"""


def outline_of(lesson: str, cells: list[dict]) -> Outline:
    """Return what the lesson's own tools know of its cells: which ones test, and which show."""
    kinds = {"test": "test", "demo": "demo"}
    known = {}
    for cell in cells:
        kind = kinds.get(cell["name"].partition("_")[0], "setup")
        known[digest(cell["code"])] = LessonCell(cell["name"], kind)
    return Outline(lesson, {}, known)


def as_notebook(cells: list[dict]) -> nbformat.NotebookNode:
    """Return a notebook of these code cells."""
    language = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": language})
    notebook.metadata.language_info = {"name": "python"}
    notebook.cells = [nbformat.v4.new_markdown_cell("# A solved lesson", id="title")]
    for number, cell in enumerate(cells):
        marks = {"nbgrader": {"grade_id": cell["name"]}}
        code = nbformat.v4.new_code_cell(cell["code"], id=f"cell-{number}", metadata=marks)
        notebook.cells.append(code)
    return notebook


def sorted_by_end(cells: list[dict], notes: list[str], lesson: str) -> tuple[list, list, list]:
    """Return the cells that ran, that said why they cannot, and that failed; note the last two."""
    from lite_page import printed

    ran, said, failed = [], [], []
    for cell in cells:
        errors = [o for o in cell["outputs"] if o["output_type"] == "error"]
        sentence = printed(cell, "stderr").strip()
        if errors or cell["count"] is None:
            failed.append(cell)
            told = "\n".join(errors[0]["traceback"]) if errors else "it was not run"
            notes.append(f"{lesson}, {cell['name']} failed: {told}")
        elif sentence:
            said.append(cell)
            notes.append(f"{lesson}, {cell['name']}: {sentence}")
        else:
            ran.append(cell)
    return ran, said, failed


def cases_in(cells: list[dict]) -> int:
    """Return how many cases test cells have, hidden ones among them: of one that ran, all hold."""
    from proflab_course.cases.reader import split

    tests = [cell for cell in cells if cell["name"].startswith("test_")]
    return sum(len(split(cell["source"], cell["name"]).answers) for cell in tests)


# ── a visitor ────────────────────────────────────────────────────────────────────────────────


def visit(work: Path, pyodide: Path) -> None:
    """Open the first lesson in a browser that was never there; solve it, and have it graded."""
    from lite_page import LitePage, write_site
    from site_pages import served

    from proflab_course.course.layout import Course

    site, sent = work / "site", []
    course = Course(ROOT)
    write_site(course, course.lessons("release"), site, pyodide)
    with served(site, sent) as address, LitePage.opened(address, folder(work)) as page:
        print(f"\n{FIRST}{'readable, s':>20}{'first cell, s':>15}{'MB':>8}{'files':>7}")
        for name in ("a first visit", "another one"):
            sent.clear()
            began = time.monotonic()
            readable = page.open(FIRST)
            page.run("imports")
            ran, size = time.monotonic() - began, sum(size for _, size in sent) / 1e6
            print(f"{name:<13}{readable:>20.1f}{ran:>15.1f}{size:>8.1f}{len(sent):>7}", flush=True)
            page.browser.get("about:blank")
        solve(page, work)
        elsewhere = page.asked_elsewhere("minutes_01")
    print(f"requests to other servers: {len(elsewhere)}", *elsewhere)
    if elsewhere:
        sys.exit("another server was asked")


def solve(page: LitePage, work: Path) -> None:
    """Solve the lesson with keys and clicks, reload it, download it, and grade it."""
    from grading_course import copy_course, grade, hand_in
    from lite_page import solutions

    right = solutions(FIRST)
    page.open(FIRST)
    page.fill_in(right, TYPED)
    page.run_all()
    page.save()
    written = [cell["source"] for cell in page.cells()]
    page.reload(FIRST)
    kept = written == [cell["source"] for cell in page.cells()]
    path = page.download(f"{FIRST}.ipynb")
    graded = copy_course(folder(work), [])
    hand_in(graded, "visitor", path.read_bytes())
    row = grade(graded)["visitor"]
    print(f"\n{TYPED} typed key by key, {len(right) - 1} cells pasted, all run and saved")
    print(f"after a reload the work is {'there' if kept else 'not there'}")
    print(f"downloaded by the menu as {path.name}: {row.score:g} of {row.max_score:g} points")
    if not kept or row.score < 100:
        sys.exit("the solved lesson is not what it should be")


def folder(work: Path) -> Path:
    """Return a new, empty folder."""
    return Path(tempfile.mkdtemp(dir=work))


if __name__ == "__main__":
    with recording(__file__, "In the browser: what runs there, and how soon"):
        main()
