"""Let Run All go to a notebook's end, and keep a record of what its cells did.

Importing `proflab.lesson` in a notebook's kernel installs this. An exercise that is not written or
fails its checks still shows an error in the cell that needs it, so that every tool that reads the
notebook sees one; but the kernel replies that the cell went well, and so the next one is run. What
is wrong in a student's own cell stops as it always does. In the grader nothing is installed: there
is no kernel.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proflab.checks import expect
from proflab.checks.expect import CaseFailed
from proflab.lesson import mine
from proflab.lesson.errors import not_written, tell, unwritten
from proflab.lesson.outline import Exercise, LessonCell, Outline, digest

_ATTRIBUTE = "_proflab_record"


@dataclass
class TestRun:
    """A test cell's end, with the sentence that it showed.

    state: "passed", "failed", "not written", or "waits" for another exercise that is not written.
    share: of a cell of races that passed, the share of its points.
    """

    __test__ = False

    state: str
    sentence: str = ""
    share: float | None = None


@dataclass
class Record:
    """Cells and tests that have been run in this kernel.

    cells: the text of each cell that ran without an error, and the same as plain Python, in the
    order of their last runs; tests: how each test cell ended, since its exercise was last run.
    guesses, tried, saved_guesses: what guess_lock.py knows of guesses, by their names.
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
        locked = self.outline.cell
        return [text if locked(text) else code for text, code in self.cells.items()]

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

    def failing(self, cell: LessonCell | None) -> Iterator[Exercise]:
        """Yield the exercises that a cell needs and whose tests are known not to pass."""
        if self.outline is None or cell is None:
            return
        for name in cell.needs:
            exercise = self.outline.exercises.get(name)
            own = exercise is not None and cell.name in exercise.tests
            if exercise and not own and self.state(exercise).state not in ("passed", "not run"):
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


def current_record() -> Record | None:
    """Return this kernel's record; None outside of a notebook's kernel."""
    return getattr(kernel_shell(), _ATTRIBUTE, None)


def kernel_shell() -> Any:
    """Return the IPython shell of a Jupyter kernel; None anywhere else."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


def install() -> None:
    """Install the hooks in this kernel; do nothing where there is none, or a second time."""
    shell = kernel_shell()
    if shell is None or hasattr(shell, _ATTRIBUTE):
        return
    record = Record(Outline.read(Path.cwd()))
    setattr(shell, _ATTRIBUTE, record)
    expect.running_cell = lambda: record.current.name if record.current else ""
    from proflab.lesson.guess_lock import GuessCells  # it reads the record

    shell.ast_transformers.append(GuessCells())
    hooks = _Hooks(shell, record)
    expect.race_points = hooks.race_points
    shell.events.register("pre_run_cell", hooks.before_cell)
    shell.events.register("post_run_cell", hooks.after_cell)
    hooks.show_normally = shell.InteractiveTB.structured_traceback
    shell.InteractiveTB.structured_traceback = hooks.show


class _Hooks:
    """Hooks that IPython calls: before a cell, when it shows an exception, after the cell."""

    def __init__(self, shell: Any, record: Record) -> None:
        self.shell, self.record = shell, record
        self.show_normally: Any = None
        self.unwritten: tuple[BaseException | None, str] = (None, "")
        self.text = ""

    def before_cell(self, info: Any) -> None:
        outline = self.record.outline
        self.text = info.raw_cell or ""
        self.record.current = outline.cell(self.text) if outline else None
        if self.record.current is not None:
            expect.shares.pop(self.record.current.name, None)

    def race_points(self) -> float:
        """Return the running test cell's points, in equal parts for its races."""
        outline, cell = self.record.outline, self.record.current
        exercises = outline.exercises.values() if outline and cell else ()
        points = next((e.tests[cell.name] for e in exercises if cell.name in e.tests), 0.0)
        return points / max(1, sum(self.text.count(call) for call in expect.RACES))

    def show(self, etype: type, evalue: BaseException, tb: Any, *args: Any, **kwargs: Any):
        record = self.record
        try:
            names, cell = self.shell.user_ns, record.current
            earlier = mine.told(self.text, names) if cell is not None else ""
            skipped = record.skipped_above(cell)
            failing = record.failing(cell)
            lines = tell(evalue, names, record.outline, cell, failing, earlier, skipped)
            if function := unwritten(evalue, names):
                self.unwritten = evalue, function
                evalue.args = (not_written(function, record.outline),)
        except Exception:  # whatever this may be, the student's own error is to be shown
            lines = None
        if lines is None:
            return self.show_normally(etype, evalue, tb, *args, **kwargs)
        return lines

    def after_cell(self, result: Any) -> None:
        info = result.info
        if info.silent or info.raw_cell is None:
            return
        error = result.error_before_exec or result.error_in_exec
        if error is None:
            self.record.note_cell(info.raw_cell, self.shell.transform_cell(info.raw_cell))
        cell = self.record.current
        stub = self.unwritten[1] if error is not None and error is self.unwritten[0] else ""
        if cell is not None and cell.kind == "test":
            ended = _ended(error, stub, self.record.outline, cell)
            if (shares := expect.shares.get(cell.name)) and ended.state == "passed":
                ended.share = sum(shares.values()) / len(shares)
            self.record.tests[cell.name] = ended
        locked = cell is not None and cell.rests_on_exercises
        if stub or isinstance(error, CaseFailed) or (locked and isinstance(error, Exception)):
            result.error_before_exec = result.error_in_exec = None


def _ended(error: BaseException | None, stub: str, outline: Outline, cell: LessonCell) -> TestRun:
    if error is None:
        return TestRun("passed")
    if stub:
        missing = outline.exercise(stub)
        own = missing is None or cell.name in missing.tests
        return TestRun("not written" if own else "waits", not_written(stub, outline))
    text = str(error) if isinstance(error, CaseFailed) else f"{type(error).__name__}: {error}"
    return TestRun("failed", next(iter(text.splitlines()), ""))
