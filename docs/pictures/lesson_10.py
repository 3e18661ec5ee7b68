"""Draws the pictures of lesson 10 into its folder.

    python docs/pictures/lesson_10.py

The picture at the top shows what others measured on two cards, and at which wall each kernel is by
the lesson's solution.
"""

from __future__ import annotations

from pathlib import Path

from card import write_card
from solved_demo import beside, demos_of, solved

from proflab.lesson import plot
from proflab.lesson.cuda import Record

LESSON = "10_cuda_roofline"
FOLDER = Path(__file__).parents[2] / "modules" / LESSON

LANES = ("host", "device")


CARDS = ("A100-SXM4-40GB", "H200")
WALLS = {"memory": plot.COLOURS[0], "ridge": plot.COLOURS[1], "compute": plot.COLOURS[2]}


def roofs():
    """Draw kernels of growing intensity on two cards: roofs, what was reached, at which wall."""
    cards = Record(FOLDER / "cards.json", form=beside(LESSON, "roofline_document"))
    demos, place = demos_of(LESSON), solved("lesson_10").scope["place"]
    rows = [row for row in cards.rows("roofline") if cards.source(row)["card"] in CARDS]
    points = {card: demos.measured(cards, "roofline")[card] for card in CARDS}
    straight = demos.roofs_over(points)["two straight roofs"]
    alt = f"Kernels of {' and '.join(CARDS)} under the roofs, coloured by the wall that they are at"
    with plot.canvas(8.2, 4.4, alt) as (picture, axes):
        for card, measured in points.items():
            axes.plot(*zip(*straight[card], strict=True), color=plot.INK, lw=1.6, zorder=1)
            end = straight[card][-1]
            axes.annotate(card, end, (0, 5), textcoords="offset points", ha="right")
            for intensity, moved, computed, _ in measured:
                work = {"flops": computed * 1e9, "bytes": moved * 1e9, "ms": 1e3}
                wall = place({**work, "dtype": "float32"}, demos.best(measured))["wall"]
                axes.plot([intensity], [computed / 1e3], "o", color=WALLS[wall], ms=6, mew=0)
        for wall, colour in WALLS.items():
            axes.plot([], [], "o", color=colour, label=wall)
        axes.legend(title="the wall", loc="lower right", frameon=False, alignment="left")
        axes.set(xscale="log", yscale="log", xlabel="FLOPs a byte", ylabel="TFLOP/s")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda number, _: f"{number:,.6g}")
        axes.set_title("Which wall is a kernel at? Two cards, one kernel of growing intensity")
        caption = cards.title("Measured by others", *rows)
        axes.figure.supxlabel(caption, x=0.01, ha="left", fontsize=8, color=plot.QUIET)
        axes.grid()
    return picture


def chains():
    """Draw FMAs over time: one accumulator waits for itself, four take turns."""
    from matplotlib.patches import Rectangle

    with plot.canvas(7.2, 2.3, "One chain waits; four take turns") as (picture, axes):
        for row, (name, accumulators) in enumerate({"one": 1, "four": 4}.items()):
            base = 3.4 - 2.4 * row
            axes.text(-0.4, base + 0.5, f"{name} accumulator{'s' * row}", ha="right", va="center")
            for cycle in range(16):
                busy = cycle % 4 < accumulators
                colour = plot.COLOURS[cycle % 4] if busy else "white"
                axes.add_patch(Rectangle((cycle, base), 0.9, 1, fc=colour, ec=plot.FAINT, lw=1.2))
                if busy:
                    axes.text(
                        cycle + 0.45, base + 0.5, f"a{cycle % 4}", ha="center", va="center",
                        color="white" if cycle % 4 in (0, 2) else plot.INK, fontsize=9,
                    )  # fmt: skip
        axes.annotate(
            "", (16, 0.55), (0, 0.55), arrowprops={"arrowstyle": "->", "color": plot.QUIET}
        )
        axes.text(8, 0.1, "cycles; an FMA's result is ready after four", ha="center", va="top")
        axes.set(xlim=(-4.4, 16.4), ylim=(-0.7, 4.7))
        axes.axis("off")
    return picture


def events():
    """Draw what the host queues, and when the device comes to it."""
    from matplotlib.patches import Rectangle

    host = [(0.0, "flush"), (0.9, "start"), (1.8, "kernel"), (2.7, "end")]
    device = [(0.9, 3.4, "flush the cache"), (4.3, 6.2, "kernel")]
    with plot.canvas(7.8, 2.7, "Queued by the host, timed by the device") as (picture, axes):
        for lane, height in zip(LANES, (3.0, 1.0), strict=True):
            axes.text(-0.3, height + 0.4, lane, ha="right", va="center")
        for at, name in host:
            axes.add_patch(Rectangle((at, 3.0), 0.8, 0.8, fc=plot.COLOURS[4], ec="none"))
            axes.text(at + 0.4, 3.4, name, ha="center", va="center", fontsize=9)
        axes.add_patch(Rectangle((3.6, 3.0), 6.9, 0.8, fc="#f2f2f2", ec=plot.FAINT))
        axes.text(7.0, 3.4, "waits", ha="center", va="center", color=plot.QUIET, fontsize=9)
        for at, width, name in device:
            colour = plot.COLOURS[0] if name == "kernel" else plot.FAINT
            ink = "white" if name == "kernel" else plot.INK
            axes.add_patch(Rectangle((at, 1.0), width, 0.8, fc=colour, ec="none"))
            axes.text(at + width / 2, 1.4, name, ha="center", va="center", color=ink, fontsize=9)
        for at, name in ((4.3, "start"), (10.5, "end")):
            axes.plot([at, at], [0.3, 2.1], color=plot.COLOURS[5], lw=2)
            axes.text(at, 2.2, name, ha="center", va="bottom", color=plot.COLOURS[5], fontsize=9)
        arrow = {"arrowstyle": "<->", "color": plot.COLOURS[5]}
        axes.annotate("", (4.3, 0.45), (10.5, 0.45), arrowprops=arrow)
        axes.text(7.4, 0.3, "what is wanted", ha="center", va="top", color=plot.COLOURS[5])
        axes.set(xlim=(-1.3, 11.2), ylim=(-0.4, 4.1))
        axes.axis("off")
    return picture


def main() -> None:
    """Write all of them."""
    for draw in (roofs, chains, events):
        write_card(draw(), FOLDER / f"{draw.__name__}.png", dpi=110)


if __name__ == "__main__":
    main()
