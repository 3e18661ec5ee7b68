"""What a tensor can do: the functions of ops/ as its methods and operators.

A method is the function of its name with the tensor as the first argument; a name with an
underscore at its end writes the result into the tensor.
"""

from __future__ import annotations

import numpy as np

from proflab import autograd, creation
from proflab.nn import init
from proflab.ops import (
    activation,
    arithmetic,
    concat,
    indexing,
    matmul,
    pointwise,
    reduce,
    sort,
    views,
    where,
)
from proflab.tensor import Tensor, float16, float32, float64, int32, int64

METHODS = {
    arithmetic: "add sub mul div rsub pow clone multiply divide subtract true_divide",
    where: "maximum minimum masked_fill clamp clip",
    pointwise: """neg negative abs absolute sign square exp exp2 log log2 log10 log1p expm1 sqrt
        rsqrt reciprocal floor ceil round trunc sin cos tan atan arctan tanh sigmoid erf
        eq ne lt le gt ge logical_and logical_or logical_xor logical_not bitwise_and bitwise_or
        bitwise_not isnan isinf isfinite floor_divide remainder""",
    activation: "relu softmax log_softmax",
    reduce: """sum mean prod amax amin var std logsumexp norm cumsum any all argmax argmin allclose
        equal""",
    views: """reshape view view_as reshape_as permute transpose swapaxes swapdims t movedim moveaxis
        expand expand_as broadcast_to flatten unflatten squeeze unsqueeze ravel contiguous""",
    concat: """split chunk unbind narrow select tril triu flip roll repeat tile repeat_interleave""",
    indexing: "gather scatter scatter_add index_select masked_select take_along_dim nonzero",
    sort: "argsort sort topk max min",
    matmul: "matmul mm bmm mv dot outer addmm baddbmm",
}
IN_PLACE = """add sub mul div pow masked_fill clamp neg exp log sqrt rsqrt reciprocal abs floor ceil
    round sigmoid tanh relu tril triu scatter_add scatter"""

OPERATORS = {
    "__add__": arithmetic.add,
    "__radd__": arithmetic.add,
    "__sub__": arithmetic.sub,
    "__rsub__": arithmetic.rsub,
    "__mul__": arithmetic.mul,
    "__rmul__": arithmetic.mul,
    "__truediv__": arithmetic.div,
    "__rtruediv__": arithmetic.rdiv,
    "__pow__": arithmetic.pow,
    "__rpow__": arithmetic.rpow,
    "__floordiv__": pointwise.floor_divide,
    "__mod__": pointwise.remainder,
    "__matmul__": matmul.matmul,
    "__neg__": pointwise.neg,
    "__abs__": pointwise.abs,
    "__invert__": pointwise.logical_not,
    "__and__": pointwise.logical_and,
    "__or__": pointwise.logical_or,
    "__xor__": pointwise.logical_xor,
    "__eq__": pointwise.eq,
    "__ne__": pointwise.ne,
    "__lt__": pointwise.lt,
    "__le__": pointwise.le,
    "__gt__": pointwise.gt,
    "__ge__": pointwise.ge,
    "__getitem__": indexing.getitem,
    "__setitem__": indexing.setitem,
}


def become(self: Tensor, out: Tensor) -> Tensor:
    """From now on this tensor stands for the result `out`, in the graph too."""
    if autograd.enabled and self.requires_grad and self.node is None:
        raise RuntimeError(
            f"in-place: a leaf tensor of shape {self.shape} that requires a gradient cannot be "
            "changed while gradients are recorded"
        )
    self.array, self.node, self.index = out.array, out.node, out.index
    self.requires_grad = out.requires_grad
    return self


def _write(self: Tensor, out: Tensor, name: str) -> Tensor:
    """Put a result in the tensor's place: into its memory, or, in the graph, by `become`."""
    if out.shape != self.shape:
        raise ValueError(f"{name}: a result of shape {out.shape} does not fit into {self.shape}")
    if out.dtype.kind == "f" and self.dtype.kind != "f":
        raise TypeError(f"{name}: a {out.dtype} result does not fit into {self.dtype}")
    if autograd.enabled and (out.requires_grad or self.requires_grad):
        return become(self, out)
    if not self.is_meta:
        if out.is_meta:
            return become(self, out)
        np.copyto(self.array, out.array, casting="same_kind")
    return self


def _in_place(function, name: str):
    def method(self: Tensor, *args, **kwargs) -> Tensor:
        base = self.array.base
        if autograd.enabled and self.node is not None and base is not None:
            if base.size != self.array.size:
                raise RuntimeError(
                    f"{name}: in-place on a part, of shape {self.shape}, of another tensor in the "
                    "graph: use the form that returns a new tensor"
                )
        return _write(self, function(self, *args, **kwargs), name)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`{function.__name__}`, in place."
    return method


