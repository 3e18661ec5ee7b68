"""The pages of the lessons: the students' notebooks, below each demo cell what it will show.

What a demo cell shows comes from a run of the solved notebook. Nothing else of that notebook gets
here, and a run is kept until the lesson or the engine changes.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from functools import lru_cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from PIL import Image

from proflab_course.build.map_cell import MAP_TAG
from proflab_course.build.stamp import LAST_CELL
from proflab_course.build.trial import Trial
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import Cell, read_notebook
from proflab_course.course.sections import heading_lines
from proflab_course.grading.limits import Limits
from proflab_course.grading.run.subprocess_runner import SubprocessRunner

_STYLE = re.compile(r"<style>[^<]*</style>")
_DRAWN = re.compile(r'src="data:image/png;base64,([^"]+)"')
# Minutes and points behind a section's title, which site.css makes small and grey.
_MEASURE = re.compile(r"^(##+ .*?)( · \d+ (?:min|points?)\b.*)$", re.MULTILINE)
_TABLE = re.compile(r"^\|.*(?:\n\|.*)*", re.MULTILINE)  # site.css: how it stands on a phone
_LINK_TO_CELL = re.compile(r"\]\(#cell-id=([\w-]+)\)")
_COLOURS = 128  # of a picture: a plot has few, and its file is a third as large
_SIZE = 'import os\n\nos.environ["PROFLAB_DEMO"] = "{}"'
_TELLS = "race.table("  # prints the lines of a program, here of the lesson's solution
_LIMITS = Limits(cell_seconds=300, notebook_seconds=1_200, memory=8 * 2**30, idle_seconds=60)


def lesson_page(course: Course, lesson: str, shown: list[list[dict]], files: Path) -> NotebookNode:
    """Return the notebook of a lesson's page; pictures that demo cells draw go to `files`.

    shown: the outputs of each demo cell, in their order; empty where they were not run
    """
    notebook = read_notebook(course.release(lesson), lesson).notebook
    cells = [Cell(node, "") for node in notebook.cells]
    kept = [cell for cell in cells if cell.role != "setup" and cell.name != LAST_CELL]
    outputs = iter(shown)
    headings = {cell.node.id: next((h for _, h in heading_lines(cell)), "") for cell in kept}
    for cell in kept:
        if MAP_TAG in cell.tags:
            source = _LINK_TO_CELL.sub(
                lambda link: f"](#{_anchor(headings[link[1]])})", cell.source
            )
            cell.node.source = _TABLE.sub(r":::{container} rows\n\g<0>\n:::", source)
        if cell.node.cell_type == "markdown":
            cell.node.source = _MEASURE.sub(r"\1[\2]{.measure}", cell.node.source)
        cell.node.metadata["tags"] = _tags(cell)
        if cell.node.cell_type == "code":
            of_demo = next(outputs, []) if cell.role == "demo" else []
            of_demo = [] if _TELLS in cell.source else of_demo
            cell.node.outputs = [
                nbformat.from_dict(_to_page(output, f"{cell.node.id}-{number}", files))
                for number, output in enumerate(of_demo, start=1)
            ]
    notebook.cells = [cell.node for cell in kept]
    return notebook


def demo_outputs(course: Course, lesson: str, cache: Path, size: str) -> list[list[dict]]:
    """Return the outputs of each demo cell of a lesson, in order, from the solved notebook's run.

    size: "full", as students run it, or "small", as the course's tests do
    """
    kept = cache / f"{lesson}.{size}.{_digest(course, lesson)}.json"
    if not kept.exists():
        source = read_notebook(course.source(lesson), lesson)
        release = read_notebook(course.release(lesson), lesson).notebook
        release.cells.insert(0, new_code_cell(_SIZE.format(size)))
        trial = Trial(source, release, course.release(lesson).parent)
        trial.released.execute(SubprocessRunner(_LIMITS))
        outputs = json.dumps(_demo_cells(lesson, trial))
        cache.mkdir(parents=True, exist_ok=True)
        for former in cache.glob(f"{lesson}.{size}.*.json"):
            former.unlink()
        kept.write_text(outputs, encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def _demo_cells(lesson: str, trial: Trial) -> list[list[dict]]:
    graded = trial.released.conclude()
    if graded.errors:
        _, kind, message = graded.errors[0]
        raise CourseError(f"{lesson}: the solved notebook raises {kind}: {message}")
    cells = [Cell(node, "") for node in trial.executed().cells]
    return [
        [shown for output in cell.node.outputs if (shown := _shown(output))]
        for cell in cells
        if cell.role == "demo" and cell.name != LAST_CELL
    ]


def _shown(output: NotebookNode) -> dict | None:
    """Return what a reader sees of an output: text that was printed, else HTML, else text."""
    if output.output_type == "stream":
        kept = {"output_type": "stream", "name": "stdout", "text": output.text}
        return kept if output.name == "stdout" else None
    kind = next((kind for kind in ("text/html", "text/plain") if kind in output.data), None)
    shown = {"output_type": "display_data", "metadata": {}}
    # The site has a style of its own for pictures in the dark.
    return {**shown, "data": {kind: _STYLE.sub("", "".join(output.data[kind]))}} if kind else None


def _to_page(output: dict, name: str, files: Path) -> dict:
    """Return an output whose pictures are files beside the page."""
    if "text/html" not in output.get("data", {}):
        return output

    def store(found: re.Match) -> str:
        files.mkdir(parents=True, exist_ok=True)
        (files / f"{name}.png").write_bytes(_smaller(found[1]))
        return f'loading="lazy" src="{name}.png"'

    return {**output, "data": {"text/html": _DRAWN.sub(store, output["data"]["text/html"])}}


def small_picture(html: str) -> str:
    """Return what a demo cell has drawn with its pictures inside, as small as on a page."""
    return _DRAWN.sub(
        lambda found: (
            f'src="data:image/png;base64,{base64.b64encode(_smaller(found[1])).decode()}"'
        ),
        html,
    )


@lru_cache(maxsize=64)  # a lesson's page and its slides show the same pictures
def _smaller(png: str) -> bytes:
    """Return a picture, in base 64, as a file of few colours."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    file = io.BytesIO()
    picture.quantize(_COLOURS).save(file, "PNG", optimize=True)
    return file.getvalue()


def _anchor(heading: str) -> str:
    """Return the name by which MyST knows a heading.

    >>> _anchor("1 · A `matrix` · 10 min")
    '1--a-matrix--10-min'
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _tags(cell: Cell) -> list[str]:
    """Return the tags by which myst-nb folds a cell's outputs and site.css knows its kind."""
    return [cell.role, *(tag for tag in cell.tags if tag == "guess"), "hide-output"]


def _digest(course: Course, lesson: str) -> str:
    """Return a digest of all that a run of the lesson depends on, but the machine."""
    paths = [course.source(lesson), *course.release(lesson).parent.iterdir()]
    paths += (course.root / "proflab").rglob("*.py")
    digest = hashlib.sha256()
    for path in sorted(path for path in paths if path.is_file()):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
