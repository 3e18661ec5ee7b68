"""Hostile submissions, as code: what each does, and what must happen."""

from cohort.attacks import (  # noqa: F401
    burdening,
    channels,
    content,
    exhausting,
    forging,
    long_files,
    reaching,
    reading,
    staying,
    tampering,
)
from cohort.attacks.attack import ATTACKS, HONEST, TRIED, Attack, test_cell

__all__ = ["ATTACKS", "HONEST", "TRIED", "Attack", "test_cell"]
