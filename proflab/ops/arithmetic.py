"""Element by element on two tensors, or a tensor and a number: +, -, *, /, //, %, power.

A Python number as the second operand is an attribute, not an input: it has no shape, no gradient
and no bytes. The operands broadcast; a gradient is summed over the axes that were broadcast.
"""

from __future__ import annotations

import numpy as np

from proflab.creation import as_tensor
from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.convert import as_number, common_dtype, to_dtype, to_float
from proflab.ops.pointwise import floor, trunc
from proflab.shapes import broadcast, unbroadcast
from proflab.tensor import Tensor, float32
from proflab.tensor_methods import in_place, method, operator

__all__ = [
    "add", "div", "divide", "floor_divide", "lerp", "mul", "multiply", "pow", "remainder", "rsub",
    "sub", "subtract", "true_divide",
]  # fmt: skip


class Binary(Op):
    """f(input, other), where other is an array or a number."""

    def shape(self, input, other):
        if isinstance(other, (int, float)):
            return MetaArray(input.shape, input.dtype)
        return MetaArray(broadcast(input.shape, other.shape), np.result_type(input, other.dtype))


@register
class _Add(Binary):
    name = "add"

    def forward(self, input, other):
        return input + other

    def backward(self, node, grad, other=None):
        # grad: the broadcast shape → each operand's shape
        need = node.need
        return (
            unbroadcast(grad, node.specs[0][0]) if need[0] else None,
            unbroadcast(grad, node.specs[1][0]) if other is None and need[1] else None,
        )[: len(need)]  # a number is no input, and gets none


@register
class _Sub(Binary):
    name = "sub"

    def forward(self, input, other):
        return input - other

    def backward(self, node, grad, other=None):
        # grad: the broadcast shape → each operand's shape
        need = node.need
        return (
            unbroadcast(grad, node.specs[0][0]) if need[0] else None,
            -unbroadcast(grad, node.specs[1][0]) if other is None and need[1] else None,
        )[: len(need)]


@register
class _Rsub(Binary):
    """number - input"""

    name = "rsub"

    def forward(self, input, other):
        return other - input

    def backward(self, node, grad, other):
        # grad: (…) → (…)
        return (-grad,)


@register
class _Mul(Binary):
    name = "mul"

    def forward(self, input, other):
        return input * other

    def save_for_backward(self, need, out, input, other):
        if len(need) == 1:
            return ()
        return other if need[0] else None, input if need[1] else None

    def backward(self, node, grad, other=None):
        # grad: the broadcast shape · input, other: their shapes → each operand's shape
        if other is not None:
            return (grad * other,)
        other, input = node.saved
        return (
            unbroadcast(grad * other, node.shape(0)) if node.need[0] else None,
            unbroadcast(grad * input, node.shape(1)) if node.need[1] else None,
        )


@register
class _Div(Binary):
    name = "div"
    suppress_warnings = True

    def forward(self, input, other):
        return input / other

    def save_for_backward(self, need, out, input, other):
        if len(need) == 1:
            return ()
        return other, input if need[1] else None

    def backward(self, node, grad, other=None):
        # grad: the broadcast shape · input, other: their shapes → each operand's shape
        if other is not None:
            return (grad / other,)
        other, input = node.saved
        return (
            unbroadcast(grad / other, node.shape(0)) if node.need[0] else None,
            unbroadcast(-grad * input / (other * other), node.shape(1)) if node.need[1] else None,
        )


@register
class _Rdiv(Binary):
    """number / input"""

    name = "rdiv"
    suppress_warnings = True

    def forward(self, input, other):
        return other / input

    def save_for_backward(self, need, out, input, other):
        return (out,)

    def backward(self, node, grad, other):
        # grad: (…) · out: (…) → (…); the slope of c / x is -c / x² = -out² / c
        (out,) = node.saved
        return (-grad * out * out / other if other else np.zeros_like(grad),)


def _power(input, exponent):
    """Return input ** exponent, with products for exponents 3 and -2, as torch has.

    numpy itself takes a product for 2, a quotient for -1 and a root for 0.5; its power for all
    others goes through a logarithm.
    """
    if isinstance(exponent, (int, float)):
        if exponent == 3:
            return input * input * input
        if exponent == -2 and input.dtype.kind == "f":
            return 1 / (input * input)
    return input**exponent


@register
class _Pow(Binary):
    """input ** other"""

    name = "pow"
    suppress_warnings = True

    def forward(self, input, other):
        return _power(input, other)

    def save_for_backward(self, need, out, input, other):
        return (input,) if len(need) == 1 else (input, other, out if need[1] else None)

    def backward(self, node, grad, other=None):
        # grad, out: the broadcast shape · input, other: their shapes → each operand's shape
        if other is not None:
            (input,) = node.saved
            return (grad * other * _power(input, other - 1) if other else np.zeros_like(grad),)
        input, other, out = node.saved
        grads: list[np.ndarray | None] = [None, None]
        if node.need[0]:
            # Where other is 0 the slope is 0: 0 ** -1 would be inf, and 0 · inf nan.
            slope = np.where(other == 0, 0, other * input ** np.where(other == 0, 1, other - 1))
            grads[0] = unbroadcast(grad * slope.astype(grad.dtype), node.shape(0))
        if node.need[1]:
            log = np.log(np.where(input > 0, input, 1))  # 0 ** y is flat in y
            grads[1] = unbroadcast(grad * out * log, node.shape(1))
        return tuple(grads)


