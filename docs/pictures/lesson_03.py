"""Draws the pictures of lesson 03 into its folder.

    python docs/pictures/lesson_03.py

The picture at the top is the lesson's own: its cell `demo_histogram` is run with the lesson's
solutions, and measures the machine that it runs on.
"""

from __future__ import annotations

import math
from pathlib import Path

from card import write_card
from solved_demo import run_demo

from proflab.lesson import plot

FOLDER = Path(__file__).parents[2] / "modules" / "03_latency"
DARK, LIGHT, GREY = plot.COLOURS[0], "#d6e6f2", "#b0b0b0"


def latencies():
    """Draw the times of one image through LeNet-5, as the lesson does."""
    return run_demo("03_latency", "demo_histogram")[0]


def warmup():
    """Draw twelve calls: two are thrown away, of ten the median and the mean."""
    cold, timed = [9.4, 6.1], [2.0, 2.1, 1.9, 2.0, 10.0, 2.0, 2.1, 2.0, 1.9, 2.0]
    with plot.canvas(6.6, 2.5, "Two calls to warm up, ten timed") as (picture, axes):
        axes.bar(range(2), cold, 0.7, color=GREY)
        axes.bar(range(2, 12), timed, 0.7, color=DARK)
        for height, name, colour in ((2.0, "median", plot.INK), (2.8, "mean", plot.COLOURS[5])):
            axes.plot([1.5, 11.6], [height] * 2, color=colour, lw=1.6)
            axes.text(11.75, height, name, color=colour, va="center")
        axes.text(0.5, -0.5, "warm-up", ha="center", va="top", color=plot.QUIET)
        axes.text(6.5, -0.5, "timed", ha="center", va="top")
        axes.set(xlim=(-0.6, 13.3), ylim=(-1.9, 10.6))
        axes.axis("off")
    return picture


def ranks():
    """Draw ten sorted times and their interval; how often so many of ten coins show heads."""
    times = [4.0, 4.4, 4.7, 5.0, 5.2, 5.4, 5.7, 6.2, 6.9, 9.2]
    with plot.canvas(6.6, 3.4, "Ranks 2 and 9 of ten times, and ten coins") as (picture, axes):
        axes.plot([times[1], times[8]], [0, 0], color=LIGHT, lw=9, solid_capstyle="butt", zorder=1)
        for rank, time in enumerate(times, start=1):
            inside = rank in (2, 9)
            axes.plot(time, 0, "o", ms=9 if inside else 6, color=DARK if inside else GREY, zorder=3)
        axes.text(times[1], 0.35, "2nd", ha="center", color=DARK)
        axes.text(times[8], 0.35, "9th", ha="center", color=DARK)
        axes.plot([5.54, 5.54], [-0.35, 0.45], color=plot.COLOURS[5], lw=1.6, ls=(0, (4, 2)))
        axes.text(5.54, 0.55, "true median", ha="center", color=plot.COLOURS[5])
        axes.text(10.0, 0, "ten times, sorted", va="center")
        for heads in range(11):
            height, x = math.comb(10, heads) / 252, 4.0 + 0.5 * heads
            colour = DARK if 2 <= heads <= 8 else GREY
            axes.bar(x, 1.9 * height, 0.36, bottom=-3.1, color=colour)
            axes.text(x, -3.2, str(heads), ha="center", va="top")
        axes.text(10.0, -2.4, "how often ten coins\nshow so many heads", va="center")
        axes.set(xlim=(3.6, 12.8), ylim=(-3.8, 1.1))
        axes.axis("off")
    return picture


def cache():
    """Draw the tokens that are computed for each new token, without and with a KV cache."""
    from matplotlib.patches import Rectangle

    first, last, right = 4, 9, 14
    with plot.canvas(6.6, 2.8, "Tokens computed for each new one") as (picture, axes):
        for left, cached in ((0, False), (right, True)):
            for row, length in enumerate(range(first, last + 1)):
                for column in range(length):
                    dark = not cached or row == 0 or column == length - 1
                    spot = (left + column, -row)
                    colour = DARK if dark else LIGHT
                    axes.add_patch(Rectangle(spot, 0.84, 0.84, fc=colour, ec="none"))
            name = "with a KV cache" if cached else "without"
            axes.text(left, 1.4, name, va="bottom")
        axes.text(-0.5, 0.4, "first token", ha="right", va="center", color=plot.QUIET)
        axes.text(
            -0.5, first - last + 0.4, "sixth token", ha="right", va="center", color=plot.QUIET
        )
        for x, colour, name in ((0, DARK, "computed"), (right, LIGHT, "kept in the cache")):
            axes.add_patch(Rectangle((x, -7.2), 0.84, 0.84, fc=colour, ec="none"))
            axes.text(x + 1.2, -6.8, name, va="center")
        axes.set(xlim=(-5, right + last + 0.5), ylim=(-7.5, 2.6), aspect="equal")
        axes.axis("off")
    return picture


def main() -> None:
    """Write all of them."""
    for draw in (latencies, warmup, ranks, cache):
        write_card(draw(), FOLDER / f"{draw.__name__}.png", dpi=120)


if __name__ == "__main__":
    main()
