"""Draws the picture of lesson 06 into its folder.

    python docs/pictures/lesson_06.py           # from lesson_06.json, what was measured once
    python docs/pictures/lesson_06.py measure   # measure anew, on a quiet machine, and draw

The picture is the lesson's own, of GPT-2 small on one thread: its cells are run with the lessons'
solutions. Roofs and points are kept in the file beside this one, with the machine's description.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from proflab.lesson import plot_roofline
from proflab.lesson.hardware import Hardware, this_machine

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "modules" / "06_roofline"
RECORD = Path(__file__).with_suffix(".json")


def measure() -> None:
    """Run the lesson's cells and keep what they measured."""
    sys.path.insert(0, str(ROOT / "tests" / "helpers"))
    from cohort.run import solved

    names = solved("lesson_06").scope
    roofs = names["roofs"]()
    record = {
        "machine": this_machine().sentences(),
        "roofs": [vars(roof) for roof in roofs],
        "points": names["points_of"]("GPT-2"),
    }
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def roof():
    """GPT-2 small's operations under one thread's roof, as they were measured."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    main, *others = (Hardware(**one) for one in record["roofs"])
    title = "GPT-2 small, one text, 128 tokens; area: share of the time"
    return plot_roofline.roofline_of_points(
        record["points"], main, also=others, size="share", title=title
    )


def main(arguments: list[str]) -> None:
    """Measure if asked to, and draw."""
    if arguments == ["measure"]:
        measure()
    (FOLDER / "roof.png").write_bytes(roof().png(dpi=120))


if __name__ == "__main__":
    main(sys.argv[1:])
