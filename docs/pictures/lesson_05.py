"""Draws the pictures of lesson 05 into its folder.

    python docs/pictures/lesson_05.py

The picture at the top is the lesson's own: its cell `demo_timeline` is run with the lesson's
solutions, and the fastest of several passes is drawn, which other programs disturbed least.
"""

from __future__ import annotations

import os
from pathlib import Path

from card import write_card
from solved_demo import run_demo

from proflab.lesson import plot

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
FOLDER = Path(__file__).parents[2] / "modules" / "05_profiler"
PASSES = 12


def timeline():
    """Draw a forward and a backward pass, as the lesson does."""
    passes = [run_demo("05_profiler", "demo_timeline") for _ in range(PASSES)]
    return min(passes, key=lambda each: each[1]["recorder"].rows[-1]["start_ms"])[0]


def nest():
    """Draw two times of what runs inside something: with it, and without."""
    spans = [  # depth, begin, end, name, ms, self_ms
        (0, 0, 10, "region: data loading", "ms 10, self_ms 4"),
        (1, 2, 5, "exp", "3, 3"),
        (1, 6, 9, "add", "3, 3"),
        (0, 10.6, 20, "linear", "ms 9.4, self_ms 9.4"),
    ]
    with plot.canvas(6.6, 2.0, "A region, two ops inside it, and an op after it") as (
        picture,
        axes,
    ):
        for depth, begin, end, name, times in spans:
            colour = plot.FAINT if name.startswith("region") else plot.COLOURS[4]
            axes.barh(depth, end - begin, left=begin, height=0.84, color=colour)
            middle = (begin + end) / 2
            axes.text(middle, depth - 0.02, f"{name}\n{times}", ha="center", va="center")
        for begin, end in ((0, 2), (5, 6), (9, 10)):
            axes.barh(1, end - begin, left=begin, height=0.3, color=plot.COLOURS[1])
        axes.text(5, 1.62, "orange: the region's own 4 ms", ha="center", va="center")
        axes.set(xlim=(-0.2, 20.2), ylim=(1.9, -0.5), yticks=[], xlabel="ms")
        axes.spines["left"].set_visible(False)
    return picture


def main() -> None:
    """Write both."""
    for draw in (timeline, nest):
        write_card(draw(), FOLDER / f"{draw.__name__}.png", dpi=120)


if __name__ == "__main__":
    main()
