"""Lesson 09's simulated loader against real worker processes: totals and waits, to a tenth."""

from __future__ import annotations

import pytest
from cohort.run import solved
from lesson_09_loader import run_epoch

pytestmark = pytest.mark.soak
UNEVEN = [30] * 4 + [240] + [30] * 7


def any_free_worker(load_ms, step_ms, workers, prefetch):
    """Return (total, wait) of another rule: a batch goes to whichever worker is free first."""
    now = wait = 0.0
    free, taken = [0.0] * workers, []
    for number, ms in enumerate(load_ms):
        ahead = number - workers * prefetch
        worker = free.index(min(free))
        free[worker] = max(free[worker], taken[ahead] if ahead >= 0 else 0.0) + ms
        taken.append(max(now, free[worker]))
        wait += taken[-1] - now
        now = taken[-1] + step_ms
    return now, wait


def by_the_rule(load_ms, step_ms, workers, prefetch):
    found = solved("lesson_09").scope["simulate_loader"](load_ms, step_ms, workers, prefetch)
    return found["total_ms"], found["wait_ms"]


def run_close(load_ms, step_ms, workers, prefetch, off=0.1, runs=12):
    """Return the first run whose total and wait are within `off` of what is predicted.

    A prediction is from the loading times of the run itself. A busy machine can only add to what
    is measured, so one quiet run among several is enough; a wrong rule is off in each.
    """
    seen = []
    for _ in range(runs):
        epoch = run_epoch(load_ms, step_ms, workers, prefetch)
        total, wait = by_the_rule(epoch.load_ms, step_ms, workers, prefetch)
        gaps = epoch.total_ms / total - 1, (epoch.wait_ms - wait) / total
        if max(map(abs, gaps)) <= off:
            return epoch
        seen.append(gaps)
    pytest.fail(f"no run of {runs} is as predicted: {seen}")


@pytest.mark.parametrize(
    "load_ms, step_ms, workers, prefetch",
    [([60] * 8, 20, 1, 2), ([60] * 8, 20, 2, 2), (UNEVEN, 40, 2, 1), (UNEVEN, 40, 2, 4)],
)
def test_real_processes_wait_as_predicted(load_ms, step_ms, workers, prefetch):
    epoch = run_close(load_ms, step_ms, workers, prefetch)
    assert epoch.worker == [number % workers for number in range(len(load_ms))]


def test_another_rule_is_seen():
    loads, step, workers, prefetch = [30, 240] + [30] * 10, 5, 2, 8
    epoch = run_close(loads, step, workers, prefetch)
    total, _ = any_free_worker(epoch.load_ms, step, workers, prefetch)
    assert epoch.total_ms / total > 1.15
