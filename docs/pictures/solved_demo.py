"""Runs a lesson's demo cell with the lessons' solutions: for pictures that are the lesson's own."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "helpers")]

from cohort.run import solved  # noqa: E402
from lesson_cells import named, value_of  # noqa: E402
from lesson_demos import beside, demos_of  # noqa: E402, F401

from proflab_course.course.notebook import read_module  # noqa: E402


def run_demo(lesson: str, name: str, **given: Any) -> tuple[Any, dict[str, Any]]:
    """Execute a demo cell of a lesson such as "08_benchmarking", in the lesson's folder.

    Returns the value of the cell's last expression and the names that are defined afterwards.
    `given` adds names that earlier demo cells would have defined. What the cell prints is lost.
    """
    folder = ROOT / "modules" / lesson
    cell = named(read_module(folder / f"{lesson}.py", lesson), name)
    scope = dict(solved(f"lesson_{lesson[:2]}").scope) | given
    sys.modules["demos"] = demos_of(lesson)  # what the cell imports
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            return value_of(cell, scope), scope
    finally:
        del sys.modules["demos"]


def machine_line(record: dict[str, Any]) -> str:
    """Return a caption with the machine and its load, from what a picture's script recorded.

    >>> machine_line({"machine": "CPU 9: 2 processors, clock now 2,596 MHz, load 0.31\\n…"})
    'Measured on CPU 9: 2 processors, load 0.31'
    """
    first = record["machine"].splitlines()[0]
    name, processors, *_, load = re.split(r": |, (?=\D)", first)
    return f"Measured on {name}: {processors}, {load}"
