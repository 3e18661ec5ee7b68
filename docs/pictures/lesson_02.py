"""Draws the pictures of lesson 02 into its folder.

    python docs/pictures/lesson_02.py

The picture at the top is the lesson's own: its cell `demo_where` is run with the lesson's
solutions.
"""

from __future__ import annotations

from pathlib import Path

from card import write_card
from solved_demo import run_demo

from proflab.lesson import plot

FOLDER = Path(__file__).parents[2] / "modules" / "02_flops"
DARK, LIGHT = plot.COLOURS[0], "#d6e6f2"


def where():
    """Draw where the FLOPs are, as the lesson draws it."""
    return run_demo("02_flops", "demo_where")[0]


def _grid(axes, left: float, top: float, rows: int, columns: int, dark=lambda row, column: False):
    """Squares side by side, the first row on top; `dark` says which."""
    from matplotlib.patches import Rectangle

    for row in range(rows):
        for column in range(columns):
            spot = (left + column, top - row - 1)
            colour = DARK if dark(row, column) else LIGHT
            axes.add_patch(Rectangle(spot, 1, 1, fc=colour, ec="white", lw=1.5))


def matmul():
    """Draw a row times a column, which is a number of the result."""
    m, k, n, row, column = 4, 6, 5, 1, 3
    with plot.canvas(6.2, 2.5, "One row, one column, one number of the product") as (picture, axes):
        _grid(axes, 0, m, m, k, lambda r, c: r == row)
        _grid(axes, k + 2, (m + k) / 2, k, n, lambda r, c: c == column)
        _grid(axes, k + n + 4, m, m, n, lambda r, c: (r, c) == (row, column))
        quiet = {"ha": "center", "va": "center", "fontsize": 16}
        axes.text(k + 1, m / 2, "×", **quiet)
        axes.text(k + n + 3, m / 2, "=", **quiet)
        for x, name in ((k / 2, "m × k"), (k + 2 + n / 2, "k × n"), (k + n + 4 + n / 2, "m × n")):
            axes.text(x, -1.5, name, ha="center", va="top")
        axes.text(k + n + 4 + n / 2, m + 0.5, "k multiply-adds each", ha="center", color=plot.QUIET)
        axes.set(xlim=(-0.3, k + 2 * n + 4.3), ylim=(-2.7, m + 1.5), aspect="equal")
        axes.axis("off")
    return picture


def windows():
    """Draw the places of a window of three that moves by two, in eight with a border of one."""
    with plot.canvas(6.2, 2.2, "Four places of a window of three, moved by two") as (picture, axes):
        _grid(axes, 0, 1, 1, 10, lambda r, c: 0 < c < 9)
        for x in (0, 9):
            axes.text(x + 0.5, 0.5, "0", ha="center", va="center", color=plot.QUIET)
        for place in range(4):
            start = 2 * place
            ends, height = [start + 0.1, start + 2.9], -0.55 - 0.62 * place
            axes.plot(ends, [height] * 2, lw=7, color=plot.COLOURS[1], solid_capstyle="butt")
            axes.text(start + 3.1, height, f"place {place + 1}", va="center")
        axes.text(10.6, 0.5, "size 8, padding 1", va="center")
        axes.text(10.6, -1.5, "kernel 3, stride 2:\n4 places, one square left", va="center")
        axes.set(xlim=(-0.2, 15.6), ylim=(-2.9, 1.2))
        axes.axis("off")
    return picture


def main() -> None:
    """Write all of them."""
    for draw in (where, matmul, windows):
        write_card(draw(), FOLDER / f"{draw.__name__}.png", dpi=120)


if __name__ == "__main__":
    main()
