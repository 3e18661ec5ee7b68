"""Install functions as methods of Tensor, and define the methods that need no op.

A function of ops/ says above its `def` what it becomes, so that an op stands in one file:

    @operator("__add__", "__radd__", augmented="__iadd__")  # x + y, 2 + x, x += y
    @in_place                                               # x.add_(y) writes the result into x
    @method                                                 # x.add(y)
    def add(input, other): ...

tensor.pyi, from which an editor knows them, is generated: `make api`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import numpy as np

from proflab import dispatch, graph
from proflab.meta import Array, MetaArray
from proflab.shapes import Shape
from proflab.tensor import Tensor, elements, wrap

_F = TypeVar("_F", bound=Callable)


def method(function: _F, name: str | None = None) -> _F:
    """Make a function a method of Tensor: its first argument is the tensor. A decorator.

    name: what the method is called; the function's own name if left out

    ValueError if Tensor has a method of that name.
    """
    name = name or function.__name__
    if name in vars(Tensor):
        raise ValueError(f"Tensor has a method {name!r} already")
    setattr(Tensor, name, function)
    return function


def named_method(function: _F, name: str, doc: str) -> _F:
    """Make a function that is written once for many ops a method of Tensor under an op's name.

    Tracebacks and profiles take a name from the code: without it cProfile adds up all such ops.
    """
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return method(function)


def in_place(function: _F) -> _F:
    """Add the method `<name>_`, which writes the function's result into the tensor. A decorator."""
    name = f"{function.__name__}_"

    @wraps(function)
    def write(self: Tensor, *args, **kwargs) -> Tensor:
        base = self.array.base
        if graph.enabled and self.node is not None and base is not None:
            # `become` changes this tensor alone: in the one that it is a part of, nothing would be.
            if base.size != self.array.size:
                raise RuntimeError(
                    f"{name}: in-place on a part, of shape {self.shape}, of another tensor in the "
                    "graph: use the form that returns a new tensor"
                )
        return write_into(self, function(self, *args, **kwargs), name)

    write.__name__ = write.__qualname__ = name
    write.__doc__ = f"Write the result of `{function.__name__}` into this tensor, and return it."
    setattr(Tensor, name, write)
    return function


def operator(*names: str, augmented: str = "") -> Callable[[_F], _F]:
    """Make a function the operators of these names. A decorator.

    augmented: "__iadd__" and the like, which writes the function's result into the tensor
    """

    def mark(function: _F) -> _F:
        for name in names:
            setattr(Tensor, name, function)
        if augmented:
            setattr(Tensor, augmented, _augmented(function, augmented))
        return function

    return mark


def _augmented(function: Callable, name: str) -> Callable:
    # Of a part, too, unlike `in_place`: `x[0] += 1` puts the part back by `x[0] = …` (indexing.py).
    def write(self: Tensor, other) -> Tensor:
        return write_into(self, function(self, other), name)

    write.__name__ = write.__qualname__ = name
    return write


def give_property(name: str, get: Callable, set: Callable | None = None) -> None:
    """Give Tensor a property of this name, which is read, and perhaps written, by functions."""
    setattr(Tensor, name, property(get, set))


def write_into(tensor: Tensor, out: Tensor, name: str) -> Tensor:
    """Put a result in a tensor's place: into its memory, or, in the graph, by `become`.

    ValueError if the shapes differ, TypeError for floating-point numbers into integers.
    """
    if out.shape != tensor.shape:
        raise ValueError(f"{name}: a result of shape {out.shape} does not fit into {tensor.shape}")
    if out.dtype.kind == "f" and tensor.dtype.kind != "f":
        raise TypeError(f"{name}: a {out.dtype} result does not fit into {tensor.dtype}")
    if graph.enabled and (out.requires_grad or tensor.requires_grad):
        return become(tensor, out)
    if dispatch.tracer:
        return dispatch.tracer.write(tensor, out)
    if isinstance(tensor.array, np.ndarray):
        if not isinstance(out.array, np.ndarray):
            return become(tensor, out)  # a result without data leaves it without data
        np.copyto(tensor.array, out.array, casting="same_kind")
    return tensor


def become(tensor: Tensor, out: Tensor) -> Tensor:
    """Let a tensor stand for the result `out` from now on, in the graph too; return it."""
    check_writable(tensor, "in-place")
    tensor.array, tensor.node, tensor.index = out.array, out.node, out.index
    tensor.requires_grad = out.requires_grad
    return tensor


