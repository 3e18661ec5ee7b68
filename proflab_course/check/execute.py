"""Run a student's notebook with nbclient and read what its last cell says.

Demo cells are left out, for they take long and earn nothing. It runs with the caller's rights: this
is for a student's own notebook, on a student's own machine.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from proflab.lesson import guesses
from proflab.lesson.outline import Outline
from proflab.lesson.progress import MIME, Progress, Row
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import Lesson

_CELL_SECONDS = 120  # of real time
_LAST = "from proflab.lesson import progress\n\nprogress.show()"


def progress_of(lesson: Lesson) -> Progress:
    """Return where a student is in a lesson, from running its notebook's cells."""
    path = Path(lesson.place)
    outline = Outline.read(path.parent)
    if outline is None:
        problem = f"{path.parent / 'lesson.json'} is missing"
        raise CourseError(f"{problem}: put {path.name} back into the folder that it came in")
    notebook = NotebookNode(lesson.notebook, cells=list(_without_demos(lesson, outline)))
    _execute(notebook, path)
    for output in notebook.cells[-1].outputs:
        if found := output.get("data", {}).get(MIME):
            rows = [Row(**row) for row in found["rows"]]
            guessed = list(_guesses(lesson, outline, rows))
            progress = Progress(**{**found, "rows": rows, "guesses": guessed})
            if trouble := _first_error(notebook, outline):
                progress.next = f"First of all: {trouble}."
            return progress
    raise CourseError(f"{path} cannot be checked: its last cell says nothing")


def _without_demos(lesson: Lesson, outline: Outline) -> Iterator[NotebookNode]:
    """Yield copies of the cells of code to be run; the last one says where the student is."""
    for cell in lesson.cells:
        if cell.node.cell_type != "code":
            continue
        known = outline.cell(cell.source)
        if cell.role != "demo" and not (known and known.kind == "demo"):
            yield NotebookNode(cell.node, outputs=[], execution_count=None)
    yield new_code_cell(_LAST)


def _execute(notebook: NotebookNode, path: Path) -> None:
    try:
        import ipykernel  # noqa: F401 (the kernel that nbclient starts)
        from nbclient import NotebookClient
        from nbclient.exceptions import DeadKernelError
    except ImportError as error:
        problem = f"proflab check runs your notebook, and {error.name} is not installed"
        raise CourseError(f"{problem}: pip install nbclient ipykernel") from None
    client = NotebookClient(
        notebook,
        timeout=_CELL_SECONDS,
        interrupt_on_timeout=True,
        allow_errors=True,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.resolve().parent)}},
    )
    try:
        client.execute(stderr=subprocess.DEVNULL)  # the kernel's log is nobody's concern here
    except DeadKernelError:
        raise CourseError(f"{path} cannot be checked: its Python died while it ran") from None


def _first_error(notebook: NotebookNode, outline: Outline) -> str:
    """Return a sentence on the first cell, test cells apart, at which Run All would stop."""
    for cell in notebook.cells:
        known = outline.cell(cell.source)
        for output in cell.outputs if known is None or known.kind != "test" else ():
            if output.output_type == "error" and output.ename != "NotImplementedError":
                first = next((line for line in cell.source.splitlines() if line.strip()), "")
                return f"the cell that begins with `{first}` raises {output.ename}: {output.evalue}"
    return ""


def _guesses(lesson: Lesson, outline: Outline, rows: list[Row]) -> Iterator[str]:
    """Yield a sentence on each guess that the notebook's saved outputs compare.

    A function that returns a wrong value now judges none.
    """
    found: dict[str, str] = {}
    wrong = {row.name for row in rows if row.is_wrong}
    for cell in lesson.notebook.cells:
        known = outline.cell(cell.source)
        failing = sorted(wrong.intersection(known.needs)) if known else []
        for output in cell.get("outputs", []):
            record = output.get("data", {}).get(guesses.MIME)
            if isinstance(record, dict) and record.get("guess") is not None:
                found[str(record.get("what"))] = guesses.told(record, failing)
    yield from found.values()
