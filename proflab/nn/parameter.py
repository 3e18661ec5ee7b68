"""Parameter: a tensor that a Module lists among what it learns."""

from __future__ import annotations

from proflab.tensor import Tensor


class Parameter(Tensor):
    """A leaf tensor that requires a gradient. Shares the memory of `data`."""

    __slots__ = ()

    def __init__(self, data=(), requires_grad: bool = True):
        super().__init__(data, dtype=data.dtype if isinstance(data, Tensor) else None)
        self.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"
