"""Sentences about roofs, and about what stands below them: chosen by what was measured.

Functions return their text. What may not enter: a measurement, or what a student is to work out.
Rates are (lowest, median, highest) of the rounds, as `measuring.take_turns` gives them; points are
dicts as a roofline has them, each with its `share` of the time, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from statistics import median
from typing import Any

from proflab.lesson.hardware import Cache, in_bytes
from proflab.lesson.measuring import Rates, drops
from proflab.lesson.plot_roofline import rate

Addition = tuple[int, float, float, str]


def counted(count: int, thing: str) -> str:
    """Return "1 token", "4,096 tokens"."""
    return f"{count:,} {thing}" + ("s" if count != 1 else "")


def against_first(rates: Mapping[str, Rates]) -> str:
    """Say, a line each, how the best of each compares with the best of the first."""
    first, *others = rates
    return "\n".join(
        f"{name}: {rates[name][2] / rates[first][2]:.3g} times the best of {first}"
        for name in others
    )


def levels(rates: Mapping[int, Rates], caches: Sequence[Cache], call: float) -> str:
    """Say where copies of so many bytes slow down, a line a cache; call: the smallest's seconds."""
    lines = [f"one thread; a copy of 8 bytes takes {call * 1e9:.0f} ns, which is the call"]
    for cache, inside, outside, drop in drops([(s, *r) for s, r in rates.items()], caches):
        kind = "a drop" if drop else "no drop beyond the spread"
        name = f"L{cache.level}, {in_bytes(cache.size)}"
        lines.append(
            f"{name:<14}in it {inside / 1e9:6.1f} GB/s, beyond {outside / 1e9:6.1f} GB/s: {kind}"
        )
    if not caches:
        lines.append("this machine does not say which caches it has: read them off the steps")
    return "\n".join(lines)


def by_threads(rates: Mapping[str, Rates], size: int) -> str:
    """Say one thread's best and spread, and if more threads gain more than the spread.

    rates: that of one thread first. size: of the working set, in bytes.
    """
    (_, (low, _, high)), *others = rates.items()
    lines = [
        f"working set {size // 2**20} MB; one thread: best {rate(high, 'B/s')},"
        f" the worst of the rounds {1 - low / high:.0%} below"
    ]
    for name, (lowest, _, highest) in others:
        more, spread = highest / high, max(1 - low / high, 1 - lowest / highest)
        kind = "more than" if more - 1 > spread else "no more than"
        lines.append(f"{name}: {more:.2f} times one thread's best, {kind} the spread of the rounds")
    return "\n".join(lines)


def extremes(points: Sequence[Mapping[str, Any]]) -> str:
    """Name the points with most time, nearest to the roof and furthest, and those without one."""
    busiest = max(points, key=lambda p: p["share"])
    nearest = max(points, key=lambda p: p["efficiency"])
    furthest = min(points, key=lambda p: p["efficiency"])
    left = max(0.0, 1 - sum(p["share"] for p in points))
    return (
        f"most time: {busiest['name']}, {busiest['share']:.0%}, at {busiest['efficiency']:.0%}"
        " of its roof\n"
        f"nearest to its roof: {nearest['name']}, {nearest['efficiency']:.0%}\n"
        f"furthest below: {furthest['name']}, {furthest['efficiency']:.2%}\n"
        f"without a place: {left:.1%} of the time, in operations that only move or look"
    )


def against_rest(points: Sequence[Mapping[str, Any]], op: str, called: str) -> str:
    """Say where the points of an op lie, and what all else has of the time and of the FLOPs."""
    chosen = [p for p in points if p["name"].split()[0] == op]
    (low, high), (worst, best) = (
        (min(p[key] for p in chosen), max(p[key] for p in chosen))
        for key in ("intensity", "efficiency")
    )
    time = max(0.0, 1 - sum(p["share"] for p in chosen))
    return (
        f"{called}: {low:.0f} to {high:.0f} FLOPs a byte,"
        f" at {worst:.0%} to {best:.0%} of their roof\n"
        f"everything else: {time:.0%} of the time,"
        f" {1 - _work(chosen) / _work(points):.1%} of the FLOPs"
    )


def _work(points: Sequence[Mapping[str, Any]]) -> float:
    """Return the points' FLOPs, in proportion: what they reached, for their share of the time."""
    return sum(p["flops_per_second"] * p["share"] for p in points)


def additions(rows: Sequence[Addition], again: float) -> str:
    """Say up to which size additions are at which wall.

    rows: (numbers, seconds, seconds of the roof, wall), ever larger. again: how many times as long
    the largest takes into new memory as into old.
    """
    lines = []
    for wall, run in groupby(rows, key=lambda row: row[3]):
        counts = [count for count, *_ in run]
        lines.append(f"{wall}: additions of {counts[0]:,} to {counts[-1]:,} numbers")
    shortest = rows[0][1]
    lines.append(f"the smallest takes {shortest * 1e6:.1f} µs: {1 / shortest:,.0f} a second")
    lines.append(f"the largest: {again:.2f} times as long with a new result as into an old one")
    return "\n".join(lines)


def verdicts(name: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a model's rows with their wall as a table, longest first, without those under 2 %."""
    lines = [f"{name:<34}{'ms':>8}{'FLOPs/byte':>12}  wall"]
    for row in sorted(rows, key=lambda row: -row["self_ms"]):
        if row["share"] > 0.02:
            flops = row["matmul_flops"] + row["elementwise_flops"]
            moved = row["bytes_read"] + row["bytes_written"]
            intensity = f"{flops / moved:.1f}" if moved else "–"
            place = f"{row['op']} {row['module']}"
            lines.append(f"  {place:<32}{row['self_ms']:>8.2f}{intensity:>12}  {row['wall']}")
    return "\n".join(lines)


def step(name: str, verdict: str, figures: Mapping[str, Any]) -> str:
    """Say a step's verdict and the figures behind it, as lesson 06's `inspect_step` has them."""
    middle = median(figures["times_ms"])
    products = figures["matmul_ms"] / figures["busy_ms"]
    reached = figures["matmul_flops"] / figures["matmul_ms"] * 1000 / figures["peak_flops"]
    return (
        f"{name:<10} {verdict:<13} median {middle:.0f} ms,"
        f" {figures['busy_ms'] / middle:.0%} in operations, of which {products:.0%} in products,"
        f" at {reached:.0%} of the peak"
    )


def threads(took: Mapping[int, tuple[float, float]], endless: float, law: float) -> str:
    """Say what more threads for the products gained, by Amdahl's law and by the clock.

    took: number of threads → ms of products and of all else. endless: how many times as fast the
    law lets the whole be when products take no time; law: when they gain what they did gain.
    """
    most = max(took)
    lines = ["GPT-2: ms on one thread" + f" and on {most}" * (most > 1)]
    for kind, ms in zip(("products", "all else"), zip(*took.values(), strict=True), strict=True):
        lines.append(f"{kind:<10}" + "".join(f"{one:>9.1f}" for one in ms))
    lines.append(f"with endless threads for the products: {endless:.2f} times as fast")
    if most > 1:
        gain, clock = took[1][0] / took[most][0], sum(took[1]) / sum(took[most])
        lines.append(
            f"products {gain:.2f} times as fast; so the whole {law:.2f} times, says the law,"
            f" and {clock:.2f}, says the clock"
        )
    else:
        lines.append("there is one thread only, or its number cannot be set")
    return "\n".join(lines)
