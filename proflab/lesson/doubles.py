"""Stand-ins for a lesson's test cells: small, exact, and built to tell right from almost right.

What may not enter: expected values. A double says what the student's code is given, never what
should come out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Weights:
    """A model in all that counts here, and no Module: named tensors, yielded as they were given.

    `Weights(wte=t, head=t)` yields `t` twice, which a Module would not.
    """

    def __init__(self, **named: Any) -> None:
        self._named = named

    def parameters(self) -> Iterator[Any]:
        """Every tensor, as often as it was given."""
        yield from self._named.values()

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """(name, tensor) for every name, also where two names share a tensor."""
        yield from self._named.items()


class OnlyParameters:
    """Anything with `.parameters()`, and with nothing else."""

    def __init__(self, *tensors: Any) -> None:
        self._tensors = tensors

    def parameters(self) -> Iterator[Any]:
        """Every tensor, as often as it was given."""
        yield from self._tensors
