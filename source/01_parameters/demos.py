"""Draw models as squares, and sizes against limits, for the demo cells of lesson 01."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from proflab.lesson.plot import COLOURS, FAINT, QUIET, Picture, canvas, short


def waffle(
    models: dict[str, dict[str, int]], *, square: int, unit: str, title: str = ""
) -> Picture:
    """Draw models side by side, each a block of squares of `square` parameters, coloured by part.

    `models` maps a model's name to its parts and their counts; all have the same parts.
    """
    said = "; ".join(
        f"{model}: " + ", ".join(f"{part} {short(count)}" for part, count in parts.items())
        for model, parts in models.items()
    )
    alt = f"{title or 'Squares'}, one square {unit}. {said}"
    left, tallest = 0.0, 0
    with canvas(9.0, 4.3, alt) as (picture, axes):
        for model, parts in models.items():
            squares = _squares(parts, square)
            side = math.ceil(math.sqrt(len(squares)))
            spots = [(left + i // side, i % side) for i in range(len(squares))]
            _draw_squares(axes, spots, [COLOURS[part] for part in squares])
            axes.text(left, -1.2, f"{model}\n{short(sum(parts.values()))}", va="top")
            left += max(math.ceil(len(squares) / side), 8) + 4
            tallest = max(tallest, side)
        for part, colour in zip(next(iter(models.values())), COLOURS, strict=False):
            axes.plot([], [], "s", color=colour, ms=9, label=part)
        axes.plot([], [], " ", label=f"one square: {unit}")
        axes.legend(frameon=False, loc="upper left", borderpad=0)
        axes.set(xlim=(-0.5, left - 4), ylim=(-7, tallest + 0.5), aspect="equal")
        axes.set_title(title)
        axes.axis("off")
    return picture


def _squares(parts: dict[str, int], square: int) -> list[int]:
    """Return the part's number for each square: borders are rounded, so that the total is right."""
    result, total = [], 0
    for index, count in enumerate(parts.values()):
        total += count
        result += [index] * (round(total / square) - len(result))
    return result


def _draw_squares(axes: Any, spots: Sequence[tuple[float, float]], colours: list[str]) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    squares = [Rectangle(spot, 0.84, 0.84) for spot in spots]
    axes.add_collection(PatchCollection(squares, facecolors=colours, edgecolors="none"))


def ladder(
    models: dict[str, dict[str, float]], limits: dict[str, float], *, unit: str, title: str = ""
) -> Picture:
    """Draw a line a model with a mark for each of its sizes, against limits drawn across.

    `models` maps a name to {kind: size}, in the same kinds throughout and the smallest model
    first; `limits` maps a name to a size. The axis is logarithmic.
    """
    kinds = list(next(iter(models.values())))
    said = "; ".join(
        f"{model} " + ", ".join(f"{kind} {size:,.3g}" for kind, size in sizes.items())
        for model, sizes in models.items()
    )
    at_limits = "; ".join(f"{name}: {size:,.0f}" for name, size in limits.items())
    alt = f"{title or 'Sizes'} ({unit}). {said}. Limits: {at_limits}"
    with canvas(8.5, 2.0 + 0.32 * len(models), alt) as (picture, axes):
        for row, sizes in enumerate(models.values()):
            ends = min(sizes.values()), max(sizes.values())
            axes.plot(ends, [row, row], color=FAINT, lw=3, zorder=1)
        for kind, mark, colour in zip(kinds, "osD^v", COLOURS, strict=False):
            sizes = [model[kind] for model in models.values()]
            axes.plot(sizes, range(len(models)), mark, color=colour, ms=7, label=kind, zorder=3)
        for name, size in limits.items():
            axes.axvline(size, color=QUIET, lw=1, ls=(0, (4, 3)), zorder=0)
            axes.annotate(name, (size, -0.7), (0, 3), textcoords="offset points", rotation=35)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.15g}")
        axes.set_yticks(range(len(models)), list(models))
        axes.tick_params(axis="y", length=0)
        axes.set(xlabel=unit, ylim=(len(models) - 0.4, -0.7))
        axes.set_title(title)
        axes.legend(frameon=False, loc="lower left")
    return picture
