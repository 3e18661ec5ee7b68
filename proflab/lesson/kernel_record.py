"""Keep a record of what a notebook's cells did, in its kernel."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proflab.lesson.outline import Exercise, LessonCell, Outline, digest

ATTRIBUTE = "_proflab_record"  # of IPython's shell
_MOST_NOTEBOOK = 50 * 1024**2  # bytes of a notebook whose outputs are looked at


@dataclass
class TestRun:
    """Hold a test cell's end, with the sentence that it showed.

    state: "passed", "failed", "not written", or "waits" for another exercise that is not written.
    share: of a cell of races that passed, the share of its points.
    only_refusals: True where all that failed was an exception that was expected and not raised.
    """

    __test__ = False

    state: str
    sentence: str = ""
    share: float | None = None
    only_refusals: bool = False

    @property
    def is_wrong(self) -> bool:
        """Return True if what rests on the exercise may be wrong for it: refusals never are."""
        return self.state != "passed" and not self.only_refusals


@dataclass
class KernelRecord:
    """Cells and tests that have been run in this kernel.

    cells: the text of each cell that ran without an error, and the same as plain Python, in the
    order of their last runs; tests: how each test cell ended, since its exercise was last run.
    guesses, tried, saved_guesses: what first_guess.py knows of guesses, by their names.
    """

    outline: Outline | None = None
    folder: Path = field(default_factory=Path.cwd)
    cells: dict[str, str] = field(default_factory=dict)
    tests: dict[str, TestRun] = field(default_factory=dict)
    current: LessonCell | None = None
    guesses: dict[str, Any] = field(default_factory=dict)
    tried: dict[str, list] = field(default_factory=dict)
    saved_guesses: dict[str, Any] | None = None

    def note_cell(self, text: str, code: str) -> None:
        """Note that a cell ran; `code` is its text as Python."""
        if self.outline is None:
            return
        self.cells.pop(text, None)
        self.cells[text] = code
        if self.outline.cell(text) is not None:
            return
        for name in _defined(code):
            exercise = self.outline.exercise(name)
            if exercise is not None:
                for test in exercise.tests:  # it ran on what was there before
                    self.tests.pop(test, None)

    def codes(self) -> list[str]:
        """Return the cells as Python: the lesson's own as they are, so that they are known."""
        if self.outline is None:
            return []
        locked = self.outline.cell
        return [text if locked(text) else code for text, code in self.cells.items()]

    def own_codes(self) -> list[str]:
        """Return the student's own cells that were run, those above the lesson's imports, too."""
        from IPython import get_ipython

        if self.outline is None:
            return []
        # What ran before proflab.lesson was imported, no hook has noted.
        history = getattr(get_ipython(), "history_manager", None)
        texts = dict.fromkeys([*(history.input_hist_raw if history else ()), *self.cells])
        return [self.cells.get(text, text) for text in texts if not self.outline.cell(text)]

    def state(self, exercise: Exercise) -> TestRun:
        """Return how an exercise stands: as its worst test cell does, "not run" before all ran."""
        runs = [self.tests.get(test) for test in exercise.tests]
        for state in ("not written", "failed", "waits"):
            for run in filter(None, runs):
                if run.state == state:
                    return run
        return TestRun("passed" if runs and all(runs) else "not run")

    def skipped_above(self, cell: LessonCell | None) -> bool:
        """Return True if given cells above one of the lesson's were not run in this kernel."""
        if self.outline is None or cell is None:
            return False
        ran = {digest(text) for text in self.cells}
        return not ran.issuperset(self.outline.given_before(cell))

    def is_wrong(self, exercise: Exercise) -> bool:
        """Return True if a test cell has found that an exercise is not written, or a wrong value.

        An exercise that only accepts what it ought to refuse is right wherever a demo cell uses it.
        """
        return any(run.is_wrong for test in exercise.tests if (run := self.tests.get(test)))

    def failing(self, cell: LessonCell | None) -> Iterator[Exercise]:
        """Yield the exercises that a cell needs and that are known to be wrong."""
        if self.outline is None or cell is None:
            return
        for name in cell.needs:
            exercise = self.outline.exercises.get(name)
            own = exercise is not None and cell.name in exercise.tests
            if exercise and not own and self.is_wrong(exercise):
                yield exercise


def _defined(text: str) -> Iterator[str]:
    """Yield the functions, classes and methods that a cell defines."""
    kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
    try:
        nodes = [node for node in ast.parse(text).body if isinstance(node, kinds)]
    except (SyntaxError, ValueError):
        return
    for node in nodes:
        yield node.name
        inner = node.body if isinstance(node, ast.ClassDef) else []
        yield from (f"{node.name}.{each.name}" for each in inner if isinstance(each, kinds))


def saved_output_data(folder: Path, mime: str) -> Iterator[dict]:
    """Yield what the outputs of a folder's notebooks hold of a MIME type, as they are saved."""
    for path in sorted(folder.glob("*.ipynb")):
        with suppress(OSError, ValueError):
            if path.stat().st_size <= _MOST_NOTEBOOK:
                notebook = json.loads(path.read_text(encoding="utf-8"))
                cells = notebook.get("cells") if isinstance(notebook, dict) else []
                yield from output_data(cells, mime)


def output_data(cells: Any, mime: str, most: int | None = None) -> Iterator[dict]:
    """Yield what cells, as JSON has them, show of a MIME type; anything odd is passed over.

    most: how many outputs of a cell are looked at; all, if not said.
    """
    for cell in cells if isinstance(cells, list) else []:
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        for output in outputs[:most] if isinstance(outputs, list) else []:
            data = output.get("data") if isinstance(output, dict) else None
            found = data.get(mime) if isinstance(data, dict) else None
            if isinstance(found, dict):
                yield found


def current_record() -> KernelRecord | None:
    """Return this kernel's record; None outside of a notebook's kernel."""
    return getattr(kernel_shell(), ATTRIBUTE, None)


def kernel_shell() -> Any:
    """Return the IPython shell of a Jupyter kernel; None anywhere else."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None
