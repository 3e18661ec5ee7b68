"""Draws the pictures of lesson 04 into its folder.

    python docs/pictures/lesson_04.py

The picture at the top is the lesson's own: its cell `demo_training` is run with the lesson's
solutions.
"""

from __future__ import annotations

from pathlib import Path

from card import write_card
from solved_demo import run_demo

from proflab.lesson import plot

FOLDER = Path(__file__).parents[2] / "modules" / "04_memory"
DARK, LIGHT, AMBER = plot.COLOURS[0], "#d6e6f2", plot.COLOURS[1]


def bytes():
    """Draw where the bytes of a training step go, as the lesson draws it."""
    return run_demo("04_memory", "demo_training")[0]


def _box(axes, left: float, bottom: float, text: str, width=1.5, colour=LIGHT, ink=plot.INK):
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((left, bottom), width, 0.8, fc=colour, ec="white", lw=1.5))
    axes.text(left + width / 2, bottom + 0.4, text, ha="center", va="center", color=ink)


def _arrow(axes, start, end, **style):
    look = {"arrowstyle": "-|>", "color": plot.QUIET, "lw": 1.2, "shrinkA": 1, "shrinkB": 1}
    axes.annotate("", end, start, arrowprops=look | style)


def kept():
    """Draw what five operations in a row keep for backward."""
    ops = ["Linear", "ReLU", "Linear", "+ y", "softmax"]
    shelf = {0: ("x", (0,)), 2.0: ("ReLU's result", (1, 2)), 4.8: ("softmax's result", (4,))}
    with plot.canvas(7.6, 2.5, "What five operations keep for backward") as (picture, axes):
        axes.text(-0.75, 2.4, "x", ha="center", va="center")
        for number, name in enumerate(ops):
            left = 1.9 * number
            _arrow(axes, (left - 0.45 if number else -0.6, 2.4), (left, 2.4))
            _box(axes, left, 2.0, name)
        _arrow(axes, (1.9 * 4 + 1.5, 2.4), (1.9 * 4 + 2.1, 2.4))
        axes.plot([-0.9, 9.9], [-0.06, -0.06], color=plot.QUIET, lw=2)
        for name, owners in shelf.values():
            centre = sum(1.9 * n + 0.75 for n in owners) / len(owners)
            colour = plot.FAINT if name == "x" else AMBER
            _box(axes, centre - 1.1, 0.0, name, width=2.2, colour=colour)
            for n in owners:
                _arrow(
                    axes, (1.9 * n + 0.75, 2.0), (centre + 0.35 * (1.9 * n + 0.75 - centre), 0.8)
                )
        axes.text(-0.75, 0.4, "shelf", ha="center", va="center", color=plot.QUIET)
        axes.text(1.9 * 3 + 0.75, 1.55, "nothing", ha="center", color=plot.QUIET)
        axes.set(xlim=(-1.4, 10.1), ylim=(-0.4, 3.0))
        axes.axis("off")
    return picture


def segments():
    """Draw eight layers with all that they keep, and in two segments of which one is run again."""
    with plot.canvas(7.6, 3.2, "Eight layers, kept in full and in segments") as (picture, axes):
        rows = {
            3.2: ("all kept", range(8), ()),
            0.0: ("segments of 4", (3,), range(4, 8)),
        }
        for bottom, (name, full, again) in rows.items():
            axes.text(-0.3, bottom + 1.45, name, ha="right", va="center")
            for n in range(8):
                run_again = n in again
                colour, ink = (DARK, "white") if run_again else (LIGHT, plot.INK)
                _box(axes, 1.2 * n, bottom + 1.05, str(n + 1), width=1.0, colour=colour, ink=ink)
                if n in full:
                    _box(axes, 1.2 * n + 0.1, bottom, "", width=0.8, colour=AMBER)
                if run_again:
                    _box(axes, 1.2 * n + 0.1, bottom, "", width=0.8, colour=plot.COLOURS[4])
        for bottom in rows:
            axes.plot([-0.1, 9.6], [bottom - 0.06] * 2, color=plot.QUIET, lw=2)
        axes.text(9.8, 3.6, "8 on the shelf", va="center")
        axes.text(9.8, 0.4, "1 is kept, 4 are made\nagain, for a while", va="center")
        axes.text(9.8, 1.45, "runs again", va="center", color=DARK)
        axes.set(xlim=(-3.0, 13.6), ylim=(-0.3, 5.3))
        axes.axis("off")
    return picture


def main() -> None:
    """Write all of them."""
    for draw in (bytes, kept, segments):
        write_card(draw(), FOLDER / f"{draw.__name__}.png", dpi=120)


if __name__ == "__main__":
    main()
