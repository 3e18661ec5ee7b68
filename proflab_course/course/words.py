"""Format lists of names for messages."""

from __future__ import annotations

from collections.abc import Sequence

_FEW = 10


def few(names: Sequence[str]) -> str:
    """Return at most ten names, and the number of the others.

    >>> few(["ann", "bo"])
    'ann, bo'
    """
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
