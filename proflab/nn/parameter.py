"""Parameter: a tensor that a Module lists among what it learns."""

from __future__ import annotations

from proflab.meta import MetaArray, in_meta_context
from proflab.tensor import Tensor


class Parameter(Tensor):
    """A leaf tensor that requires a gradient. Shares the memory of `data`."""

    __slots__ = ()

    def __init__(self, data=(), requires_grad: bool = True):
        if isinstance(data, Tensor):  # what Tensor would make of it, without looking into it
            array = data.array
            meta = type(array) is MetaArray or in_meta_context()
            self.array = MetaArray(array.shape, array.dtype) if meta else array
            self.grad = self.node = None
            self.index = 0
        else:
            super().__init__(data)
        self.requires_grad_(requires_grad)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"
