"""How long a segment of layers between two checkpoints may be, and which length was the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proflab.lesson.demo import progress_bar


def segment_lengths(layers: int) -> Iterator[int]:
    """Yield the lengths that divide so many layers evenly, shortest first, with a progress bar."""
    lengths = [n for n in range(1, layers + 1) if layers % n == 0]
    yield from progress_bar(lengths)


def best_segment(name: str, plain: float, peaks: Mapping[int, float]) -> str:
    """Say which length of a segment needs the least, and what is needed without any.

    plain: MB at the peak without checkpoints; peaks: layers in a segment → MB at the peak.
    """
    best = min(peaks, key=peaks.get)
    if peaks[best] >= plain:
        return f"{name}: {plain:.0f} MB without, and no segments need less"
    return f"{name}: {plain:.0f} MB without, {peaks[best]:.0f} MB in segments of {best}"
