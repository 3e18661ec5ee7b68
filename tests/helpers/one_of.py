"""Parameters of which `make test` tries the first ones, and `make test-all` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_of(values: Iterable[Any], shown: int = 1) -> list[Any]:
    """Return parameters of a test, all but the first `shown` marked as left to `make test-all`."""
    values = list(values)
    rest = (
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.whole)
        for value in values[shown:]
    )
    return [*values[:shown], *rest]
