"""Choose the default number of jobs that a command runs at a time."""

from __future__ import annotations

import os


def default_jobs() -> int:
    """Return the number of cores that this process may use: one job for each core."""
    # A container or a batch system may allow fewer cores than there are; only Linux tells.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
