"""A small lesson that goes wrong in many ways, and Run All of it, as nbclient and others do.

place = released(tmp_path)                       # the folder of the lesson's release
cells = run_all(place, solved(place, watch=…))   # executed: every cell, or CellExecutionError
shown(cells["test_area"])                        # its output, as text
"""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import nbformat
from mini_course import (
    HEADER,
    code,
    essay,
    exercise,
    given,
    graded,
    make_course,
    markdown,
)
from nbclient import NotebookClient
from nbformat import NotebookNode

from proflab_course.build.command import build

NAME = "01_going_on"
GOING_ON = "\n".join([
    HEADER,
    markdown("# 01 · Going on"),
    given(
        "import numpy as np\n\nfrom proflab import Tensor, dispatch\n"
        "from proflab.lesson import expect, expect_raises, guesses",
        "imports",
    ),
    markdown("## 1 · Areas · 10 min"),
    code("guess_field = None  # your guess: its area", tags=("guess",)),
    exercise('''
def area(width, height):
    """Return the area of a rectangle; ValueError for a negative side."""
    ### BEGIN SOLUTION
    if min(width, height) < 0:
        raise ValueError("a side is negative")
    return width * height
    ### END SOLUTION
''', "area"),
    graded('''
expect("three by four", area(3, 4), 12)
expect_raises("a negative side", lambda: area(-1, 4), ValueError)
### BEGIN HIDDEN TESTS
expect("five by six", area(5, 6), 30)
### END HIDDEN TESTS
''', "test_area", 40),
    given('guesses.compare("the field", guess_field, area(90, 120), unit="m²")', "demo_field",
          ("demo",)),
    markdown("## 2 · Ops · 25 min"),
    exercise('''
def count_ops(action):
    """Return how many ops of the engine `action()` runs."""
    ### BEGIN SOLUTION
    names = []

    def hook(call):
        names.append(call.op)
        return call()

    with dispatch.hook(hook):
        action()
    return len(names)
    ### END SOLUTION
''', "count_ops"),
    graded('''
ones = Tensor(np.ones((2, 2)))
expect("one addition", count_ops(lambda: ones + ones), 1)
''', "test_count_ops", 30),
    given("class Field:\n    def size(self):\n        return area(3, 5)", "Field"),
    given('print(f"{count_ops(lambda: Field().size()):,} ops")', "demo_ops", ("demo",)),
    exercise('''
def squares(sides):
    """Return the areas of squares, as an array."""
    ### BEGIN SOLUTION
    return np.array([area(side, side) for side in sides])
    ### END SOLUTION
''', "squares"),
    graded('expect("of two", squares([1, 2]), [1, 4])', "test_squares", 30),
    graded('expect("of none", squares([]).size, 0)', "test_squares_2", 0),
    given('print("the largest:", squares([4, 5]).max())', "demo_squares", ("demo",)),
    code('''
# You can count ops
# of anything.
(
    f'{count_ops(lambda: Field().size()):,} ops '
    f'in {squares([3]).sum()} m²'
)
''', tags=("milestone",)),
    markdown("## Reflect · 15 min"),
    essay("essay", "Ten for anything said."),
])  # fmt: skip

SOLUTIONS = {
    "area": """
        def area(width, height):
            if min(width, height) < 0:
                raise ValueError("a side is negative")
            return width * height
    """,
    "count_ops": """
        def count_ops(action):
            names = []

            def hook(call):
                names.append(call.op)
                return call()

            with dispatch.hook(hook):
                action()
            return len(names)
    """,
    "squares": """
        def squares(sides):
            return np.array([area(side, side) for side in sides])
    """,
}


def released(root: Path, lessons: dict[str, str] | None = None) -> Path:
    """Build a course, by default of this lesson alone; return the folder of its release."""
    course = make_course(root, lessons or {NAME: GOING_ON})
    build(course, audit="static")
    return course.root / "release"


def read(folder: Path) -> NotebookNode:
    """Return the notebook of the lesson that a folder of release/ is of."""
    return nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)


def filled(folder: Path, **cells: str) -> NotebookNode:
    """Return a lesson's notebook with the text of these cells replaced."""
    import textwrap

    notebook = read(folder)
    for cell in notebook.cells:
        if cell.id in cells:
            cell.source = textwrap.dedent(cells[cell.id]).strip()
    return notebook


def run_all(folder: Path, notebook: NotebookNode, **environment: str) -> dict[str, NotebookNode]:
    """Run a notebook in its folder, as Run All does; return its cells by id.

    Raises CellExecutionError where a cell stops it.
    """
    quiet = {"PROFLAB_DEMO": "small", **environment}
    with mock.patch.dict(os.environ, quiet):
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": folder}}).execute()
    return {cell.id: cell for cell in notebook.cells}


def shown(cell: NotebookNode) -> str:
    """Return what a cell shows: its text, or the lines of its error."""
    parts = []
    for output in cell.outputs:
        data = output.get("data", {}).get("text/plain", "")
        parts.append(output.get("text") or data or "\n".join(output.get("traceback", [])))
    return "\n".join(part.strip() for part in parts)


def kinds(cells: dict[str, NotebookNode]) -> dict[str, str]:
    """Return the exception's name in each cell that shows one."""
    return {
        name: output.ename
        for name, cell in cells.items()
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    }
