"""Words for messages: a list of names that fits into a line."""

from __future__ import annotations

from collections.abc import Sequence

_FEW = 10


def few(names: Sequence[str]) -> str:
    """Return at most ten names, and how many more there are.

    >>> few(["ann", "bo"])
    'ann, bo'
    """
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
