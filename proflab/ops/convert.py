"""Dtypes and copies: converting a tensor, bringing two operands to one dtype, cloning."""

from __future__ import annotations

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.tensor import Tensor, bool_, float16, float32, float64, int32, int64
from proflab.tensor_methods import method

__all__ = ["clone"]


@register
class _Convert(Op):
    """The same numbers in another dtype"""

    name = "to"

    def shape(self, input, dtype):
        return MetaArray(input.shape, dtype)

    def forward(self, input, dtype):
        return input.astype(dtype)

    def backward(self, node, grad, dtype):
        # grad: (…) of `dtype` → (…) of the input's dtype
        return (grad.astype(node.specs[0][1]),)


@register
class _Clone(Op):
    """A copy, in memory of its own"""

    name = "clone"

    def shape(self, input):
        return MetaArray(input.shape, input.dtype)

    def forward(self, input):
        return input.copy()

    def backward(self, node, grad):
        # grad: (…) → (…)
        return (grad,)


@method
def clone(input: Tensor) -> Tensor:
    """Return a copy in memory of its own; the gradient flows through it."""
    return apply(_Clone, (input,))


def to_dtype(input: Tensor, dtype) -> Tensor:
    """Return the tensor in another dtype; itself where it has it already."""
    dtype = np.dtype(dtype)
    return input if input.dtype == dtype else apply(_Convert, (input,), dtype=dtype)


def to_float(input: Tensor) -> Tensor:
    """Return the tensor itself if it is floating-point, else in float32, as torch does."""
    return input if input.array.dtype.kind == "f" else to_dtype(input, float32)


_RANK = {"b": 0, "u": 1, "i": 1, "f": 2}


def common_dtype(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return both operands in the dtype of the result, as in torch: int64 + float32 is float32.

    A float operand decides over an integer one whatever their sizes, and so does a tensor with
    dimensions over one without, within the same kind.
    """
    x, y = a.dtype, b.dtype
    if x == y:
        return a, b
    rank_x, rank_y = _RANK[x.kind], _RANK[y.kind]
    if rank_x != rank_y:
        dtype = x if rank_x > rank_y else y
    elif bool(a.ndim) != bool(b.ndim):
        dtype = x if a.ndim else y
    else:
        dtype = np.promote_types(x, y)
    return to_dtype(a, dtype), to_dtype(b, dtype)


def as_number(value) -> bool | int | float | None:
    """Return `value` as a Python number if it is one, or a numpy scalar; None for anything else.

    A numpy float64 would turn float32 tensors into float64; a Python float does not.
    """
    kind = type(value)
    if kind is float or kind is int or kind is bool:
        return value
    return value.item() if isinstance(value, np.generic) else None


@method
def to(input: Tensor, *args, dtype=None, device=None, copy=False, non_blocking=False) -> Tensor:
    """Return the tensor in another dtype, or on another device: "cpu", "meta".

    A tensor among the arguments is an example of both. ValueError for any other device;
    RuntimeError for a tensor without data that is asked to "cpu".
    """
    for arg in args:
        if isinstance(arg, Tensor):
            dtype, device = arg.dtype, arg.device
        elif isinstance(arg, (np.dtype, type)):
            dtype = arg
        elif isinstance(arg, str) and arg in ("cpu", "meta") or type(arg).__name__ == "device":
            device = arg
        else:
            raise ValueError(f"to: {arg!r} is neither a dtype nor the device 'cpu' or 'meta'")
    if device is not None and str(device) not in ("cpu", "meta"):
        raise ValueError(f"to: there is no device {str(device)!r} here, only 'cpu' and 'meta'")
    out = input if dtype is None else to_dtype(input, dtype)
    if str(device) == "meta" and not out.is_meta:
        return Tensor.meta(out.shape, out.dtype, out.requires_grad)
    if str(device) == "cpu" and out.is_meta:
        raise RuntimeError(f"to: a meta tensor of shape {input.shape} has no data")
    return clone(out) if copy and out is input else out


method(to, "type")


@method
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the tensor in another one's dtype."""
    return to_dtype(input, other.dtype)


@method
def cpu(input: Tensor) -> Tensor:
    """Return the tensor itself; RuntimeError if it has no data."""
    return to(input, "cpu")


@method
def cuda(input: Tensor, *args, **kwargs) -> Tensor:
    """Raise ValueError: there is no GPU here."""
    raise ValueError(
        f"cuda: there is no GPU here for a tensor of shape {input.shape}, only the CPU"
    )


def _converter(name: str, dtype: np.dtype) -> None:
    def convert(input: Tensor) -> Tensor:
        return to_dtype(input, dtype)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"Return the tensor in {dtype}; itself where it is in it already."
    method(convert)


for _name, _dtype in (
    ("float", float32), ("double", float64), ("half", float16), ("int", int32), ("long", int64),
    ("bool", bool_),
):  # fmt: skip
    _converter(_name, _dtype)
