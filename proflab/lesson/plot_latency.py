"""Lesson 03's pictures: rows of measured times brought into the form that `plot_samples` draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from proflab.lesson import plot_samples
from proflab.lesson.latency_words import Coverage, sampling_error
from proflab.lesson.plot import Picture


def _point(x: float, values: Sequence[float]) -> plot_samples.Point:
    return x, median(values), min(values), max(values)


def sample_sizes(samples_ns: Mapping[int, Sequence[float]], *, title: str) -> Picture:
    """Draw ns a call against calls a sample: {calls: ns a call, one number a sample}."""
    count = len(next(iter(samples_ns.values())))
    points = [_point(calls, each) for calls, each in samples_ns.items()]
    series = {f"median, fastest and slowest of {count} samples": points}
    return plot_samples.intervals(series, x="calls a sample", y="ns a call", log="xy", title=title)


def starts(starts_ms: Sequence[Sequence[float]], *, title: str) -> Picture:
    """Draw each call's ms against its number: a list of as many times for each process."""
    columns = zip(*starts_ms, strict=True)
    points = [_point(call, times) for call, times in enumerate(columns, start=1)]
    series = {f"median, fastest and slowest of {len(starts_ms)} starts": points}
    return plot_samples.intervals(series, x="call", y="ms", log="y", title=title)


def medians(points: Sequence[plot_samples.Point], *, title: str) -> Picture:
    """Draw the median and its interval, in ms, of the first n calls: (n, median, low, high)."""
    return plot_samples.intervals(
        {"median and 95 % interval": points},
        x="the first so many calls", y="ms", log="x", title=title,
    )  # fmt: skip


def promises(held: Coverage, exact: Mapping[int, float], trials: int, *, title: str) -> Picture:
    """Draw how often intervals held, {(rule, distribution): {n: share}}, with 3 standard errors.

    exact: {n: how often the interval by ranks is to hold}, from which the errors are.
    """
    lines: dict[str, list[plot_samples.Point]] = {}
    for (rule, name), shares in held.items():
        errors = {n: sampling_error(exact[n], trials) for n in shares}
        lines[f"{rule}, {name}"] = [
            (n, share, share - errors[n], share + errors[n]) for n, share in shares.items()
        ]
    return plot_samples.intervals(
        lines, x="n", y="how often it held", log="x", show="{:.0%}".format, title=title
    )


def batches(rows: Sequence[tuple[int, Sequence[float], Sequence[float]]], *, title: str) -> Picture:
    """Draw images a second against ms, by batch: (size, (median, low, high) ms, rates)."""
    named = [(str(n), tuple(ms), (rate[0], min(rate), max(rate))) for n, ms, rate in rows]
    return plot_samples.trade_off(named, x="latency in ms", y="images a second", title=title)


def tokens(
    first_ms: Mapping[str, Sequence[float]],
    further_ms: Mapping[str, Sequence[float]],
    *,
    title: str,
) -> Picture:
    """Draw the times of every round, a row of dots each: {"with": ms, "without": ms} a cache."""
    rows = {f"to the first token, {way}": times for way, times in first_ms.items()}
    rows |= {f"each further token, {way}": times for way, times in further_ms.items()}
    limits = 0, 1.1 * max(map(max, rows.values()))
    return plot_samples.estimates(rows, limits=limits, title=title)
