"""Pictures of memory, in the style of `plot`. All sizes are MB of 1024² bytes where not said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proflab.lesson.moments import MB, Timeline
from proflab.lesson.plot import Picture, bars, curves, readings_by_phase, shares

_PARTS = {
    "parameter_mb": "parameters",
    "gradient_mb": "gradients",
    "optimizer_mb": "optimizer's state",
    "activation_mb": "activations",
}


def training(rows: Mapping[str, Mapping[str, float]], optimizer: str, title: str = "") -> Picture:
    """Draw the rows of training_memory, each as a bar that is divided by its parts."""
    models = {name: {_PARTS[key]: row[key] for key in _PARTS} for name, row in rows.items()}
    unit = f"MB of a training step with {optimizer}"
    return shares(models, unit=unit, title=title, show="{:,.0f} MB".format)


def by_batch(rows: Mapping[int, Mapping[str, float]], optimizer: str, title: str = "") -> Picture:
    """Draw rows of training_memory by the images in a batch: activations, and all the rest."""
    lines = {"activations": [], f"all the rest, with {optimizer}": []}
    kept, rest = lines.values()
    for batch, row in rows.items():
        kept.append((batch, row["activation_mb"]))
        rest.append((batch, row["total_mb"] - row["activation_mb"]))
    show = "{:,.0f}".format
    return curves(lines, x="images in a batch", y="MB", log="xy", title=title, show=show)


def kept_by_part(parts: Mapping[int, Mapping[str, int]], x: str, title: str = "") -> Picture:
    """Draw a line for each part: parts maps a number of x to {part: bytes}, the same parts."""
    names = next(iter(parts.values()))
    lines = {name: [(n, found[name] / MB) for n, found in parts.items()] for name in names}
    return curves(lines, x=x, y="MB", log="xy", title=title)


def op_by_op(steps: Timeline, title: str = "") -> Picture:
    """Draw what was read after each operation, with the phases in which they ran."""
    return readings_by_phase(steps.readings, steps.phases, unit="MB", title=title)


def two_meters(rows: Sequence[Mapping], traced: Sequence[float], title: str = "") -> Picture:
    """Draw RSS and traced MB, over the first moment, at each later one.

    rows: of MemoryProfiler (label, rss_mb); traced: at the same moments.
    """
    found = []
    for row, mb in zip(rows[1:], traced[1:], strict=True):
        for meter, over in (("RSS", row["rss_mb"] - rows[0]["rss_mb"]), ("traced", mb - traced[0])):
            found.append({"name": f"{row['label']}, {meter}", "mb": over})
    unit, show = "MB over the baseline", "{:.0f}".format
    return bars(found, "mb", unit=unit, title=title, show=show)


def segments(peaks: Mapping[str, Mapping[int, float]], title: str = "") -> Picture:
    """Draw the peak of a step, by layers in a segment: {stack: {length: MB}}."""
    lines = {name: list(found.items()) for name, found in peaks.items()}
    x, y = "layers or blocks in a segment", "MB at the peak of the step"
    return curves(lines, x=x, y=y, log="x", title=title, show="{:.0f}".format)


def trade(
    points: Mapping[str, Sequence[tuple[int, int]]], forward: float, title: str = ""
) -> Picture:
    """Draw what is saved against what a step costs: each line's points as (FLOPs, bytes).

    forward: the FLOPs of a forward pass, in which the cost is given.
    """
    lines = {name: [(cost / forward, n / MB) for cost, n in line] for name, line in points.items()}
    x, y = "FLOPs of a training step, in forward passes", "MB saved by forward"
    return curves(lines, x=x, y=y, title=title, show="{:,.0f}".format)
