"""Draws the pictures of lesson 11 into its folder.

    python docs/pictures/lesson_11.py

The picture at the top is the lesson's own: three steps of the traces that others measured, and what
the card waited for by the lesson's solutions.
"""

from __future__ import annotations

from pathlib import Path

from card import write_card
from solved_demo import beside, demos_of, solved

from proflab.lesson import cuda, plot

LESSON = "11_gpu_training"
FOLDER = Path(__file__).resolve().parents[2] / "modules" / LESSON
SHADES = (plot.FAINT, "#9fc6e3", "#4d9acb", plot.COLOURS[0])  # a part of 1, 2, 3, 4 ranks
PLACES = ((0.0, 2.6), (3.4, 2.6), (3.4, 0.0), (0.0, 0.0))  # of four ranks, clockwise
CELL = 0.5


def timelines():
    """Draw a step with the loader in the loop, and two with four workers, one of them slow."""
    names, form = ("v100_loader.json", "v100_workers.json"), beside(LESSON, "train_document")
    record = cuda.Record(*(FOLDER / name for name in names), form=form)
    (alone, loaded), demos = record.rows("trace"), demos_of(LESSON)
    steps = [demos.one_step(row, at) for row, at in ((alone, 1), (loaded, 2), (loaded, 4))]
    tools = [solved("lesson_11").scope[name] for name in ("gpu_busy", "gap_causes")]
    why = [demos.waits(step["trace"], *tools) for step in steps]
    title = "What the card waited for: three steps of ResNet-50"
    return demos.streams(steps, why, title, record.title("Measured by others", alone, loaded))


def ring():
    """Draw reduce-scatter of four ranks: in three steps a part goes round and grows."""
    from matplotlib.patches import Patch

    alt = "Four ranks in a ring: three steps of reduce-scatter; parts grow from 1 to 4 summands"
    with plot.canvas(9.2, 3.2, alt) as (picture, axes):
        counts = [[1] * 4 for _ in range(4)]
        for step in range(3):
            left = 6.6 * step
            axes.text(left + 2.7, 3.75, f"step {step + 1}", ha="center", va="bottom")
            for rank in range(4):
                part, to = (rank - step) % 4, (rank + 1) % 4
                counts[to][part] = step + 2
            for rank in range(4):
                _draw_arrow(axes, rank, (rank - step) % 4, left)
                _draw_rank(axes, rank, counts[rank], left)
        patches = [Patch(color=shade, label=f"{n}") for n, shade in enumerate(SHADES, 1)]
        title = "the part holds the numbers of so many ranks"
        below = {"loc": "lower center", "bbox_to_anchor": (0.5, -0.1)}
        axes.legend(handles=patches, title=title, ncols=4, frameon=False, **below)
        axes.set(xlim=(-0.6, 19.2), ylim=(-1.5, 4.2), aspect="equal")
        axes.axis("off")
    return picture


def _draw_rank(axes, rank: int, counts: list[int], left: float) -> None:
    from matplotlib.patches import Rectangle

    x, y = PLACES[rank]
    for part, count in enumerate(counts):
        at = (left + x + CELL * part, y)
        axes.add_patch(Rectangle(at, CELL, CELL, fc=SHADES[count - 1], ec="white", lw=1.5))
        ink = "white" if count > 2 else plot.INK
        style = {"ha": "center", "va": "center", "color": ink, "fontsize": 9}
        axes.text(at[0] + CELL / 2, y + CELL / 2, str(part), **style)
    above = y > 1
    place = (left + x + 2 * CELL, y + (CELL + 0.12 if above else -0.12))
    va = "bottom" if above else "top"
    axes.text(*place, f"rank {rank}", ha="center", va=va, color=plot.QUIET, fontsize=9)


def _draw_arrow(axes, rank: int, part: int, left: float) -> None:
    """Draw which part a rank sends to the next one, on the sides of a square."""
    (x, y), (u, v) = PLACES[rank], PLACES[(rank + 1) % 4]
    middle = CELL / 2
    if y == v:  # along the top or the bottom
        begin = (left + (x + 4 * CELL + 0.1 if u > x else x - 0.1), y + middle)
        end = (left + (u - 0.1 if u > x else u + 4 * CELL + 0.1), v + middle)
        spot = ((begin[0] + end[0]) / 2, y + middle + 0.15)
    else:
        across = left + x + 2 * CELL
        begin = (across, y + (CELL + 0.1 if v > y else -0.1))
        end = (across, v + (-0.1 if v > y else CELL + 0.1))
        spot = (across + 0.3, (begin[1] + end[1]) / 2)
    arrow = {"arrowstyle": "->", "color": plot.INK, "lw": 1.3}
    axes.annotate("", end, begin, arrowprops=arrow)
    axes.text(*spot, str(part), ha="center", va="bottom" if y == v else "center", fontsize=9)


def main() -> None:
    """Write all of them."""
    for draw, dpi in ((timelines, 108), (ring, 110)):  # at most 600 pixels high
        write_card(draw(), FOLDER / f"{draw.__name__}.png", dpi=dpi)


if __name__ == "__main__":
    main()
