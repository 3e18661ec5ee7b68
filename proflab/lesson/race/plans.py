"""Simulate plans: where the idea is an order, not an op, the student's function returns plain data.

Each rule of `RULES` checks that a plan is valid, counts what it costs, and knows the plan that is
given. A plan is judged by its data alone, so it may come from anywhere; its size is checked before
anything is made of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proflab.checks.compare import show
from proflab.lesson.race.judge import share_of, way
from proflab.lesson.race.tape import Refused

_MOST_ADDRESSES = 2_000_000  # 0.5 s of a simulated cache
_MOST_CUTS = 100_000  # far more than any list of gradients has


def _resnet18() -> list[int]:
    """Return the bytes of ResNet-18's 62 gradients, last first."""
    sizes = [4_000, 2_048_000]
    for channels in (512, 256, 128):  # the block without a shortcut, then the one with it
        norm, conv = [4 * channels] * 2, 36 * channels**2
        sizes += [*norm, conv, *norm, conv, *norm, 2 * channels**2]
        sizes += [*norm, conv, *norm, conv // 2]
    return sizes + [256, 256, 147_456] * 4 + [256, 256, 37_632]


def _resnet50() -> list[int]:
    """Return the bytes of ResNet-50's 161 gradients, last first."""
    sizes, came = [37_632, 256, 256], 64  # in the order of the forward pass; channels that came in
    for channels, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            wide = 4 * channels
            for into, places in ((came, 1), (channels, 9)):
                sizes += [4 * channels * into * places, *[4 * channels] * 2]
            sizes += [4 * wide * channels, *[4 * wide] * 2]
            sizes += [4 * wide * came, *[4 * wide] * 2] if block == 0 else []
            came = wide
    return [*sizes, 8_192_000, 4_000][::-1]


def _backward(sizes: list[int], ms: float) -> list[tuple[float, int]]:
    """Return (backward_ms, bytes) of gradients: 40 % of the ms spread evenly, 60 % by bytes."""
    return [(ms * (0.4 / len(sizes) + 0.6 * size / sum(sizes)), size) for size in sizes]


# What a case may name in place of a list: gradients, and load_ms drawn by random.Random(4).choice.
# Full marks in modules/ were found for these numbers.
WORKLOADS: dict[str, list] = {
    "resnet18": _backward(_resnet18(), 12),
    "resnet50": _backward(_resnet50(), 20),
    "images48": [
        24, 30, 20, 36, 36, 24, 20, 20, 20, 36, 120, 30, 20, 24, 120, 120,
        30, 30, 24, 20, 30, 24, 20, 30, 30, 24, 24, 30, 30, 30, 20, 120,
        30, 36, 120, 24, 24, 24, 36, 30, 20, 120, 30, 20, 30, 120, 30, 120,
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Simulated:
    """Hold what a plan costs, what of it costs most, and a mistake that it betrays, or nothing."""

    cost: float
    largest: str
    mistake: str = ""


@dataclass(frozen=True)
class Rule:
    """Hold one kind of plan: its parameters' names, its simulator, the given plan and the unit.

    simulate: raises Refused for what is no such plan. given: takes the parameters.
    """

    parameters: tuple[str, ...]
    simulate: Callable[..., Simulated]
    given: Callable[..., Any]
    unit: str


def judge_plan(plan: Any, rule: str, parameters: Mapping[str, Any], given: float) -> dict[str, Any]:
    """Return what a plan is worth beside the given one's cost, as `judge.judge` says it of a tape.

    "refused": a sentence; or "ms", "given", "floor": costs in the rule's unit; "wrong": empty;
    "largest" and "mistake": sentences, or none. Raises KeyError for a rule that does not exist.
    """
    chosen = RULES[rule]
    try:
        found = chosen.simulate(plan, **named(parameters))
    except Refused as refused:
        return {"refused": str(refused)}
    told = {"largest": found.largest, "mistake": found.mistake}
    return {"ms": found.cost, "given": given, "floor": 0.0, "wrong": "", **told}


def given_cost(rule: str, parameters: Mapping[str, Any]) -> float:
    """Return what the rule's given plan costs."""
    chosen, parameters = RULES[rule], named(parameters)
    return chosen.simulate(chosen.given(**parameters), **parameters).cost


def told(found: Mapping[str, Any], rule: str, full: float) -> str:
    """Return what a valid plan's cost comes to, in a line."""
    given, paid = (_shown(found[name]) for name in ("given", "ms"))
    return way(given, paid, RULES[rule].unit, share_of(found, full))


def hint(found: Mapping[str, Any]) -> str:
    """Return what costs most in a plan, and what betrays a mistake."""
    return "; ".join(filter(None, (found.get("largest"), found.get("mistake"))))


def named(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule's parameters, with the lists of WORKLOADS in place of their names."""
    return {
        name: WORKLOADS[value] if isinstance(value, str) else value
        for name, value in parameters.items()
    }


def _shown(cost: float) -> str:
    return f"{cost:,.0f}" if cost == int(cost) else f"{cost:,.5g}"


# ── whole numbers ────────────────────────────────────────────────────────────────────────────


def _whole(plan: Any, what: str) -> list:
    """Return a plan's items as a list; raise Refused for what is no list or array of one axis."""
    if isinstance(plan, np.ndarray):
        if plan.dtype.kind not in "iu":
            raise Refused(f"{what} holds whole numbers, not {plan.dtype}")
        if plan.ndim != 1:
            raise Refused(f"{what} is a list of numbers, not an array of shape {plan.shape}")
        return plan.tolist()
    if not isinstance(plan, (list, tuple)):
        raise Refused(f"{what} is a list, not {show(plan)}")
    for value in plan:
        if type(value) is not int:
            raise Refused(f"{what} holds whole numbers, not {show(value)}")
    return list(plan)


def _length(plan: Any) -> int:
    """Return how many items a list or array has, 0 for anything else."""
    if isinstance(plan, np.ndarray):
        return plan.shape[0] if plan.ndim else 0
    return len(plan) if isinstance(plan, (list, tuple)) else 0


# ── the order of a product's multiply-adds, against a cache ──────────────────────────────────


def _cache(plan: Any, n: int, lines: int, line: int) -> Simulated:
    """Count the misses of a product of n × n matrices, its multiply-adds in a plan's order.

    plan: every (i, j, k) once, (n³, 3). Each touches A[i, k] at address i·n + k, B[k, j] at
    n² + k·n + j and C[i, j] at 2n² + i·n + j, in this order; the cache has `lines` lines of `line`
    numbers, any address in any line, and lets the least recently used one go.
    """
    if 3 * n**3 > _MOST_ADDRESSES:
        raise Refused(f"n is {n}, which is too large for this rule")
    i, j, k = _triples(plan, n).T
    addresses = np.stack([i * n + k, n**2 + k * n + j, 2 * n**2 + i * n + j], 1)
    kept: OrderedDict[int, None] = OrderedDict()
    missed = [0, 0, 0]
    for row in (addresses // line).tolist():
        for matrix, wanted in enumerate(row):
            if wanted in kept:
                kept.move_to_end(wanted)
                continue
            missed[matrix] += 1
            if len(kept) == lines:
                kept.popitem(last=False)
            kept[wanted] = None
    total, most = sum(missed), max(missed)
    name, least = "ABC"[missed.index(most)], -(-n * n // line)
    largest = f"largest: {100 * most / total:.0f} %, {most:,} misses of {name}, "
    return Simulated(total, largest + f"whose lines are {least:,}")


def _triples(plan: Any, n: int) -> np.ndarray:
    """Return a plan's rows, (n³, 3); raise Refused where they are not every (i, j, k) once."""
    if not isinstance(plan, (list, tuple, np.ndarray)):
        raise Refused(f"an order is a list or an array of (i, j, k), not {show(plan)}")
    if (count := _length(plan)) != n**3:
        raise Refused(f"an order of {n} × {n} × {n} has {n**3:,} rows (i, j, k), not {count:,}")
    if isinstance(plan, np.ndarray):
        if plan.dtype.kind not in "iu":
            raise Refused(f"an order holds whole numbers, not {plan.dtype}")
        if plan.shape != (n**3, 3):
            raise Refused(f"an order has shape ({n**3}, 3), not {plan.shape}")
    else:
        rows = [_whole(row, "a row (i, j, k)") for row in plan]
        if wrong := [row for row in rows if len(row) != 3]:
            raise Refused(f"a row is (i, j, k), not {show(wrong[0])}")
        _inside(rows, n)
        plan = np.array(rows)  # only now: numbers in a list may be of any size
    _inside(plan[((plan < 0) | (plan >= n)).any(1)].tolist(), n)
    i, j, k = plan.astype(np.int64).T
    places = ((i * n + j) * n + k).astype(np.intp)  # bincount takes no wider numbers than a size's
    times = np.bincount(places, minlength=n**3)
    if times.max() > 1:
        found = (np.unravel_index(int(at), (n, n, n)) for at in (times.argmax(), times.argmin()))
        twice, never = (tuple(map(int, place)) for place in found)
        raise Refused(f"every (i, j, k) once: {twice} stands more than once, {never} nowhere")
    return np.stack([i, j, k], 1)


def _inside(rows: list[list[int]], n: int) -> None:
    """Raise Refused for the first row that lies outside of n × n × n."""
    for row in rows:
        if not all(0 <= index < n for index in row):
            raise Refused(f"{show(tuple(row))} lies outside {n} × {n} × {n}")


# ── buckets of gradients ─────────────────────────────────────────────────────────────────────


def _buckets(plan: Any, layers: Sequence, alpha_ms: float, ms_per_byte: float) -> Simulated:
    """Count the ms until backward and the last all-reduce have ended.

    plan: the indices of layers after which a bucket is sent, the last index among them, in any
    order; one that stands twice says nothing new. layers: (backward_ms, bytes) in the order of
    backward. One all-reduce runs at a time: it starts when its last gradient is there and the one
    before has ended, and takes alpha_ms + bytes · ms_per_byte.
    """
    count = len(layers)
    if _length(plan) > _MOST_CUTS:
        raise Refused(f"there are {count} gradients, and so no {_length(plan):,} buckets")
    cuts = {*_whole(plan, "a list of cuts")}
    if wrong := [cut for cut in cuts if not 0 <= cut < count]:
        raise Refused(f"the gradients are 0 to {count - 1}; there is no {show(wrong[0])}")
    if count - 1 not in cuts:
        raise Refused(f"the last gradient, {count - 1}, is never sent: its index ends a bucket")
    now = free = waiting = idle = 0.0
    for at, (ms, size) in enumerate(layers):
        now, waiting = now + ms, waiting + size
        if at in cuts:
            idle += max(0.0, now - free)
            free, waiting = max(now, free) + alpha_ms + waiting * ms_per_byte, 0.0
    total = max(now, free)
    fixed, moved = alpha_ms * len(cuts), ms_per_byte * sum(size for _, size in layers)
    largest = (
        f"{total - now:.4g} ms after the end of backward; the all-reduces, {len(cuts)}, take "
        f"{fixed:.4g} ms to start and {moved:.4g} ms for their bytes; none runs for {idle:.4g} ms"
    )
    alone = "nothing overlaps: the only bucket is full when backward has ended"
    return Simulated(total, largest, alone if len(cuts) == 1 and count > 1 else "")


# ── batches for workers ──────────────────────────────────────────────────────────────────────


def _loader(plan: Any, load_ms: Sequence, workers: int, room: int, step_ms: float) -> Simulated:
    """Count the ms until the last step has ended.

    plan: the worker of each batch. A worker makes its batches in order; batch i starts when its
    worker is free and batch i − room has been taken; a step takes batches in order, each when it is
    there and the step before has ended.
    """
    count = len(load_ms)
    if isinstance(plan, (list, tuple, np.ndarray)) and _length(plan) != count:
        raise Refused(f"there are {count} batches, and {_length(plan):,} have a worker")
    owners = _whole(plan, "a list of workers")
    if wrong := [owner for owner in owners if not 0 <= owner < workers]:
        raise Refused(f"the workers are 0 to {workers - 1}; there is no {show(wrong[0])}")
    free, taken = [0.0] * workers, [0.0] * count
    now = waited = longest = 0.0
    for batch, (owner, ms) in enumerate(zip(owners, load_ms, strict=True)):
        start = max(free[owner], taken[batch - room] if batch >= room else 0.0)
        free[owner] = start + ms
        if (wait := free[owner] - now) > longest:
            longest, at = wait, batch
        waited += max(0.0, wait)
        taken[batch] = now = max(now, free[owner])
        now += step_ms
    largest = (
        f"steps wait {waited:,.4g} ms, longest for batch {at} of worker {owners[at]}: "
        f"{longest:,.4g} ms"
    )
    alone = "one worker does it all"
    return Simulated(now, largest, alone if len(set(owners)) == 1 and workers > 1 else "")


RULES: dict[str, Rule] = {
    "cache": Rule(
        ("n", "lines", "line"), _cache,
        lambda n, lines, line: np.indices((n, n, n)).reshape(3, -1).T, "misses",
    ),
    "buckets": Rule(
        ("layers", "alpha_ms", "ms_per_byte"), _buckets,
        lambda layers, alpha_ms, ms_per_byte: list(range(len(layers))), "ms of a step",
    ),
    "loader": Rule(
        ("load_ms", "workers", "room", "step_ms"), _loader,
        lambda load_ms, workers, room, step_ms: [at % workers for at in range(len(load_ms))],
        "ms of an epoch",
    ),
}  # fmt: skip
