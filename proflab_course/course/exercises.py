"""Find the exercise of a test cell: `test_x` and `test_x_2` belong to exercise x."""

from __future__ import annotations

import re
from collections.abc import Collection


def exercise_of(test: str, exercises: Collection[str]) -> str:
    """Return the name of the exercise that a test cell tests; exercises: the lesson's names."""
    bare = test.removeprefix("test_")
    return bare if bare in exercises else re.sub(r"_\d+$", "", bare)
