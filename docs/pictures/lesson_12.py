"""Draws the pictures of lesson 12 into its folder.

    python docs/pictures/lesson_12.py

All three are the lesson's own: its cell `demo_frontier`, and its pictures of pages and of a
server's steps, run with the lessons' solutions. Nothing in them is measured.
"""

from __future__ import annotations

from pathlib import Path

from card import write_card
from solved_demo import demos_of, run_demo, solved

from proflab.lesson.plot import Picture

FOLDER = Path(__file__).parents[2] / "modules" / "12_serving"
USERS = {"Ann": [*"Be brief. Why?"], "Bob": [*"Be brief. How so?"], "Cy": [*"Be bold."]}
REQUESTS = [(0, 2, 6), (0, 3, 3), (2, 6, 3)]  # arrival, tokens to read and to write


def frontier() -> Picture:
    """Return dollars against tokens a second for one user, of three kinds of text."""
    return run_demo("12_serving", "demo_frontier")[0]


def pages() -> Picture:
    """Return three texts in pages of four letters, of which those with equal beginnings are one."""
    return demos_of("12_serving").pages(list(USERS.values()), 4)


def steps() -> Picture:
    """Return three requests on two slots, batched statically and continuously."""
    demos, scope, runs = demos_of("12_serving"), solved("lesson_12").scope, {}
    for name, continuous in {"static": False, "continuous": True}.items():
        runs[name] = []
        noted = demos.noting(scope["toy_ms"], runs[name])
        scope["simulate_serving"](REQUESTS, 2, noted, continuous)
    return demos.gantt(runs, REQUESTS, scope["toy_ms"])


if __name__ == "__main__":
    for draw in (frontier, pages, steps):
        picture = draw()
        write_card(picture, FOLDER / f"{draw.__name__}.png", dpi=110)
        print(picture.alt)
