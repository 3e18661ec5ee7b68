"""Element by element on one or two tensors: +, -, *, /, power, conversion.

A Python number as the second operand is an attribute, not an input: it has no shape, no gradient
and no bytes. The operands broadcast; a gradient is summed over the axes that were broadcast.
"""

from __future__ import annotations

import numpy as np

from proflab.creation import as_tensor
from proflab.dispatch import Op, apply, register
from proflab.shapes import MetaArray, broadcast, unbroadcast
from proflab.tensor import Tensor, float32, wrap


class Binary(Op):
    """f(input, other), where other is an array or a number."""

    def shape(self, input, other):
        if isinstance(other, (int, float)):
            return MetaArray(input.shape, input.dtype)
        return MetaArray(broadcast(input.shape, other.shape), np.result_type(input, other.dtype))


@register
class Add(Binary):
    name = "add"

    def forward(self, input, other):
        return input + other

    def backward(self, node, grad, other=None):
        need = node.need
        return (
            unbroadcast(grad, node.specs[0][0]) if need[0] else None,
            unbroadcast(grad, node.specs[1][0]) if other is None and need[1] else None,
        )[: len(need)]


@register
class Sub(Binary):
    name = "sub"

    def forward(self, input, other):
        return input - other

    def backward(self, node, grad, other=None):
        need = node.need
        return (
            unbroadcast(grad, node.specs[0][0]) if need[0] else None,
            -unbroadcast(grad, node.specs[1][0]) if other is None and need[1] else None,
        )[: len(need)]


@register
class Rsub(Binary):
    """number - input"""

    name = "rsub"

    def forward(self, input, other):
        return other - input

    def backward(self, node, grad, other):
        return (-grad,)


@register
class Mul(Binary):
    name = "mul"

    def forward(self, input, other):
        return input * other

    def keep(self, need, out, input, other):
        if len(need) == 1:
            return ()
        return other if need[0] else None, input if need[1] else None

    def backward(self, node, grad, other=None):
        if other is not None:
            return (grad * other,)
        other, input = node.saved
        return (
            unbroadcast(grad * other, node.shape(0)) if node.need[0] else None,
            unbroadcast(grad * input, node.shape(1)) if node.need[1] else None,
        )


@register
class Div(Binary):
    name = "div"
    loud = True

    def forward(self, input, other):
        return input / other

    def keep(self, need, out, input, other):
        if len(need) == 1:
            return ()
        return other, input if need[1] else None

    def backward(self, node, grad, other=None):
        if other is not None:
            return (grad / other,)
        other, input = node.saved
        return (
            unbroadcast(grad / other, node.shape(0)) if node.need[0] else None,
            unbroadcast(-grad * input / (other * other), node.shape(1)) if node.need[1] else None,
        )


@register
class Rdiv(Binary):
    """number / input"""

    name = "rdiv"
    loud = True

    def forward(self, input, other):
        return other / input

    def keep(self, need, out, input, other):
        return (out,)

    def backward(self, node, grad, other):
        (out,) = node.saved
        return (-grad * out * out / other if other else np.zeros_like(grad),)


@register
class Pow(Binary):
    """input ** other"""

    name = "pow"
    loud = True

    def forward(self, input, other):
        return input**other

    def keep(self, need, out, input, other):
        return (input,) if len(need) == 1 else (input, other, out if need[1] else None)

    def backward(self, node, grad, other=None):
        if other is not None:
            (input,) = node.saved
            return (grad * other * input ** (other - 1) if other else np.zeros_like(grad),)
        input, other, out = node.saved
        grads = [None, None]
        if node.need[0]:
            slope = np.where(other == 0, 0, other * input ** np.where(other == 0, 1, other - 1))
            grads[0] = unbroadcast(grad * slope.astype(grad.dtype), node.shape(0))
        if node.need[1]:
            log = np.log(np.where(input > 0, input, 1))  # 0 ** y is flat in y
            grads[1] = unbroadcast(grad * out * log, node.shape(1))
        return tuple(grads)


@register
class Convert(Op):
    """The same numbers in another dtype"""

    name = "to"

    def shape(self, input, dtype):
        return MetaArray(input.shape, dtype)

    def forward(self, input, dtype):
        return input.astype(dtype)

    def backward(self, node, grad, dtype):
        return (grad.astype(node.specs[0][1]),)


