"""Draws the picture of lesson 08 into its folder.

    python docs/pictures/lesson_08.py           # from lesson_08.json, what was measured once
    python docs/pictures/lesson_08.py measure   # measure anew, on a quiet machine, and draw

What is measured is the lesson's own suite: its demo cells are run with the lessons' solutions, and
the rows are kept in the file beside this one, with the machine's description.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

from proflab.lesson.hardware import this_machine
from proflab.lesson.plot import Picture

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "modules" / "08_benchmarking"
RECORD = Path(__file__).with_suffix(".json")


def demos() -> Any:
    """Return the lesson's demos as a module."""
    spec = importlib.util.spec_from_file_location("demos", FOLDER / "demos.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["demos"] = module
    spec.loader.exec_module(module)
    return module


def measure() -> None:
    """Run the lesson's suite and keep its rows."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "helpers")]
    from cohort.run import solved
    from lesson_cells import named, show

    from proflab_course.course.notebook import read_module

    demos()
    scope = dict(solved("lesson_08").scope)
    lesson = read_module(FOLDER / "08_benchmarking.py", "08_benchmarking")
    os.chdir(FOLDER)
    show(named(lesson, "demo_suite"), scope)
    record = {"machine": this_machine().sentences(), "suite": scope["suite"]}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def suite() -> Picture:
    """Return the versions' speed-ups with their intervals, as they were measured."""
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["suite"]
    return demos().intervals(rows, "Four versions of one classifier: speed-up over the baseline")


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    (FOLDER / "suite.png").write_bytes(suite().png(dpi=145))
