"""Draws the pictures of lesson 01 into its folder.

    python docs/pictures/lesson_01.py

The picture at the top is the lesson's own: its cell `demo_gpt2` is run with the lesson's solutions.
"""

from __future__ import annotations

from pathlib import Path

from card import write_card
from solved_demo import run_demo

from proflab.lesson import plot

FOLDER = Path(__file__).parents[2] / "modules" / "01_parameters"


def gpt2_sizes():
    """Draw GPT-2 in four sizes, as the lesson does."""
    return run_demo("01_parameters", "demo_gpt2")[0]


def groups():
    """Draw what groups cut away: eight channels to eight, three times."""
    with plot.canvas(6.2, 2.3, "Channels joined in one, two and eight groups") as (picture, axes):
        for column, count in enumerate((1, 2, 8)):
            left, size = 4.4 * column, 8 // count
            for source in range(8):
                colour = plot.COLOURS[source // size % 5] if count < 8 else plot.COLOURS[0]
                first = source // size * size
                for target in range(first, first + size):
                    axes.plot([left, left + 2.6], [-source, -target], color=colour, lw=0.9)
            for x in (left, left + 2.6):
                axes.plot([x] * 8, range(0, -8, -1), "o", color=plot.INK, ms=4)
            axes.text(left + 1.3, 1.1, f"groups={count}", ha="center", va="bottom")
            lines = f"{8 * size} of 64 kernels"
            axes.text(left + 1.3, -8.1, lines, ha="center", va="top", color=plot.QUIET)
        axes.set(xlim=(-0.4, 11.8), ylim=(-9.4, 2.2))
        axes.axis("off")
    return picture


def block():
    """Draw the matrices of a GPT-2 block to scale."""
    from matplotlib.patches import Rectangle

    boxes = [
        (0, 3.0 - row, 1, 1, name) for row, name in enumerate("query key value output".split())
    ]
    boxes += [(2.6, 0, 1, 4, "d → 4 d"), (4.6, 0, 4, 1, "4 d → d")]
    with plot.canvas(5.4, 2.7, "The matrices of a GPT-2 block, to scale") as (picture, axes):
        for x, y, width, height, name in boxes:
            colour = plot.COLOURS[1 if width == height else 2]
            axes.add_patch(Rectangle((x, y), width, height, fc=colour, ec="white", lw=2))
            text = name.replace(" → ", "\n→\n") if height > 1 else name
            axes.text(x + width / 2, y + height / 2, text, ha="center", va="center")
        axes.text(0.5, -0.2, "attention, 4 d²", ha="center", va="top")
        axes.text(5.6, -0.2, "feed-forward, 8 d²", ha="center", va="top")
        axes.set(xlim=(-0.8, 8.7), ylim=(-0.7, 4.1), aspect="equal")
        axes.axis("off")
    return picture


def main() -> None:
    """Write all of them."""
    for draw in (gpt2_sizes, groups, block):
        write_card(draw(), FOLDER / f"{draw.__name__}.png", dpi=120)


if __name__ == "__main__":
    main()