class _Quotient(Op):
    def shape(self, input, other):
        shapes = [input.shape] if as_number(other) is not None else [input.shape, other.shape]
        return MetaArray(broadcast(*shapes), input.dtype)


@register
class _FloorDivide(_Quotient):
    """input // other; flat but for its steps, so no gradient flows through it"""

    name = "floor_divide"

    def forward(self, input, other):
        return input // other

    def backward(self, node, grad, other=None):
        # grad: the broadcast shape → None for each operand
        return (None,) * len(node.need)


@register
class _Remainder(_Quotient):
    """input % other, of the sign of other; the slope in input is 1"""

    name = "remainder"

    def forward(self, input, other):
        return input % other

    def backward(self, node, grad, other=None):
        # grad: the broadcast shape → the input's shape, None
        if len(node.need) > 1 and node.need[1]:
            raise NotImplementedError("remainder: no gradient with respect to the divisor")
        return (unbroadcast(grad, node.shape(0)), None)[: len(node.need)]


def _binary(op, input, other, float_result: bool = False) -> Tensor:
    """Run an op on a tensor and a tensor or a number, brought to one dtype."""
    scalar = as_number(other)
    if scalar is not None:
        if input.array.dtype.kind != "f" and (float_result or type(scalar) is float):
            input = to_dtype(input, float32)
        return apply(op, (input,), other=scalar)
    if not isinstance(other, Tensor):
        other = as_tensor(other)
    if input.array.dtype is not other.array.dtype or float_result:
        input, other = common_dtype(input, other)
        if float_result:
            input, other = to_float(input), to_float(other)
    return apply(op, (input, other))


def as_operand(input, other: Tensor) -> Tensor:
    """Return an operand beside another as a tensor: torch.mul(2, x) takes a number, too."""
    if isinstance(input, Tensor):
        return input
    # In the other's dtype only if that holds any number: in int64 2.5 would be 2, in bool 2 be 1.
    return as_tensor(input, dtype=other.dtype if other.dtype.kind == "f" else None)


@operator("__add__", "__radd__", augmented="__iadd__")
@in_place
@method
def add(input: Tensor, other, *, alpha=1) -> Tensor:
    """Return input + alpha · other; the shapes broadcast."""
    return _binary(_Add, as_operand(input, other), other if alpha == 1 else other * alpha)


@operator("__sub__", augmented="__isub__")
@in_place
@method
def sub(input: Tensor, other, *, alpha=1) -> Tensor:
    """Return input - alpha · other; the shapes broadcast."""
    return _binary(_Sub, as_operand(input, other), other if alpha == 1 else other * alpha)


@operator("__rsub__")
@method
def rsub(input: Tensor, other) -> Tensor:
    """Return other - input."""
    if as_number(other) is None:
        return sub(as_tensor(other), input)
    return _binary(_Rsub, input, other)


@operator("__mul__", "__rmul__", augmented="__imul__")
@in_place
@method
def mul(input: Tensor, other) -> Tensor:
    """Return input · other, element by element; the shapes broadcast."""
    return _binary(_Mul, as_operand(input, other), other)


@operator("__truediv__", augmented="__itruediv__")
@in_place
@method
def div(input: Tensor, other, *, rounding_mode: str | None = None) -> Tensor:
    """Return input / other, never in integers unless a rounding_mode is given.

    rounding_mode: "floor" or "trunc"; ValueError for any other
    """
    if rounding_mode is None:
        return _binary(_Div, as_operand(input, other), other, float_result=True)
    if rounding_mode not in ("floor", "trunc"):
        raise ValueError(f"div: there is no rounding_mode {rounding_mode!r}")
    result = (floor if rounding_mode == "floor" else trunc)(div(input, other))
    integers = input.dtype.kind in "iu" and not isinstance(other, float)
    return to_dtype(result, input.dtype) if integers else result


@operator("__rtruediv__")
def _rdiv(input: Tensor, other) -> Tensor:
    if as_number(other) is None:
        return div(as_tensor(other), input)
    return _binary(_Rdiv, input, other, float_result=True)


@operator("__pow__", augmented="__ipow__")
@in_place
@method
def pow(input, exponent) -> Tensor:
    """Return input ** exponent; one of the two may be a number."""
    return _binary(_Pow, as_operand(input, exponent), exponent)


@operator("__rpow__")
def _rpow(input: Tensor, base) -> Tensor:
    return pow(base, input)


@operator("__floordiv__", augmented="__ifloordiv__")
@method
def floor_divide(input: Tensor, other) -> Tensor:
    """Return input // other, rounded towards minus infinity; no gradient flows through it."""
    return _binary(_FloorDivide, input, other)


@operator("__mod__", augmented="__imod__")
@method
def remainder(input: Tensor, other) -> Tensor:
    """Return input % other, of the sign of other."""
    return _binary(_Remainder, input, other)


def lerp(input: Tensor, end: Tensor, weight) -> Tensor:
    """Return input + weight · (end - input): a point on the way from one to the other."""
    return input + (end - input) * weight


multiply, divide = method(mul, "multiply"), method(div, "divide")
subtract, true_divide = method(sub, "subtract"), method(div, "true_divide")
