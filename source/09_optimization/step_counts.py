"""Count losses, ops, bytes, reads and growth of a training step of slow_training.py for the checks.

What may not enter: a bound, or an expected loss.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from typing import Any

from slow_training import batches, begin

ORDER = (0, 1, 0, 1, 0)  # the batches of five steps: from the third on, each has been seen before


def count_steps(
    step: Callable,
    rows_of: Callable,
    find_leak: Callable,
    seed: int = 9,
    size: int = 32,
    heads: int = 4,
) -> dict[str, Any]:
    """Train a new model for five steps on two batches, and return what was counted.

    step: step(model, batch, state), as slow_step. rows_of, find_leak: those of lessons 05 and 04.
    The dict's keys:
        losses: the five that step returned; noted: the five in state["losses"], as floats
        ops, bytes: recorded ops, and the bytes that they read and wrote, in one of the last three
            steps: the most
        float64: recorded ops of the five steps whose result is in float64
        read_again: reads of an image that had been read before, by the thread that calls step
        grows_in: where find_leak sees memory grow in further steps, or None
    """
    model, state = begin(seed, heads=heads)
    given = list(batches(state["images"].names, size, seed))
    losses: list[float] = []
    steps = [
        list(rows_of(lambda at=at: losses.append(step(model, given[at], state)))) for at in ORDER
    ]
    found = {
        "losses": losses,
        "noted": [float(loss) for loss in state["losses"]],
        "ops": max(len(_ops(rows)) for rows in steps[2:]),
        "bytes": max(_bytes(rows) for rows in steps[2:]),
        "float64": sum(row["dtype"] == "float64" for rows in steps for row in _ops(rows)),
        "read_again": _again(state["images"].reads),
    }

    def further() -> None:
        step(model, given[0], state)
        gc.collect()

    return found | {"grows_in": find_leak(further, 2)["function"]}


def _ops(rows: Sequence[dict]) -> list[dict]:
    """Return the rows of ops: neither those of regions nor those of modules."""
    return [row for row in rows if row["op"] not in ("region", "module")]


def _bytes(rows: Sequence[dict]) -> int:
    return sum(row["bytes_read"] + row["bytes_written"] for row in _ops(rows))


def _again(reads: Sequence[tuple[str, int]]) -> int:
    """Return how many of this thread's reads are of a name that it had read before."""
    here = threading.get_ident()
    names = [name for name, thread in reads if thread == here]
    return len(names) - len(set(names))
