"""Draws the picture of lesson 09 into its folder.

    python docs/pictures/lesson_09.py           # from lesson_09.json, what was measured once
    python docs/pictures/lesson_09.py measure   # measure anew, and draw

What is measured is the lesson's own demo with the lesson's solution, over more batches, and by the
time that the process got, so that other work on the machine counts little. The rows are kept in the
file beside this one, with the machine's description.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from solved_demo import demos_of, solved

from proflab.lesson.hardware import this_machine
from proflab.lesson.plot import Picture

ROOT = Path(__file__).parents[2]
LESSON = "09_optimization"
FOLDER = ROOT / "modules" / LESSON
RECORD = Path(__file__).with_suffix(".json")
ROUNDS = 30


def measure() -> None:
    """Time the fixes and keep the rows."""
    scope = solved("lesson_09").scope
    tools = scope["run_order"], scope["speedup_interval"]
    rows = demos_of(LESSON).time_fixes(scope["fixed_step"], ROUNDS, *tools, clock=time.process_time)
    record = {"machine": this_machine().sentences(), "clock": "process_time", "rows": rows}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def waterfall() -> Picture:
    """Return the fixes, one after the other, as they were measured."""
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["rows"]
    return demos_of(LESSON).waterfall(rows, "One training step, and what each fix gave")


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    (FOLDER / "waterfall.png").write_bytes(waterfall().png(dpi=145))