def _augmented(function, name: str):
    def method(self: Tensor, other) -> Tensor:
        return _write(self, function(self, other), name)

    method.__name__ = name
    return method


def _to(self: Tensor, *args, dtype=None, device=None, copy=False, non_blocking=False) -> Tensor:
    """In another dtype, or on another device: "cpu", "meta". Takes a tensor as an example, too."""
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
    out = self if dtype is None else arithmetic.to(self, dtype)
    if str(device) == "meta" and not out.is_meta:
        return Tensor.meta(out.shape, out.dtype, out.requires_grad)
    if str(device) == "cpu" and out.is_meta:
        raise RuntimeError(f"to: a meta tensor of shape {self.shape} has no data")
    return arithmetic.clone(out) if copy and out is self else out


def _converter(dtype):
    return lambda self: arithmetic.to(self, dtype)


def _copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """src's elements, written into this tensor."""
    src = arithmetic.to(creation.as_tensor(src), self.dtype)
    return _write(self, src if src.shape == self.shape else views.expand(src, self.shape), "copy_")


def _fill_(self: Tensor, value) -> Tensor:
    """One value everywhere."""
    like = {"dtype": self.dtype, "device": self.device}
    return _write(self, creation.full(self.shape, value, **like), "fill_")


def _new(make):
    """x.new_zeros and the like: dtype and device of x unless told otherwise."""

    def method(self: Tensor, *args, dtype=None, device=None, requires_grad=False) -> Tensor:
        return make(
            *args, dtype=dtype or self.dtype, device=device or self.device,
            requires_grad=requires_grad,
        )  # fmt: skip

    return method


def _random_method(fill):
    def method(self: Tensor, *args, **kwargs) -> Tensor:
        if autograd.enabled and self.requires_grad:
            become(self, self)  # raises for a leaf
        return fill(self, *args, **kwargs)

    return method


def _no_data_device(self: Tensor, *args, **kwargs):
    raise ValueError(f"cuda: there is no GPU here for a tensor of shape {self.shape}, only the CPU")


def _matrix_transpose(self: Tensor) -> Tensor:
    return views.transpose(self, -2, -1)


def _transposed(self: Tensor) -> Tensor:
    return views.permute(self, *reversed(range(self.ndim)))


def _rmatmul(self: Tensor, other) -> Tensor:
    return matmul.matmul(creation.as_tensor(other), self)


def install() -> None:
    """Give the class its methods. Called once, by proflab's __init__."""
    for module, names in METHODS.items():
        for name in names.split():
            setattr(Tensor, name, getattr(module, name))
            if name in IN_PLACE.split():
                setattr(Tensor, f"{name}_", _in_place(getattr(module, name), f"{name}_"))
    for name, function in OPERATORS.items():
        setattr(Tensor, name, function)
    for name in ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod"):
        method = _augmented(OPERATORS[f"__{name}__"], f"__i{name}__")
        setattr(Tensor, f"__i{name}__", method)
    Tensor.__rmatmul__ = _rmatmul
    Tensor.__iter__ = lambda self: iter(concat.unbind(self, 0))
    Tensor.T, Tensor.mT = property(_transposed), property(_matrix_transpose)
    Tensor.backward, Tensor.become = autograd.backward, become
    Tensor.to, Tensor.copy_, Tensor.fill_ = _to, _copy_, _fill_
    Tensor.type = _to
    Tensor.where = lambda self, condition, other: where.where(condition, self, other)
    Tensor.zero_ = lambda self: _fill_(self, 0)
    Tensor.type_as = lambda self, other: arithmetic.to(self, other.dtype)
    Tensor.cpu = lambda self: _to(self, "cpu")
    Tensor.cuda = _no_data_device
    Tensor.detach_ = lambda self: become_leaf(self)
    dtypes = {
        "float": float32, "double": float64, "half": float16, "int": int32, "long": int64,
        "bool": np.dtype(bool),
    }  # fmt: skip
    for name, dtype in dtypes.items():
        setattr(Tensor, name, _converter(dtype))
    for name in ("zeros", "ones", "empty"):
        setattr(Tensor, f"new_{name}", _new(getattr(creation, name)))
    Tensor.new_full = _new(creation.full)
    Tensor.new_tensor = _new(creation.tensor)
    Tensor.normal_ = _random_method(init.normal_)
    Tensor.uniform_ = _random_method(init.uniform_)


def become_leaf(self: Tensor) -> Tensor:
    """detach_: out of the graph, in place."""
    self.node, self.index, self.requires_grad = None, 0, False
    return self
