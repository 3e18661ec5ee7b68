"""Watch a training step and draw the pictures for the demo cells of lesson 04.

Nothing here does what an exercise asks for. Sizes are in MB of 1024² bytes unless a name says
otherwise.
"""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proflab.lesson.plot import COLOURS, FAINT, QUIET, Picture, canvas, curves, shares, short

MB = 1024**2  # bytes
NO_OPS = 40  # readings that stand for a phase without operations: its name needs room


# ── a training step, and what can be read while it runs ──────────────────────────────────────


def training_step(
    model: Callable, x: Any, optimizer: Any, moment: Callable[[str], Any] = lambda label: None
) -> None:
    """Run one step; call moment("after_forward"), …("after_backward"), …("after_optimizer").

    model: gives a Tensor of x, the mean of whose squares is the loss.
    """
    optimizer.zero_grad()
    loss = (model(x) ** 2).mean()
    moment("after_forward")
    loss.backward()
    moment("after_backward")
    del loss
    optimizer.step()
    moment("after_optimizer")


def _traced_now() -> float:
    """Return what is allocated now, of all that tracemalloc sees, in MB."""
    return tracemalloc.get_traced_memory()[0] / MB


class Timeline:
    """The traced MB after each operation (`readings`), and where each phase ends (`phases`).

    >>> from proflab import Tensor, dispatch, nn, optim
    >>> model, timeline = nn.Linear(2, 1), Timeline()
    >>> optimizer = optim.SGD(model.parameters(), lr=0.1)
    >>> with dispatch.hook(timeline.read):
    ...     training_step(model, Tensor([[1.0, 2.0]]), optimizer, timeline.ends)
    >>> [name for name, _ in timeline.phases]
    ['forward 1', 'backward 1', 'optimizer 1']
    """

    def __init__(self) -> None:
        self.readings: list[float] = []
        self.phases: list[tuple[str, int]] = []
        self._seen: Counter[str] = Counter()

    def read(self, call: Callable[[], Any]) -> Any:
        """Run the operation, for dispatch.hook, then read the meter."""
        result = call()
        self.readings.append(_traced_now())
        return result

    def ends(self, moment: str) -> None:
        """End a phase: "after_forward" ends "forward 1", the next time "forward 2"."""
        phase = moment.removeprefix("after_")
        if len(self.readings) == (self.phases[-1][1] if self.phases else 0):
            self.readings += NO_OPS * [_traced_now()]
        self._seen[phase] += 1
        self.phases.append((f"{phase} {self._seen[phase]}", len(self.readings)))


class BothMeters:
    """Takes snapshots with a MemoryProfiler, and notes in `traced` the MB traced at that moment."""

    def __init__(self, profiler: Any) -> None:
        self.profiler = profiler
        self.traced: list[float] = []

    def note(self, label: str) -> None:
        """Read both meters, the profiler's under this label."""
        self.traced.append(_traced_now())
        self.profiler.snapshot(label)


# ── pictures ─────────────────────────────────────────────────────────────────────────────────

_PARTS = {
    "parameter_mb": "parameters",
    "gradient_mb": "gradients",
    "optimizer_mb": "optimizer state",
    "activation_mb": "activations",
}


def plot_training(rows: Mapping[str, Mapping[str, float]]) -> Picture:
    """Draw the rows of training_memory with Adam, each as a bar that is divided by its parts."""
    models = {name: {_PARTS[key]: row[key] for key in _PARTS} for name, row in rows.items()}
    unit = "memory of a training step with Adam"
    return shares(models, unit=unit, title="Where the bytes go", show="{:,.0f} MB".format)


def plot_by_part(parts: Mapping[int, Mapping[str, int]], x: str, title: str) -> Picture:
    """Draw a line for each part: parts maps a number of x to {part: bytes}, the same parts."""
    names = next(iter(parts.values()))
    lines = {name: [(n, found[name] / MB) for n, found in parts.items()] for name in names}
    return curves(lines, x=x, y="MB", log="xy", title=title)


