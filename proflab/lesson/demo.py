"""How much a demo cell shows: PROFLAB_DEMO=small in the environment makes it less, not different.

What may not enter: anything that an exercise or a test cell needs.
"""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")


def demo_size(full: T, small: T) -> T:
    """`full`, or `small` where PROFLAB_DEMO=small is set: sizes, repeats, lists of models."""
    return small if os.environ.get("PROFLAB_DEMO") == "small" else full
