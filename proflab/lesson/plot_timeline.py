"""Pictures of what ran when: one bar for each thing that ran, below the one that it ran in.

In the style of `plot`, and like it without a formula. `with_modules` makes rows for viewers, too.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from typing import Any

from proflab.lesson.plot import COLOURS, FAINT, INK, QUIET, Picture, canvas

_FRAMES = ("module", "region")
_OTHER = "others"
_NARROWEST = 0.001  # of the whole: what is thinner is drawn as wide as this


def spans(
    rows: Sequence[dict],
    *,
    name: Callable[[dict], str],
    group: Callable[[dict], str],
    frames: Sequence[str] = (),
    title: str = "",
    most: int = 7,
) -> Picture:
    """Draw rows with start_ms, ms and depth as bars on an axis of time, deeper ones lower.

    group: whose bars have one colour; those that take most time have one, up to `most` of them.
    frames: groups that only frame what runs inside them, drawn light. A bar has its name where
    there is room. Raises ValueError where there are no rows.
    """
    if not rows:
        raise ValueError("there are no rows to draw")
    begin = min(row["start_ms"] for row in rows)
    end = max(row["start_ms"] + row["ms"] for row in rows)
    times = _times(rows, group, frames)
    colours = dict(zip(list(times)[:most], COLOURS, strict=False))
    lanes = 1 + max(row["depth"] for row in rows)
    said = ", ".join(f"{key} {ms / sum(times.values()):.0%}" for key, ms in times.items())
    alt = f"{title or 'Timeline'}: {len(rows)} bars in {lanes} lanes, {end - begin:.4g} ms. {said}"
    with canvas(9.0, 1.5 + 0.34 * lanes, alt) as (picture, axes):
        paints = [FAINT if group(row) in frames else colours.get(group(row), QUIET) for row in rows]
        _draw(axes, rows, paints, begin, end)
        for row, colour in zip(rows, paints, strict=True):
            _write(axes, row, name(row), begin, row["ms"] / (end - begin), colour)
        for key, colour in colours.items():
            axes.plot([], [], "s", color=colour, ms=9, label=key)
        if len(times) > most:
            axes.plot([], [], "s", color=QUIET, ms=9, label=_OTHER)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False)
        axes.set(xlim=(0, end - begin), ylim=(lanes - 0.5, -0.6), yticks=[], xlabel="ms")
        axes.spines["left"].set_visible(False)
        axes.set_title(title)
    return picture


def _draw(axes: Any, rows: Sequence[dict], paints: list[str], begin: float, end: float) -> None:
    """Draw the bars, those that are wide enough with a white edge."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    least = _NARROWEST * (end - begin)
    bars = [
        Rectangle((row["start_ms"] - begin, row["depth"] - 0.42), max(row["ms"], least), 0.84)
        for row in rows
    ]
    edges = [0.6 if row["ms"] > 10 * least else 0.0 for row in rows]
    style = {"facecolors": paints, "edgecolors": "white", "linewidths": edges}
    axes.add_collection(PatchCollection(bars, **style))


def _times(rows: Sequence[dict], group: Callable[[dict], str], frames: Sequence[str]) -> dict:
    """Return the time of each group that is no frame, the largest first."""
    times: dict[str, float] = {}
    for row in rows:
        if group(row) not in frames:
            times[group(row)] = times.get(group(row), 0.0) + row["ms"]
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def _write(axes: Any, row: dict, text: str, begin: float, share: float, colour: str) -> None:
    """Write the bar's name inside it, or what follows its last dot, where there is room."""
    room = int(share * 115)
    shown = text if len(text) <= room else text.rpartition(".")[2]
    if len(shown) > room:
        return
    light = colour in (COLOURS[0], COLOURS[2], COLOURS[5], COLOURS[7], QUIET)
    axes.text(
        row["start_ms"] - begin + row["ms"] / 2, row["depth"], shown, ha="center", va="center",
        fontsize=8, color="white" if light else INK, clip_on=True,
    )  # fmt: skip


def timeline(rows: Sequence[dict], title: str = "") -> Picture:
    """Draw a recording: the ops, by kind, below the modules and regions in which they ran."""
    return spans(
        with_modules(rows),
        name=lambda row: _last(row["module"]) if row["op"] in _FRAMES else row["op"],
        group=lambda row: row["op"],
        frames=_FRAMES,
        title=title,
    )


def with_modules(rows: Sequence[dict]) -> list[dict]:
    """Return these rows, deeper, with a row of op "module" around each module's run of ops.

    rows: of a recording, with start_ms, ms, depth, phase and module; a module's row has their keys.
    """
    regions = [row for row in rows if row["op"] == "region"]
    borders = sorted(row["start_ms"] + end for row in regions for end in (0.0, row["ms"]))
    done, running, before = list(regions), [], None
    ops = [row for row in rows if row["op"] != "region"]
    for row in sorted(ops, key=lambda row: row["start_ms"]):
        place = row["phase"], row["depth"], bisect(borders, row["start_ms"])
        paths = _inside(row["module"])
        running = running[: _shared(paths, running)] if place == before else []
        before = place
        for path in paths[len(running) :]:
            running.append(_frame(row, path, len(running)))
            done.append(running[-1])
        for module in running:
            module["ms"] = row["start_ms"] + row["ms"] - module["start_ms"]
        done.append(row | {"depth": row["depth"] + len(running)})
    return done


def _last(path: str) -> str:
    """Return what a module is called beside its siblings: "attn", or "blocks.3" if numbered."""
    parts = path.split(".")
    return ".".join(parts[-2:] if parts[-1].isdigit() else parts[-1:])


def _inside(path: str) -> list[str]:
    """Return the modules that lead to one: "blocks.3.attn" is in blocks.3, and itself."""
    parts = path.split(".") if path else []
    follows = [*(part.isdigit() for part in parts[1:]), False]  # a number belongs to its list
    return [".".join(parts[: i + 1]) for i in range(len(parts)) if not follows[i]]


def _shared(paths: Sequence[str], running: Sequence[dict]) -> int:
    """Return how many of the running modules lead to this place, too."""
    same = [path == row["module"] for path, row in zip(paths, running, strict=False)]
    return [*same, False].index(False)


def _frame(row: dict, path: str, depth: int) -> dict:
    """Return the row of a module that begins with this op."""
    nothing = ("matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")
    own = {"op": "module", "module": path, "depth": row["depth"] + depth, "self_ms": 0.0}
    return row | own | dict.fromkeys(nothing, 0)