def plot_timeline(timeline: Timeline, title: str) -> Picture:
    """Draw what was read after each operation, as an area divided into phases."""
    readings, phases = timeline.readings, timeline.phases
    starts = [0, *(end for _, end in phases)]
    spans = [(name, start, end) for (name, end), start in zip(phases, starts, strict=False)]
    said = "; ".join(
        f"{name} up to {short(max(readings[start:end]))}, ends at {short(readings[end - 1])}"
        for name, start, end in spans
        if end > start
    )
    with canvas(8.0, 3.4, f"{title} (MB): {said}") as (picture, axes):
        axes.fill_between(range(len(readings)), readings, color=COLOURS[4], alpha=0.5, lw=0)
        axes.plot(readings, color=COLOURS[0], lw=1.4)
        top = 1.14 * max(readings)
        for number, (name, start, end) in enumerate(spans):
            if number % 2:
                axes.axvspan(start, end, color=FAINT, alpha=0.45, lw=0, zorder=0)
            look = {"color": QUIET, "bbox": {"fc": "white", "ec": "none", "pad": 1, "alpha": 0.8}}
            axes.text((start + end) / 2, 0.985 * top, name, ha="center", va="top", **look)
        axes.set(xlim=(0, len(readings) - 1), ylim=(0, top), xticks=[])
        axes.set(xlabel="operations, in the order in which they ran", ylabel="MB traced")
        axes.set_title(title)
        axes.grid(axis="y")
    return picture


def plot_meters(rows: Sequence[Mapping], traced: Sequence[float], title: str) -> Picture:
    """Draw resident and traced MB, over those of the first moment, against the seconds.

    rows: of MemoryProfiler.report; traced: MB at the same moments. Moments that are too close to
    each other for their labels share one.
    """
    seconds = [row["seconds"] for row in rows]
    meters = {
        "resident": [row["rss_mb"] - rows[0]["rss_mb"] for row in rows],
        "traced": [mb - traced[0] for mb in traced],
    }
    labels = [row["label"].replace("_", " ") for row in rows]
    said = "; ".join(
        f"{label} at {second:.3g} s, resident {one:.0f}, traced {other:.0f}"
        for label, second, one, other in zip(labels, seconds, *meters.values(), strict=True)
    )
    with canvas(8.0, 3.6, f"{title} (MB more than {rows[0]['label']}): {said}") as (picture, axes):
        for (name, grown), colour in zip(meters.items(), COLOURS, strict=False):
            axes.plot(seconds, grown, "o-", color=colour, lw=1.5, ms=4, label=name)
        top, free = max(map(max, meters.values())) or 1, -1.0
        for label, second in zip(labels, seconds, strict=True):
            if second > free:
                axes.axvline(second, color=FAINT, lw=1, zorder=0)
                look = {"rotation": 35, "ha": "left", "fontsize": 8, "color": QUIET}
                axes.text(second, 1.06 * top, label, **look)
                free = second + 0.02 * seconds[-1]
        axes.set(xlabel="seconds", ylabel=f"MB more than {rows[0]['label']}")
        axes.set_ylim(top=1.04 * top)
        axes.set_title(title, pad=60)
        axes.legend(frameon=False, loc="lower right")
        axes.grid(axis="y")
    return picture


def plot_segments(peaks: Mapping[int, float], guess: float | None = None) -> Picture:
    """Draw the peak of a training step by the layers in a segment, with a guess of the best."""
    title = f"A training step of {max(peaks)} layers"
    look = {"x": "layers in a segment", "y": "MB at the peak", "log": "x", "title": title}
    picture = curves({"": list(peaks.items())}, show="{:.0f}".format, **look)
    axes = picture.figure.axes[0]
    axes.set_xticks(list(peaks), [str(every) for every in peaks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    if isinstance(guess, (int, float)) and guess > 0:
        axes.axvline(guess, color=QUIET, lw=1.2, ls=(0, (4, 3)), zorder=0)
        look = {"textcoords": "offset points", "bbox": {"fc": "white", "ec": "none", "pad": 1}}
        axes.annotate("your guess", (guess, 0), (4, 8), color=QUIET, **look)
    return picture
