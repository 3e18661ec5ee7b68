"""Default number of jobs that a command runs at a time."""

from __future__ import annotations

import os


def default_jobs() -> int:
    """Return how many cores this process may use: one job a core."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
