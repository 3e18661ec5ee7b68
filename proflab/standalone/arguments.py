"""Parse the arguments that the command lines of a profiler in one file share."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> int:
    """Return a whole number of at least 1; argparse says so for others."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def share(text: str) -> float:
    """Return a number of at least 0; argparse says so for others."""
    number = float(text)
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"must be at least 0, not {text}")
    return number


def above_zero(text: str) -> float:
    """Return a number above 0; argparse says so for others."""
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be above 0, not {text}")
    return number
