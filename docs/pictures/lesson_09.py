"""Draws the picture of lesson 09 into its folder.

    python docs/pictures/lesson_09.py           # from lesson_09.json, what was measured once
    python docs/pictures/lesson_09.py measure   # measure anew, on a quiet machine, and draw

What is measured is the lesson's own demo with the lesson's solution, over more batches. The rows
are kept in the file beside this one, with the machine's description and its load; the picture says
both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from card import write_card
from solved_demo import demos_of, solved

from proflab.lesson.hardware import load_and_processors, this_machine
from proflab.lesson.plot import Picture

ROOT = Path(__file__).parents[2]
LESSON = "09_optimization"
FOLDER = ROOT / "modules" / LESSON
RECORD = Path(__file__).with_suffix(".json")
ROUNDS, QUIET_LOAD = 30, 0.5


def measure() -> None:
    """Time the fixes and keep the rows; raise SystemExit on a machine with other work."""
    load = (load_and_processors() or (0.0, 1))[0]
    if load > QUIET_LOAD:
        raise SystemExit(f"the load is {load:.2f}: measure when it is below {QUIET_LOAD}")
    scope = solved("lesson_09").scope
    tools = scope["run_order"], scope["speedup_interval"]
    rows = demos_of(LESSON).time_fixes(scope["fixed_step"], ROUNDS, *tools)
    record = {"machine": this_machine().sentences(), "load": load, "rows": rows}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def caption(record: dict) -> str:
    """Return the machine and the load at which a record was measured, in one line."""
    machine, _, rest = record["machine"].partition(": ")
    return f"measured on: {machine}, {rest.partition(',')[0]}, load {record['load']:.2f}"


def waterfall() -> Picture:
    """Return the fixes, one after the other, as they were measured."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    title = "One training step, and what each fix gave"
    return demos_of(LESSON).waterfall(record["rows"], title, caption(record))


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    write_card(waterfall(), FOLDER / "waterfall.png", dpi=145)
