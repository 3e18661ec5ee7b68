"""Stamp what the build adds into a lesson: links, points, the map, Colab's and the last cell."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

import nbformat
from nbformat import NotebookNode

from proflab.checks.expect import RACES
from proflab_course.build.measures import filled_lines
from proflab_course.course.address import Address
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import COLAB_SETUP, Lesson, nbgrader_marks, set_cell_ids
from proflab_course.course.sections import stamp_headings

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

# Students keep copies of it: a tag's archive has to go on having proflab/ and release/LESSON/.
_COLAB_CELL = Template("""\
# @title Set-up on Google Colab (does nothing elsewhere)
import os
import sys

if "google.colab" in sys.modules and os.path.basename(os.getcwd()) != "$lesson":
    import io
    import urllib.request
    import zipfile

    address = "$archive"
    try:
        with urllib.request.urlopen(address, timeout=60) as reply:
            archive = zipfile.ZipFile(io.BytesIO(reply.read()))
        top = archive.namelist()[0].split("/")[0]
        wanted = (f"{top}/proflab/", f"{top}/release/$lesson/")
        archive.extractall(members=[n for n in archive.namelist() if n.startswith(wanted)])
        os.chdir(f"{top}/release/$lesson")
    except Exception as error:
        problem = f"The lesson's files could not be fetched from {address} ({error})"
        raise SystemExit(f"{problem}: check the network and run this cell again.") from None
    sys.path.insert(0, os.path.abspath("../.."))
    sys.path.append(os.getcwd())
""")

# grading/submissions/read_guesses.py finds both answers by these names, without running the cell.
_ASKED_MINUTES = """\
# How many minutes did this lesson take you, without breaks? It is not graded: the course shows a
# class's median, and corrects its estimates by it.
"""
_ASKED_ALIAS = """

# The board of your class shows the lowest costs of this lesson's races, without names. Beside yours
# it can show a name that you choose.
race_alias = None  # such as "Ada"\
"""
OPEN_LINES = 8  # of a given cell that stays open, blank ones apart
# A grade_id in all released notebooks; hand-ins of any age are matched by it.
LAST_CELL = "where_am_i"
_LAST_CELL = """\
# Where am I? Each exercise, the points so far, and what comes next.
from proflab.lesson import progress

progress.show()\
"""


def put_links(lesson: Lesson, facts: Facts) -> Lesson:
    """Put links under a lesson's title, and below its first cell what the class has decided on AI.

    Raises CourseError for a lesson that does not begin with its title.
    """
    cells = lesson.notebook.cells
    if not cells or cells[0].cell_type != "markdown" or not cells[0].source.startswith("# "):
        raise CourseError(f"{lesson.place} must begin with a markdown cell: `# ` and the title")
    title, _, rest = cells[0].source.partition("\n")
    links = facts.address.links(lesson.name) if facts.is_published(lesson.name) else ""
    policy = facts.policy.paragraph if facts.policy else ""
    words = f"A word is new to you? Look into the [glossary]({facts.address.glossary})."
    cells[0].source = "\n\n".join(filter(None, [title, links, rest.strip(), policy, words]))
    return lesson


def put_points(lesson: Lesson, facts: Facts) -> Lesson:
    """Write each section's points into its heading."""
    stamp_headings(lesson)
    return lesson


def set_up_colab(lesson: Lesson, facts: Facts) -> Lesson:
    """Put the cell that sets up Colab below the map, where the address has this lesson.

    Elsewhere it would open another one.
    """
    if facts.is_published(lesson.name):
        lesson.notebook.cells.insert(2, _colab_cell(lesson.name, facts.address))
    return lesson


def fold_code(lesson: Lesson, facts: Facts) -> Lesson:
    """Fold a lesson's demo cells, and its given cells of more lines than OPEN_LINES.

    JupyterLab shows a folded cell's first line and its outputs; Colab shows a form.
    """
    for cell in lesson.named("demo", "given"):
        if cell.role == "demo" or len(filled_lines(cell.source)) > OPEN_LINES:
            metadata = cell.node.metadata
            metadata["jupyter"] = {**metadata.get("jupyter", {}), "source_hidden": True}
            metadata["cellView"] = "form"
    return lesson


def put_last_cells(lesson: Lesson, facts: Facts) -> Lesson:
    """Put two cells at a lesson's end: one asks for minutes, one says where the student is."""
    races = any(call in cell.source for cell in lesson.named("test") for call in RACES)
    lesson.notebook.cells += [_minutes_cell(lesson.name, races), _last_cell()]
    set_cell_ids(lesson.notebook)
    return lesson


def _minutes_cell(lesson: str, races: bool) -> NotebookNode:
    """Return the cell that asks how long the lesson took, and for an alias in its races.

    `proflab report` reads both.
    """
    source = f"{_ASKED_MINUTES}minutes_{lesson[:2]} = None  # such as 150"
    return nbformat.v4.new_code_cell(source + (_ASKED_ALIAS if races else ""))


def _last_cell() -> NotebookNode:
    metadata = {"tags": ["demo"], "nbgrader": nbgrader_marks(LAST_CELL, locked=True)}
    return nbformat.v4.new_code_cell(_LAST_CELL, metadata=metadata)


def _colab_cell(lesson: str, address: Address) -> NotebookNode:
    source = _COLAB_CELL.substitute(lesson=lesson, archive=address.archive).rstrip("\n")
    nbgrader = nbgrader_marks(COLAB_SETUP, locked=True)
    metadata = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": ["setup"]}
    return nbformat.v4.new_code_cell(source, metadata={**metadata, "nbgrader": nbgrader})