@register
class Clone(Op):
    """A copy, in memory of its own"""

    name = "clone"

    def shape(self, input):
        return MetaArray(input.shape, input.dtype)

    def forward(self, input):
        return input.copy()

    def backward(self, node, grad):
        return (grad,)


_RANK = {"b": 0, "u": 1, "i": 1, "f": 2}


def common_dtype(a: Tensor, b: Tensor, float_result: bool = False) -> tuple[Tensor, Tensor]:
    """Both operands in the dtype of the result, as torch has it: int64 + float32 is float32.

    A float operand decides over an integer one whatever their sizes, and so does a tensor with
    dimensions over one without, within the same kind.
    """
    x, y = a.dtype, b.dtype
    if x != y:
        rank_x, rank_y = _RANK[x.kind], _RANK[y.kind]
        if rank_x != rank_y:
            dtype = x if rank_x > rank_y else y
        elif bool(a.ndim) != bool(b.ndim):
            dtype = x if a.ndim else y
        else:
            dtype = np.promote_types(x, y)
        a, b = to(a, dtype), to(b, dtype)
    if float_result and a.dtype.kind != "f":
        a, b = to(a, float32), to(b, float32)
    return a, b


def number(value) -> bool | int | float | None:
    """A Python number, where `value` is one or a numpy scalar; None for anything else.

    A numpy float64 would turn float32 tensors into float64; a Python float does not.
    """
    kind = type(value)
    if kind is float or kind is int or kind is bool:
        return value
    return value.item() if isinstance(value, np.generic) else None


def binary(op: Op, input, other, float_result: bool = False) -> Tensor:
    """Run a Binary op on a tensor and a tensor or a number."""
    scalar = number(other)
    if scalar is not None:
        if input.array.dtype.kind != "f" and (float_result or type(scalar) is float):
            input = to(input, float32)
        return apply(op, (input,), other=scalar)
    if not isinstance(other, Tensor):
        other = as_tensor(other)
    if input.array.dtype is not other.array.dtype or float_result:
        input, other = common_dtype(input, other, float_result)
    return apply(op, (input, other))


def to(input: Tensor, dtype) -> Tensor:
    """The tensor in another dtype; itself where it has it already."""
    dtype = np.dtype(dtype)
    return input if input.dtype == dtype else apply(Convert, (input,), dtype=dtype)


def _first_a_tensor(input, other):
    """For functions that also take a number first: torch.mul(2, x)."""
    return input if isinstance(input, Tensor) else as_tensor(input, dtype=other.dtype)


def add(input: Tensor, other, *, alpha=1) -> Tensor:
    """input + alpha * other"""
    return binary(Add, _first_a_tensor(input, other), other if alpha == 1 else other * alpha)


def sub(input: Tensor, other, *, alpha=1) -> Tensor:
    """input - alpha * other"""
    return binary(Sub, _first_a_tensor(input, other), other if alpha == 1 else other * alpha)


def rsub(input: Tensor, other) -> Tensor:
    """other - input"""
    if number(other) is None:
        return sub(as_tensor(other), input)
    return binary(Rsub, input, other)


def mul(input: Tensor, other) -> Tensor:
    """input * other"""
    return binary(Mul, _first_a_tensor(input, other), other)


def div(input: Tensor, other, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, never an integer unless a rounding_mode, "floor" or "trunc", is given."""
    if rounding_mode is None:
        return binary(Div, _first_a_tensor(input, other), other, float_result=True)
    from proflab.ops.pointwise import floor, trunc

    if rounding_mode not in ("floor", "trunc"):
        raise ValueError(f"div: there is no rounding_mode {rounding_mode!r}")
    result = (floor if rounding_mode == "floor" else trunc)(div(input, other))
    integers = input.dtype.kind in "iu" and not isinstance(other, float)
    return to(result, input.dtype) if integers else result


def rdiv(input: Tensor, other) -> Tensor:
    """other / input"""
    if number(other) is None:
        return div(as_tensor(other), input)
    return binary(Rdiv, input, other, float_result=True)


def pow(input, exponent) -> Tensor:
    """input ** exponent"""
    if not isinstance(input, Tensor):
        input = wrap(np.asarray(input, exponent.dtype))
    return binary(Pow, input, exponent)


def rpow(input: Tensor, base) -> Tensor:
    """base ** input"""
    return pow(base, input)


def clone(input: Tensor) -> Tensor:
    return apply(Clone, (input,))


multiply, divide, subtract, true_divide = mul, div, sub, div
