"""Count losses, ops, bytes, reads and growth of a training step of slow_training.py."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from proflab.lesson.tensor_memory import each_op, present

STEPS, NEW = 5, 2  # of five steps the first two have new images, the others these in other orders


def count_steps(
    step: Callable,
    rows_of: Callable,
    find_leak: Callable | None = None,
    seed: int = 9,
    size: int = 32,
    heads: int = 4,
) -> dict[str, Any]:
    """Train a new model for five steps on the images of two batches, and return what was counted.

    step: step(model, batch, state), as slow_step. rows_of, find_leak: those of lessons 05 and 04;
        without find_leak nothing is said of what grows.
    The dict's keys:
        losses: the five that step returned; noted: the five in state["losses"], as floats
        ops, bytes: ops, and the bytes that they read and wrote by rows_of, in one of the last three
            steps: the most
        float64: ops of the five steps whose result is in float64
        read_again: reads of an image that had been read before, by any thread
        grows_in: where find_leak sees memory grow in further steps, or None
        kept: bytes that further steps leave allocated, a step
    """
    from slow_training import begin  # beside the lesson

    model, state = begin(seed, heads=heads)
    given = _batches(state["images"].names, size, seed)
    losses: list[float] = []
    steps: list[list[bool]] = []  # for each step, of its ops: is the result in float64?
    moved: list[int] = []

    def run(batch: Sequence[str]) -> None:
        losses.append(step(model, list(batch), state))

    for batch in given:
        rows = rows_of(lambda batch=batch: steps.append(each_op(_is_wide, lambda: run(batch))))
        moved.append(sum(row["bytes_read"] + row["bytes_written"] for row in rows))
    found = {
        "losses": losses,
        "noted": [float(loss) for loss in state["losses"]],
        "ops": max(map(len, steps[NEW:])),
        "bytes": max(moved[NEW:]),
        "float64": sum(map(sum, steps)),
        "read_again": _again(state["images"].reads),
    }

    if find_leak is None:
        return found

    def further() -> None:
        step(model, list(given[0]), state)
        gc.collect()

    return found | {"grows_in": find_leak(further, 2)["function"], "kept": _kept(further, 2)}


def _is_wide(call: Any, result: Any) -> bool:
    return any(tensor.dtype == np.float64 for tensor in present(result))


def _kept(step: Callable, steps: int) -> int:
    """Return how many bytes more each step leaves allocated."""
    tracemalloc.start()
    try:
        step()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(steps):
            step()
        return (tracemalloc.get_traced_memory()[0] - before) // steps
    finally:
        tracemalloc.stop()


def _batches(names: Sequence[str], size: int, seed: int) -> list[list[str]]:
    """Return two batches, and then batches of the same images, shuffled as in a later epoch."""
    rng = np.random.default_rng(seed)
    known = [names[place] for place in rng.permutation(len(names))[: NEW * size]]
    found = [known[:size], known[size:]]
    while len(found) < STEPS:
        found.append([known[place] for place in rng.permutation(len(known))[:size]])
    return found


def _again(reads: Sequence[tuple[str, int]]) -> int:
    """Return how many reads are of a name that had been read before."""
    names = [name for name, _ in reads]
    return len(names) - len(set(names))
