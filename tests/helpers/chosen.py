"""Parameters of which `make test` takes the telling ones, and `make test-rest` the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def chosen(values: Iterable[Any], here: Collection[Any]) -> list[Any]:
    """Return values as parameters of a test; those that are not in `here` are marked `whole`."""
    return [
        pytest.param(value, marks=() if value in here else pytest.mark.whole) for value in values
    ]
