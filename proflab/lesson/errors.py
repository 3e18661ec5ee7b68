"""Say in one sentence what went wrong in a lesson's cell, and where in the student's code.

The engine's own frames say nothing to a student, so they are left out. What is not about an
exercise is None here: it stays Python's to show.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import traceback
from collections.abc import Iterable
from types import FrameType

from proflab.checks.expect import RACES
from proflab.lesson.concepts import is_question
from proflab.lesson.lines_shown import lines_of
from proflab.lesson.machine import too_coarse
from proflab.lesson.outline import Exercise, LessonCell, Outline

# What a lesson's own cells call modules of others, so that a student may miss the import.
_USUAL = {"np": "import numpy as np", "plt": "import matplotlib.pyplot as plt"}
_WRONG_CALL = re.compile(r"([\w.]+)\(\) (?:takes|missing|got) ")  # Python's own words


class Frames:
    """Frames of an exception's traceback that are the notebook's own, from the outermost.

    `names` are the notebook's globals; `functions` are the frames but those of cells themselves.
    """

    def __init__(self, error: BaseException, names: dict) -> None:
        steps = list(traceback.walk_tb(error.__traceback__))
        self.all = [(frame, line) for frame, line in steps if _is_own(frame, names)]
        self.functions = [(f, line) for f, line in self.all if f.f_code.co_name != "<module>"]
        self.raised_here = bool(self.all) and steps[-1][0] is self.all[-1][0]


def _is_own(frame: FrameType, names: dict) -> bool:
    """Return True for the notebook's code, and for a student's of an earlier lesson (mine.py)."""
    return frame.f_globals is names or frame.f_globals.get("__name__") == "mine"


def unwritten(error: BaseException, names: dict) -> str:
    """Return the qualified name of the function whose stub raised `error`; empty if none did."""
    frames = Frames(error, names)
    if type(error) is not NotImplementedError or not (frames.raised_here and frames.functions):
        return ""
    frame = frames.functions[-1][0]
    stub = not error.args and frame is frames.all[-1][0]
    return frame.f_code.co_qualname if stub else ""


def not_written(function: str, outline: Outline | None) -> str:
    """Return the sentence on a function that is still to be written."""
    exercise = outline.exercise(function) if outline else None
    name = exercise.name if exercise else function
    return f"`{name}` is not written yet{_place(exercise)}"


def tell(
    error: BaseException,
    names: dict,
    outline: Outline | None,
    cell: LessonCell | None,
    failing: Iterable[Exercise] = (),
    own_earlier: str = "",
    skipped: bool = False,
) -> list[str] | None:
    """Return what a cell shows for an exception: a sentence, then the student's own lines.

    cell: the lesson's cell that raised it, None for a student's own.
    failing: exercises that the cell needs and that do not pass their checks.
    own_earlier: a sentence on the functions of mine.py that the cell uses, if it does.
    skipped: True if given cells above it were not run in this kernel.
    """
    frames = Frames(error, names)
    if function := unwritten(error, names):
        return [not_written(function, outline)]
    if not frames.all or not isinstance(error, Exception) or isinstance(error, SyntaxError):
        return None
    what = "".join(traceback.format_exception_only(type(error), error)).strip()
    own = [(frame, line) for frame, line in frames.functions if not _is_given(frame, outline)]
    if type(error).__module__ == "proflab.lesson.race.tape":  # Refused; most lessons do without
        # A name that is not defined stops a trace as it stops a call: the same sentence is said.
        cause, others = error.__cause__, (outline, cell, failing, own_earlier, skipped)
        named = tell(cause, names, *others) if isinstance(cause, NameError) else None
        return named or [*str(error).splitlines(), *lines_of(own)]
    exercise = _innermost_exercise(own, outline)
    failing = list(failing)
    of_clock = isinstance(error, (ZeroDivisionError, ValueError)) and not failing
    if cell is not None and cell.kind == "demo" and of_clock and (sentence := too_coarse()):
        return [f"{sentence} ({what})"]
    in_doubt = cell is not None and (cell.rests_on_exercises or bool(own_earlier))
    if exercise is None and not in_doubt:
        return None
    if cell is not None and is_question(cell.name) and type(error) is ValueError:
        return [str(error)]
    if isinstance(error, NameError) and outline and (missing := outline.exercise(error.name or "")):
        return [f"`{missing.name}` is not defined, so run its cell first{_place(missing)}"]
    if isinstance(error, TypeError) and outline and (told := _wrong_call(error, names, outline)):
        return [told]
    if type(error) is NameError and skipped:
        return [f"{what}: run the cells above first (Run › Run All Above Selected Cell)"]
    if exercise and isinstance(error, NameError) and (imported := _absent_import(error)):
        uses = f"`{exercise.name}`{_in_section(exercise)} uses `{error.name}`"
        return [f"{uses}, which nothing imports: write `{imported}` into its cell", *lines_of(own)]
    if exercise is not None:
        return [f"`{exercise.name}`{_in_section(exercise)} raised {what}", *lines_of(own)]
    said = [what, *(f"This cell needs {_needed(each)}." for each in failing)]
    said += [own_earlier] if own_earlier else []
    return [*said, *lines_of(frames.all[:1] + own)]


def label_of_race(error: BaseException, names: dict, text: str) -> str:
    """Return the label of the race whose statement in a test cell raised this; "" if none did.

    A race's program is run before the race is called: what goes wrong in it is the race's failure.
    """
    frames = Frames(error, names).all
    line = frames[0][1] if frames else 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) + "(" in RACES:
            label = node.args[0] if node.args else None
            if node.lineno <= line <= (node.end_lineno or 0) and isinstance(label, ast.Constant):
                return str(label.value)
    return ""


def _wrong_call(error: TypeError, names: dict, outline: Outline) -> str:
    """Return a sentence where an exercise's name or parameters are not what they were; else ""."""
    if "object is not callable" in str(error):
        for name, exercise in outline.exercises.items():
            if name in names and not callable(names[name]):
                kind = type(names[name]).__name__
                run = f"run its cell again{_in_section(exercise)}, and give the result another name"
                return f"`{name}` is no longer your function but of type {kind}: {run}"
    match = _WRONG_CALL.match(str(error))
    called = outline.exercise(match[1]) if match else None
    if match is None or called is None or error.__traceback__ is None:
        return ""
    steps = list(traceback.walk_tb(error.__traceback__))
    if steps[-1][0].f_code.co_name == match[1].rpartition(".")[2]:
        return ""  # the call was right, and something in the function was not
    what = f"`{called.name}`{_in_section(called)} has lost a parameter or has another one"
    return f"{what} ({error}): give it those that its docstring names"


def _absent_import(error: NameError) -> str:
    """Return the import that a name lacks; "" where the name is of no well-known module."""
    if error.name in sys.stdlib_module_names:
        return f"import {error.name}"
    return _USUAL.get(error.name or "", "")


def _innermost_exercise(own: list[tuple[FrameType, int]], outline: Outline | None):
    if outline is None:
        return None
    found = (outline.exercise(frame.f_code.co_qualname) for frame, _ in reversed(own))
    return next(filter(None, found), None)


def _is_given(frame: FrameType, outline: Outline | None) -> bool:
    """Return True for a function of a locked cell."""
    lines = linecache.getlines(frame.f_code.co_filename)
    return bool(outline and lines and outline.cell("".join(lines)))


def _needed(exercise: Exercise) -> str:
    return f"`{exercise.name}`, which does not pass its checks{_place(exercise)}"


def _place(exercise: Exercise | None) -> str:
    return f": {exercise.place}" if exercise and exercise.place else ""


def _in_section(exercise: Exercise) -> str:
    return f" ({exercise.place})" if exercise.place else ""
