"""The tensor: an array, and what autograd has to know about it.

What can be done with one stands in tensor_methods.py (what needs no op) and in ops/ (what does);
the decorators of tensor_methods.py make those functions its methods.
"""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from proflab.meta import Array, MetaArray, Storage, in_meta_context
from proflab.shapes import Shape

float16, float32, float64 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")
int8, int16, int32, int64, uint8, bool_ = map(np.dtype, "int8 int16 int32 int64 uint8 bool".split())


def _reads(attribute: str):
    """Let a property, read at every op, be looked up in C: half the time. A decorator."""
    return lambda declared: attrgetter(attribute)


class Tensor:
    """A numpy array (float32 unless said otherwise) that remembers how it was computed.

    >>> a = Tensor([1.0, 2.0], requires_grad=True)
    >>> b = (a * a).sum()
    >>> b.backward()  # db/da = 2a
    >>> a.grad
    Tensor([2., 4.])
    """

    __slots__ = ("array", "requires_grad", "grad", "node", "index", "__weakref__")
    __array_priority__ = 100  # `ndarray * tensor` asks the tensor

    def __init__(self, data=(), requires_grad: bool = False, dtype=None):
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "Tensor: takes one value, list or array, not sizes: use proflab.empty(2, 3)"
            )
        self.array = _as_array(data, dtype)
        if requires_grad:
            _check_floating("Tensor", self.array)
        self.requires_grad = requires_grad
        self.grad: Tensor | None = None
        self.node = None  # the autograd node that made it; None for a leaf
        self.index = 0  # which of that node's results it is

    @staticmethod
    def meta(shape: Shape, dtype=float32, requires_grad: bool = False) -> Tensor:
        """Return a tensor of this shape and dtype without data.

        >>> a, b = Tensor.meta((4096, 1024)), Tensor.meta((1024, 8))
        >>> a @ b
        Tensor.meta((4096, 8), dtype=float32)
        """
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
        if any(n < 0 for n in shape):
            raise ValueError(f"Tensor.meta: negative size in the shape {shape}")
        return wrap(MetaArray(shape, np.dtype(dtype)), requires_grad)

    @property
    @_reads("array.shape")
    def shape(self) -> Shape: ...

    @property
    @_reads("array.dtype")
    def dtype(self) -> np.dtype: ...

    @property
    def ndim(self) -> int:
        return len(self.array.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take."""
        return self.array.nbytes

    @property
    def itemsize(self) -> int:
        """Bytes that one element takes."""
        return self.array.dtype.itemsize

    @property
    def storage(self) -> Storage:
        """A token for the memory behind this tensor, equal for all its views.

        >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.T.storage == x.storage, x.exp().storage == x.storage
        (True, False)
        """
        return Storage(self.array)

    @property
    def is_meta(self) -> bool:
        return type(self.array) is MetaArray

    @property
    def is_leaf(self) -> bool:
        return self.node is None

    def numel(self) -> int:
        """Return the number of elements."""
        return self.array.size

    def detach(self) -> Tensor:
        """Return the same elements, in the same memory, outside the graph."""
        return wrap(self.array)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for this tensor's gradient, or no longer; TypeError unless it is floating-point."""
        if requires_grad:
            _check_floating("requires_grad_", self.array)
        self.requires_grad = requires_grad
        return self

    def numpy(self) -> np.ndarray:
        """Return the array itself, not a copy; RuntimeError in the graph or without data."""
        if self.requires_grad:
            raise RuntimeError(
                f"numpy: a tensor of shape {self.shape} that requires a gradient: detach() it first"
            )
        return elements(self, "numpy")

    __hash__ = object.__hash__  # == compares elements, so that identity has to be the hash

    def __repr__(self) -> str:
        notes = ", requires_grad=True" if self.requires_grad else ""
        if self.is_meta:
            return f"Tensor.meta({self.shape}, dtype={self.dtype}{notes})"
        text = np.array2string(self.array, separator=", ", prefix="Tensor(", precision=4)
        kind = "" if self.dtype == float32 else f", dtype={self.dtype}"
        return f"Tensor({text}{kind}{notes})"

    def __getattr__(self, name: str):
        if name in ("parameters", "named_parameters", "modules", "state_dict", "train", "eval"):
            raise AttributeError(f"a Tensor is not a model: it has no {name!r}")
        raise AttributeError(f"proflab's Tensor has no {name!r}; docs/torch.md lists what it has")


def wrap(array: Array, requires_grad: bool = False, node=None, index: int = 0) -> Tensor:
    """Return a tensor around an array as it is: no copy, no conversion, no check."""
    tensor = object.__new__(Tensor)
    tensor.array = array
    tensor.requires_grad = requires_grad
    tensor.grad = None
    tensor.node, tensor.index = node, index
    return tensor


def elements(tensor: Tensor, asker: str) -> np.ndarray:
    """Return the array of a tensor; RuntimeError, naming who asked, if it has no data."""
    if type(tensor.array) is MetaArray:
        raise RuntimeError(f"{asker}: a meta tensor of shape {tensor.shape} has no data")
    return tensor.array


def _as_array(data, dtype=None) -> Array:
    """Return what Tensor(data) holds: float64 becomes float32 unless a dtype is given."""
    if isinstance(data, Tensor):
        data = data.array
    if type(data) is MetaArray:
        return data if dtype is None else MetaArray(data.shape, np.dtype(dtype))
    array = np.asarray(data, dtype=dtype)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"Tensor: no tensor can be made of {array.dtype} of shape {array.shape}")
    if dtype is None and array.dtype == float64:
        array = array.astype(float32)
    elif dtype is None and isinstance(data, (int, list, tuple)) and array.dtype == np.intp:
        array = array.astype(int64)  # with 32 bits, as in a browser, intp has them, too
    return MetaArray(array.shape, array.dtype) if in_meta_context() else array


def _check_floating(asker: str, array: Array) -> None:
    if array.dtype.kind != "f":
        what = f"{array.dtype} of shape {array.shape}"
        raise TypeError(f"{asker}: only floating-point tensors can require gradients, not {what}")
