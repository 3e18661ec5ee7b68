"""Draws the picture of lesson 08 into its folder.

    python docs/pictures/lesson_08.py           # from lesson_08.json, what was measured once
    python docs/pictures/lesson_08.py measure   # measure anew, on a quiet machine, and draw

What is measured is the lesson's own suite: its demo cells are run with the lessons' solutions, and
the rows are kept in the file beside this one, with the machine's description.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from card import write_card
from solved_demo import demos_of, machine_line, run_demo, solved

from proflab.lesson.hardware import this_machine
from proflab.lesson.plot import Picture

FOLDER = Path(__file__).parents[2] / "modules" / "08_benchmarking"
RECORD = Path(__file__).with_suffix(".json")


def measure() -> None:
    """Run the lesson's suite and keep its rows."""
    scope = run_demo("08_benchmarking", "demo_suite")[1]
    record = {"machine": this_machine().sentences(), "suite": scope["suite"]}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def suite() -> Picture:
    """Return the versions' speed-ups, verdicts and front by the lesson's solutions."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    rows, pareto = record["suite"], solved("lesson_08").scope["pareto"]
    front = pareto(rows, ["ms", "bytes"], ["accuracy"])
    title = "Four versions of one classifier, and what the gate says"
    return demos_of("08_benchmarking").intervals(rows, front, title, machine_line(record))


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    write_card(suite(), FOLDER / "suite.png", dpi=145)
