"""What lesson 03's demo cells say of the times that were just measured, chosen by these alone.

Functions return their text. Times are in ms. What may not enter: a clock, a model, or a number that
was not measured.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import median

from proflab import Tensor

_Interval = tuple[float, float]
Coverage = Mapping[tuple[str, str], Mapping[int, float]]


def clock_row(name: str, slept_ms: float) -> str:
    """Return a row of a table: what a stopwatch said and, for a clock of `time`, what it can do."""
    row = f"{name:<14}{slept_ms:>9.3f} ms"
    if not hasattr(time, name):
        return row
    about = time.get_clock_info(name)
    return f"{row} {'yes' if about.adjustable else 'no':>12} {about.resolution:>13.0e} s"


def slowest_to_fastest(name: str, times_ms: Sequence[float]) -> str:
    """Say how many times as long as the fastest call the slowest took."""
    ratio = max(times_ms) / min(times_ms)
    return f"{name}: the slowest call took {ratio:.2f} times as long as the fastest"


def timed_alone(samples_ns: Mapping[int, Sequence[float]]) -> str:
    """Say what a call takes in the largest samples, and the difference when timed alone.

    samples_ns: {calls a sample: ns a call, one number a sample}, from one call upwards.
    """
    middles = {calls: median(each) for calls, each in samples_ns.items()}
    (_, alone), (calls, together) = list(middles.items())[0], list(middles.items())[-1]
    return (
        f"{together:,.0f} ns a call in samples of {calls:,}; timed alone {alone:,.0f} ns,\n"
        f"{alone - together:+,.0f} ns: the Timer's own work, if nothing else changed"
    )


def cold_to_warm(starts_ms: Sequence[Sequence[float]]) -> str:
    """Say how a process's first call compares with the median of its later ones, from 6 on.

    starts_ms: for each process the times of its calls in order, at least six.
    """
    ratios = [times[0] / median(times[5:]) for times in starts_ms]
    return (
        f"{len(starts_ms)} starts: the first call took {min(ratios):.2f} to {max(ratios):.2f} "
        "times a later one"
    )


def tail(times_ms: Sequence[float], mean: float) -> str:
    """Say how far the slowest call lies out, and how many calls took longer than the mean."""
    above = sum(time > mean for time in times_ms) / len(times_ms)
    return (
        f"the slowest of {len(times_ms):,} calls took "
        f"{max(times_ms) / median(times_ms):.1f} times the median;\n"
        f"{above:.0%} of the calls took longer than the mean"
    )


def narrower(points: Sequence[tuple[int, float, float, float]]) -> str:
    """Say how wide the first and the last of (n, median, low, high) are against their medians."""
    (few, wide), (many, narrow) = (
        (n, (high - low) / middle) for n, middle, low, high in (points[0], points[-1])
    )
    return (
        f"the interval of {few:,} calls is {wide:.1%} of the median wide, "
        f"that of {many:,} {narrow:.1%}"
    )


def interval(bounds: _Interval) -> str:
    """Return "low to high", in three digits."""
    return "{:.3g} to {:.3g}".format(*bounds)


def judged(name: str, interval: _Interval, codes: Sequence[str]) -> str:
    """Say a median's 95 % interval, and the codes of what speaks against the measurement."""
    low, high = interval
    against = ", ".join(codes) or "nothing"
    return f"{name:<20} {low:.4g} to {high:.4g} ms, 95 %; to be said against it: {against}"


def same_tokens(count: int, cached: Tensor, computed: Tensor) -> str:
    """Say if the tokens written with a cache, (batch, length), are those written without."""
    same = "the same" if cached.tolist() == computed.tolist() else "NOT the same"
    return f"the {count} tokens with and without a cache are {same}"


def votes(rule: str, batches: Sequence[int]) -> str:
    """Say how many of the measurements chose which batch."""
    counted = ", ".join(
        f"a batch of {n} in {batches.count(n)} of {len(batches)}" for n in sorted(set(batches))
    )
    return f"{rule:<11} chooses {counted} measurements"


def sampling_error(share: float, trials: int) -> float:
    """Return three standard errors, √(p·(1 − p)/n), of a share p in n independent trials."""
    return 3 * sqrt(share * (1 - share) / trials)


def promises_kept(held: Coverage, exact: Mapping[int, float], trials: int) -> str:
    """Say for each distribution and n, a line each, if ranks held as often as was counted.

    held: {(rule, distribution): {n: share of trials}}; exact: {n: the share that was counted}.
    They agree if they differ by no more than three standard errors.
    """
    lines = []
    for (rule, name), shares in held.items():
        for n, share in shares.items() if rule == "ranks" else ():
            error = sampling_error(exact[n], trials)
            agrees = "as counted" if abs(share - exact[n]) <= error else "NOT as counted"
            counted = f"{exact[n]:.1%} ± {error:.1%}"
            lines.append(f"{name:<12} n = {n:<4} ranks {share:.1%}, {agrees} ({counted})")
    return "\n".join(lines)
