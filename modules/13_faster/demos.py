"""Time what a demo cell of lesson 13 shows.

Nothing here does what an exercise asks for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from proflab import no_grad, randint
from proflab.lesson.demo import demo_size

ROUNDS = 12


def timed_rounds(
    slow: Callable, fast: Callable, model: Callable, run_order: Callable
) -> dict[str, list[float]]:
    """Return the ms of each call of two programs, on this machine, by name, in mirrored rounds."""
    weights, tokens = model().eval(), randint(0, 100, (8, 64))
    programs: dict[str, Any] = {"slow": slow, "faster": fast}
    found: dict[str, list[float]] = {name: [] for name in programs}
    with no_grad():
        for program in programs.values():
            program(weights, tokens)  # warm-up
        for name in run_order(list(programs), demo_size(ROUNDS, 6)):
            began = time.perf_counter()
            programs[name](weights, tokens)
            found[name].append(1e3 * (time.perf_counter() - began))
    return found
