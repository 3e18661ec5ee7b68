"""What a tensor is: an array, and what autograd has to know about it.

What can be done with one stands in ops/, and is given to the class in methods.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from proflab.shapes import Array, MetaArray, Shape, Storage

float16, float32, float64 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")
int8, int16, int32, int64 = (np.dtype(f"int{n}") for n in (8, 16, 32, 64))
uint8, bool_ = np.dtype("uint8"), np.dtype("bool")

meta_depth = 0  # how many `with meta():` are open


class device(str):
    """Where a tensor lives: "cpu", or "meta" for one that has no data."""

    @property
    def type(self) -> str:
        return str(self)


CPU, META = device("cpu"), device("meta")


class Tensor:
    """A numpy array (float32 unless said otherwise) that remembers how it was computed.

    >>> a = Tensor([1.0, 2.0], requires_grad=True)
    >>> (a * a).sum().backward()
    >>> a.grad.tolist()
    [2.0, 4.0]
    """

    __slots__ = ("array", "requires_grad", "grad", "node", "index", "__weakref__")
    __array_priority__ = 100  # `ndarray * tensor` asks the tensor

    def __init__(self, data=(), requires_grad: bool = False, dtype=None):
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "Tensor: takes one value, list or array, not sizes: use proflab.empty(2, 3)"
            )
        self.array = as_array(data, dtype)
        if requires_grad and self.array.dtype.kind != "f":
            raise TypeError(
                f"Tensor: only floating-point tensors can require gradients, not "
                f"{self.array.dtype} of shape {self.array.shape}"
            )
        self.requires_grad = requires_grad
        self.grad: Tensor | None = None
        self.node = None  # the autograd node that made it; None for a leaf
        self.index = 0  # which of that node's results it is

    @staticmethod
    def meta(shape: Shape, dtype=float32, requires_grad: bool = False) -> Tensor:
        """A tensor of this shape and dtype without data."""
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
        if any(n < 0 for n in shape):
            raise ValueError(f"Tensor.meta: negative size in the shape {shape}")
        return wrap(MetaArray(shape, np.dtype(dtype)), requires_grad)

    @property
    def shape(self) -> Shape:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    @property
    def ndim(self) -> int:
        return len(self.array.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take."""
        return self.array.nbytes

    @property
    def itemsize(self) -> int:
        return self.array.dtype.itemsize

    @property
    def storage(self) -> Storage:
        """A token for the memory behind this tensor, equal for all its views."""
        return Storage(self.array)

    @property
    def is_meta(self) -> bool:
        return type(self.array) is MetaArray

    @property
    def is_leaf(self) -> bool:
        return self.node is None

    @property
    def device(self) -> device:
        return META if self.is_meta else CPU

    @property
    def data(self) -> Tensor:
        """The same elements outside the graph, as in torch. `.numpy()` gives the array."""
        return wrap(self.array)

    @data.setter
    def data(self, value: Tensor) -> None:
        self.array = value.array

    def size(self, dim: int | None = None) -> Shape | int:
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        return len(self.array.shape)

    def numel(self) -> int:
        return self.array.size

    nelement = numel
    ndimension = dim

    def element_size(self) -> int:
        return self.itemsize

    def is_floating_point(self) -> bool:
        return self.dtype.kind == "f"

    def is_contiguous(self) -> bool:
        if self.is_meta:
            return self.array._strides is None
        return self.array.flags.c_contiguous

    def detach(self) -> Tensor:
        """The same elements, outside the graph."""
        return wrap(self.array)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if requires_grad and self.dtype.kind != "f":
            raise TypeError(
                f"requires_grad_: only floating-point tensors can require gradients, not "
                f"{self.dtype} of shape {self.shape}"
            )
        self.requires_grad = requires_grad
        return self

    def retain_grad(self) -> None:
        if self.node is not None:
            raise NotImplementedError("retain_grad: only leaf tensors keep a gradient here")

    def numpy(self) -> np.ndarray:
        """The array itself, not a copy. RuntimeError on a tensor in the graph or without data."""
        if self.requires_grad:
            raise RuntimeError(
                f"numpy: a tensor of shape {self.shape} that requires a gradient: detach() it first"
            )
        return elements(self, "numpy")

    def item(self):
        array = elements(self, "item")
        if array.size != 1:
            raise ValueError(f"item: a tensor of shape {self.shape} has not exactly one element")
        return array.item()

    def tolist(self) -> list:
        return elements(self, "tolist").tolist()

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        array = self.numpy()
        return np.array(array, dtype=dtype, copy=copy)

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError(f"a {self.dtype} tensor is no index")
        return int(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]

    __hash__ = object.__hash__  # == compares elements, so that identity has to be the hash

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __repr__(self) -> str:
        notes = ", requires_grad=True" if self.requires_grad else ""
        if self.is_meta:
            return f"Tensor.meta({self.shape}, dtype={self.dtype}{notes})"
        text = np.array2string(self.array, separator=", ", prefix="Tensor(", precision=4)
        kind = "" if self.dtype == float32 else f", dtype={self.dtype}"
        return f"Tensor({text}{kind}{notes})"

    def __reduce__(self):
        return _rebuild, (type(self), self.array, self.requires_grad)

    def __deepcopy__(self, memo) -> Tensor:
        copy = object.__new__(type(self))
        array = MetaArray(self.shape, self.dtype) if self.is_meta else self.array.copy()
        _fill(copy, array, self.requires_grad)
        memo[id(self)] = copy
        return copy

    def __getattr__(self, name: str):
        raise AttributeError(f"proflab's Tensor has no {name!r}; docs/torch.md lists what it has")


def _fill(tensor: Tensor, array: Array, requires_grad: bool) -> None:
    tensor.array = array
    tensor.requires_grad = requires_grad
    tensor.grad = None
    tensor.node = None
    tensor.index = 0


def _rebuild(cls: type, array: Array, requires_grad: bool) -> Tensor:
    tensor = object.__new__(cls)
    _fill(tensor, array, requires_grad)
    return tensor


def wrap(array: Array, requires_grad: bool = False, node=None, index: int = 0) -> Tensor:
    """A tensor around an array as it is: no copy, no conversion, no check."""
    tensor = object.__new__(Tensor)
    tensor.array = array
    tensor.requires_grad = requires_grad
    tensor.grad = None
    tensor.node = node
    tensor.index = index
    return tensor


def as_array(data, dtype=None) -> Array:
    """What a Tensor of `data` holds: float64 becomes float32 unless a dtype is given."""
    if isinstance(data, Tensor):
        data = data.array
    if isinstance(data, MetaArray):
        return data if dtype is None else MetaArray(data.shape, np.dtype(dtype))
    array = np.asarray(data, dtype=dtype)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"Tensor: no tensor can be made of {array.dtype} of shape {array.shape}")
    if dtype is None and array.dtype == float64:
        array = array.astype(float32)
    return MetaArray(array.shape, array.dtype) if meta_depth else array


def elements(tensor: Tensor, asker: str) -> np.ndarray:
    """The array of a tensor that must have one; RuntimeError names who asked."""
    if type(tensor.array) is MetaArray:
        raise RuntimeError(f"{asker}: a meta tensor of shape {tensor.shape} has no data")
    return tensor.array


@contextmanager
def meta() -> Iterator[None]:
    """Inside, every new tensor and parameter has a shape and no data."""
    global meta_depth
    meta_depth += 1
    try:
        yield
    finally:
        meta_depth -= 1
