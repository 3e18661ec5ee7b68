"""Lesson 09's simulated loader against real worker processes, run by run.

Nothing here fails on a busy machine, which can only be later than predicted; how close a quiet one
comes is tested in tests/soak/test_loader_waits.py.
"""

from __future__ import annotations

import pytest
from cohort.run import solved
from lesson_09_loader import run_epoch

UNEVEN = [15] * 4 + [120] + [15] * 7


@pytest.mark.parametrize(
    "load_ms, step_ms, workers, prefetch",
    [([30] * 8, 10, 1, 2), ([30] * 8, 10, 3, 2), (UNEVEN, 20, 2, 1), (UNEVEN, 5, 2, 8)],
)
def test_real_processes_keep_the_rule(load_ms, step_ms, workers, prefetch):
    """Batch n is worker n mod W's, and an epoch is never over before the rule lets it be."""
    simulate = solved("lesson_09").scope["simulate_loader"]
    epoch = run_epoch(load_ms, step_ms, workers, prefetch)
    assert epoch.worker == [number % workers for number in range(len(load_ms))]
    predicted = simulate(epoch.load_ms, step_ms, workers, prefetch)
    assert epoch.total_ms >= predicted["total_ms"] - 1e-3
    least = epoch.total_ms - simulate(epoch.load_ms, step_ms, workers, 10**6)["total_ms"]
    assert least >= -1e-3  # asking earlier never makes it later
    assert 0 <= epoch.wait_ms <= epoch.total_ms - step_ms * len(load_ms) + 1e-3
