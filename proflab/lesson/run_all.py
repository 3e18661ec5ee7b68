"""Let Run All go to a notebook's end, and keep a record of what its cells did.

Importing `proflab.lesson` in a notebook's kernel installs this. An exercise that is not written or
fails its checks still shows an error in the cell that needs it, so that every tool that reads the
notebook sees one; but the kernel replies that the cell went well, and so the next one is run. What
is wrong in a student's own cell stops as it always does. A cell that needs what this Python does
not have (proflab/lesson/machine.py) shows a sentence, and the next one is run, too. In the grader
nothing is installed: there is no kernel.
"""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

from proflab.checks import expect
from proflab.checks.expect import CaseFailed
from proflab.lesson import mine
from proflab.lesson.errors import label_of_race, not_written, tell, unwritten
from proflab.lesson.first_guess import GuessCells
from proflab.lesson.kernel_record import ATTRIBUTE, KernelRecord, TestRun, kernel_shell
from proflab.lesson.machine import NotHere
from proflab.lesson.outline import LessonCell, Outline


def install() -> None:
    """Install the hooks in this kernel; do nothing where there is none, or a second time."""
    shell = kernel_shell()
    if shell is None or hasattr(shell, ATTRIBUTE):
        return
    record = KernelRecord(Outline.read(Path.cwd()))
    setattr(shell, ATTRIBUTE, record)
    expect.running_cell = lambda: record.current.name if record.current else ""
    shell.ast_transformers.append(GuessCells())
    hooks = _Hooks(shell, record)
    expect.race_points = hooks.race_points
    shell.events.register("pre_run_cell", hooks.before_cell)
    shell.events.register("post_run_cell", hooks.after_cell)
    hooks.show_normally = shell.InteractiveTB.structured_traceback
    shell.InteractiveTB.structured_traceback = hooks.show


class _Hooks:
    """Hooks that IPython calls: before a cell, when it shows an exception, after the cell."""

    def __init__(self, shell: Any, record: KernelRecord) -> None:
        self.shell, self.record = shell, record
        self.show_normally: Any = None
        # What `show` finds out, with its exception: `after_cell` runs later, perhaps after another.
        self.unwritten: tuple[BaseException | None, str] = (None, "")
        self.race: tuple[BaseException | None, str] = (None, "")
        self.text = ""
        self.ask: Any = builtins.input

    def before_cell(self, info: Any) -> None:
        outline = self.record.outline
        self.text = info.raw_cell or ""
        cell = self.record.current = outline.cell(self.text) if outline else None
        self.ask = builtins.input
        if cell is not None:
            expect.shares.pop(cell.name, None)
            builtins.input = _nobody_answers

    def race_points(self) -> float:
        """Return the running test cell's points, in equal parts for its races."""
        outline, cell = self.record.outline, self.record.current
        exercises = outline.exercises.values() if outline else ()
        name = cell.name if cell else ""
        points = next((e.tests[name] for e in exercises if name in e.tests), 0.0)
        return points / max(1, sum(self.text.count(call) for call in expect.RACES))

    def show(self, etype: type, evalue: BaseException, tb: Any, *args: Any, **kwargs: Any):
        record = self.record
        try:
            names, cell = self.shell.user_ns, record.current
            earlier = mine.told(self.text, names) if cell is not None else ""
            skipped = record.skipped_above(cell)
            failing = record.failing(cell)
            lines = tell(evalue, names, record.outline, cell, failing, earlier, skipped)
            if isinstance(evalue, NotHere):
                lines = [str(evalue)]
            if function := unwritten(evalue, names):
                self.unwritten = evalue, function
                evalue.args = (not_written(function, record.outline),)
            elif lines and cell is not None and cell.kind == "test":
                if label := label_of_race(evalue, names, self.text):
                    lines[0] = f"❌ {label}: {lines[0]}"
                    self.race = evalue, lines[0]
        except Exception:  # whatever this may be, the student's own error is to be shown
            lines = None
        if lines is None:
            return self.show_normally(etype, evalue, tb, *args, **kwargs)
        return lines

    def after_cell(self, result: Any) -> None:
        info = result.info
        builtins.input = self.ask
        if info.silent or info.raw_cell is None:
            return
        error = result.error_before_exec or result.error_in_exec
        if error is None:
            self.record.note_cell(info.raw_cell, self.shell.transform_cell(info.raw_cell))
        outline, cell = self.record.outline, self.record.current
        stub, told = (
            kept[1] if error is not None and error is kept[0] else ""
            for kept in (self.unwritten, self.race)
        )
        if outline is not None and cell is not None and cell.kind == "test":
            ended = _ended(error, stub, told, outline, cell)
            if (shares := expect.shares.get(cell.name)) and ended.state == "passed":
                ended.share = sum(shares.values()) / len(shares)
            self.record.tests[cell.name] = ended
        locked = cell is not None and cell.rests_on_exercises
        if (
            stub
            or isinstance(error, (CaseFailed, NotHere))
            or (locked and isinstance(error, Exception))
        ):
            # The kernel makes its reply of these two, and Run All stops at one with an error.
            result.error_before_exec = result.error_in_exec = None
            _show_now(self.shell)


def _nobody_answers(prompt: object = "", /) -> str:
    """Stand in for `input` while a locked cell runs, which would wait for an answer for ever."""
    raise RuntimeError(
        "nobody answers input() where a notebook is graded: take an argument instead"
    )


def _show_now(shell: Any) -> None:
    """Show a browser's kernel's error now, for that kernel would call the cell failed to show it.

    Kernels elsewhere have shown it already.
    """
    kept = getattr(shell, "_last_traceback", None)
    if isinstance(kept, dict):
        print(*kept["traceback"], sep="\n", file=sys.stderr)
        shell._last_traceback = None


def _ended(
    error: BaseException | None, stub: str, told: str, outline: Outline, cell: LessonCell
) -> TestRun:
    """Return how a test cell ended.

    stub: the function whose stub raised the error, if one did. told: what a race said of it.
    """
    if error is None:
        return TestRun("passed")
    if stub:
        missing = outline.exercise(stub)
        own = missing is None or cell.name in missing.tests
        return TestRun("not written" if own else "waits", not_written(stub, outline))
    if isinstance(error, CaseFailed):
        text, only_refusals = str(error), error.only_refusals
    else:
        text, only_refusals = f"{type(error).__name__}: {error}", False
    first = next(iter((told or text).splitlines()), "")
    return TestRun("failed", first, only_refusals=only_refusals)