def check_writable(tensor: Tensor, asker: str) -> None:
    """Raise RuntimeError for a leaf that requires a gradient, while gradients are recorded."""
    if graph.enabled and tensor.requires_grad and tensor.node is None:
        raise RuntimeError(
            f"{asker}: a leaf tensor of shape {tensor.shape} that requires a gradient cannot be "
            "changed while gradients are recorded"
        )


# Places and sizes


class device(str):
    """The place of a tensor: "cpu", or "meta" for one that has no data."""

    @property
    def type(self) -> str:
        return str(self)


_CPU, _META = device("cpu"), device("meta")


def _device(input: Tensor) -> device:
    """Return the device: "cpu", or "meta" for a tensor without data."""
    return _META if input.is_meta else _CPU


give_property("device", _device)


@method
def size(input: Tensor, dim: int | None = None) -> Shape | int:
    """Return the shape, or the size of one dimension."""
    return input.shape if dim is None else input.shape[dim]


@method
def dim(input: Tensor) -> int:
    """Return the number of dimensions."""
    return len(input.array.shape)


@method
def is_contiguous(input: Tensor) -> bool:
    """Return True if the elements lie row by row, without gaps."""
    array = input.array
    return array.is_contiguous if isinstance(array, MetaArray) else array.flags.c_contiguous


@method
def is_floating_point(input: Tensor) -> bool:
    """Return True for float16, float32 and float64."""
    return input.dtype.kind == "f"


@method
def element_size(input: Tensor) -> int:
    """Return the bytes that one element takes."""
    return input.itemsize


ndimension = method(dim, "ndimension")
nelement = method(Tensor.numel, "nelement")

# The graph


def _data(input: Tensor) -> Tensor:
    """Return the same elements outside the graph, as in torch. `.numpy()` gives the array."""
    return wrap(input.array)


def _set_data(input: Tensor, value: Tensor) -> None:
    input.array = value.array


give_property("data", _data, _set_data)


@method
def detach_(input: Tensor) -> Tensor:
    """Take this tensor out of the graph, and return it."""
    input.node, input.index, input.requires_grad = None, 0, False
    return input


# Reading: numbers, lists, numpy


@method
def item(input: Tensor) -> float | int | bool:
    """Return the only element as a Python number; ValueError if there is not exactly one."""
    array = elements(input, "item")
    if array.size != 1:
        raise ValueError(f"item: a tensor of shape {input.shape} has not exactly one element")
    return array.item()


@method
def tolist(input: Tensor) -> list:
    """Return the elements as Python numbers in nested lists."""
    return elements(input, "tolist").tolist()


@operator("__array__")
def _array(input: Tensor, dtype=None, copy=None) -> np.ndarray:
    return np.array(input.numpy(), dtype=dtype, copy=copy)


@operator("__bool__")
def _bool(input: Tensor) -> bool:
    return bool(input.item())


@operator("__float__")
def _float(input: Tensor) -> float:
    return float(input.item())


@operator("__int__")
def _int(input: Tensor) -> int:
    return int(input.item())


@operator("__index__")
def _index(input: Tensor) -> int:
    if input.dtype.kind not in "iu":
        raise TypeError(f"a {input.dtype} tensor is no index")
    return int(input.item())


@operator("__len__")
def _len(input: Tensor) -> int:
    if not input.shape:
        raise TypeError("a tensor without dimensions has no length")
    return input.shape[0]


@operator("__format__")
def _format(input: Tensor, spec: str) -> str:
    return format(input.item(), spec) if spec else str(input)


# Copies: pickle and copy.deepcopy


def _new(cls: type, array: Array, requires_grad: bool) -> Tensor:
    """Return a leaf of a subclass, as `wrap` does of Tensor."""
    tensor: Tensor = object.__new__(cls)
    tensor.array, tensor.requires_grad = array, requires_grad
    tensor.grad, tensor.node, tensor.index = None, None, 0
    return tensor


@operator("__reduce__")
def _reduce(input: Tensor) -> tuple:
    return _new, (type(input), input.array, input.requires_grad)


@operator("__deepcopy__")
def _deepcopy(input: Tensor, memo: dict) -> Tensor:
    given = input.array
    array = given.copy() if isinstance(given, np.ndarray) else MetaArray(given.shape, given.dtype)
    copy = memo[id(input)] = _new(type(input), array, input.requires_grad)
    return copy
