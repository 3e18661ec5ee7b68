"""Draws the pictures of lesson 07 into its folder.

    python docs/pictures/lesson_07.py           # from lesson_07.json, what was measured once
    python docs/pictures/lesson_07.py measure   # measure anew, on a quiet machine, and draw

The diagonal is the lesson's own: its cell `demo_predicted` is run with the lessons' solutions, and
what it measured is kept in the file beside this one, with the machine's description. The picture's
caption names machine and load, and the sentence on its errors is written into the lesson's text.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from card import write_card
from solved_demo import demos_of, machine_line, run_demo

from proflab.lesson.hardware import this_machine
from proflab.lesson.plot import COLOURS, INK, QUIET, Picture, canvas

FOLDER = Path(__file__).parents[2] / "modules" / "07_scaling"
LESSON = FOLDER / "07_scaling.py"
RECORD = Path(__file__).with_suffix(".json")
ERRORS = re.compile(r"In the opening picture, median errors after one recorded pass are .*?%\.")

# The walk of each matrix for each innermost loop: along a row, down a column, or none.
_WALKS = {
    "innermost j": {"A": "still", "B": "row", "C": "row"},
    "innermost k": {"A": "row", "B": "column", "C": "still"},
    "innermost i": {"A": "column", "B": "still", "C": "column"},
}
_SIDE, _GAP = 5, 2.2


def measure() -> None:
    """Run the lesson's cell and keep what it measured."""
    scope = run_demo("07_scaling", "demo_predicted")[1]
    record = {"machine": this_machine().sentences(), "points": scope["points"]}
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def diagonal() -> Picture:
    """Return predicted against measured times, as they were measured, with the machine below."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return demos_of("07_scaling").diagonal(record["points"], caption=machine_line(record))


def described(text: str) -> str:
    """Return the lesson's text with the errors of the recorded points in its sentences on them."""
    points = json.loads(RECORD.read_text(encoding="utf-8"))["points"]
    return ERRORS.sub(demos_of("07_scaling").error_sentence(points), text)


def walks() -> Picture:
    """Return three rows of three matrices, with the walk of the innermost loop in each."""
    said = "; ".join(
        f"{loop}: " + ", ".join(f"{matrix} {walk}" for matrix, walk in walks.items())
        for loop, walks in _WALKS.items()
    )
    with canvas(7.0, 4.8, f"Walks of the innermost loop. {said}") as (picture, axes):
        for row, (loop, steps) in enumerate(_WALKS.items()):
            for column, (matrix, walk) in enumerate(steps.items()):
                _draw_matrix(axes, 3 + column * (_SIDE + 1.6), -row * (_SIDE + _GAP), matrix, walk)
            axes.text(2.2, -row * (_SIDE + _GAP) + _SIDE / 2, loop, ha="right", va="center")
        axes.set(xlim=(-1.6, 3 + 3 * (_SIDE + 1.6)), ylim=(-2 * (_SIDE + _GAP) - 1.2, _SIDE + 1.3))
        axes.set_aspect("equal")
        axes.axis("off")
    return picture


def _draw_matrix(axes: Any, left: float, bottom: float, name: str, walk: str) -> None:
    from matplotlib.patches import Rectangle

    at = 2  # the row or column that is walked, or both for a single number
    for i in range(_SIDE):
        for j in range(_SIDE):
            asked = {"row": i == at, "column": j == at, "still": i == at and j == at}[walk]
            colour = COLOURS[{"row": 2, "column": 5, "still": 0}[walk]] if asked else "#eeeeee"
            corner = (left + j, bottom + _SIDE - 1 - i)
            axes.add_patch(Rectangle(corner, 0.92, 0.92, color=colour, lw=0))
    axes.text(left + _SIDE / 2, bottom + _SIDE + 0.25, name, ha="center", color=INK)
    arrow = {"arrowstyle": "-|>", "color": "white", "lw": 1.8}
    middle = bottom + _SIDE - at - 0.54
    if walk == "row":
        axes.annotate("", (left + _SIDE - 0.2, middle), (left + 0.1, middle), arrowprops=arrow)
    if walk == "column":
        x = left + at + 0.46
        axes.annotate("", (x, bottom + 0.1), (x, bottom + _SIDE - 0.2), arrowprops=arrow)
    words = {"row": "uses whole lines", "column": "a line for each number", "still": "one number"}
    axes.text(left + _SIDE / 2, bottom - 0.75, words[walk], ha="center", color=QUIET, fontsize=8.5)


def main(arguments: list[str]) -> None:
    """Measure if asked to, and draw."""
    if arguments == ["measure"]:
        measure()
    LESSON.write_text(described(LESSON.read_text(encoding="utf-8")), encoding="utf-8")
    for name, draw in (("diagonal", diagonal), ("walks", walks)):
        write_card(draw(), FOLDER / f"{name}.png", dpi=120)


if __name__ == "__main__":
    main(sys.argv[1:])
