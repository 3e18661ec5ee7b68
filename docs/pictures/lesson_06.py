"""Draws the picture of lesson 06 into its folder.

    python docs/pictures/lesson_06.py           # from lesson_06.json, what was measured once
    python docs/pictures/lesson_06.py measure   # measure anew, on a quiet machine, and draw

The picture is the lesson's own, of GPT-2 small on one thread: its functions are run with the
lessons' solutions. Roofs, points, title and the machine's description are kept in the file beside
this one.
"""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path

from card import write_card
from solved_demo import demos_of, solved

from proflab.lesson.hardware import Hardware, this_machine

FOLDER = Path(__file__).parents[2] / "modules" / "06_roofline"
RECORD = Path(__file__).with_suffix(".json")


def measure() -> None:
    """Run the lesson's functions and keep what they measured."""
    names, demos = solved("lesson_06").scope, demos_of("06_roofline")
    rows = demos.recorded_rows("GPT-2", names["OpRecorder"])
    roofs = demos.measured_roofs(names["measure_peak_flops"], names["measure_bandwidth"])
    record = {
        "title": demos.title_of("GPT-2", rows),
        "date": date.today().isoformat(),
        "machine": this_machine().sentences(),
        "passes": len(demos.recorded_passes("GPT-2", names["OpRecorder"], 1)),
        "roofs": [vars(roof) for roof in roofs],
        "points": demos.points_with_shares(rows, names["roofline_points"], roofs[0]),
    }
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def roof():
    """Draw GPT-2 small's operations under one thread's roof, as they were measured."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    roofs = [Hardware(**one) for one in record["roofs"]]
    return demos_of("06_roofline").operations(record["points"], roofs, record["title"])


def main(arguments: list[str]) -> None:
    """Measure if asked to, and draw."""
    if arguments == ["measure"]:
        measure()
    write_card(roof(), FOLDER / "roof.png", dpi=120)


if __name__ == "__main__":
    main(sys.argv[1:])
