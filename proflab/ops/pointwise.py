"""Functions of one element: exp, log, tanh, erf … Each keeps its input or its result, whichever the
slope is easier to get from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.convert import to_float
from proflab.tensor import Tensor
from proflab.tensor_methods import in_place, method, named_method, operator

__all__ = [
    "abs", "absolute", "arctan", "atan", "ceil", "cos", "erf", "exp", "exp2", "expm1", "floor",
    "log", "log10", "log1p", "log2", "neg", "negative", "reciprocal", "round", "rsqrt", "sigmoid",
    "sign", "sin", "sqrt", "square", "tan", "tanh", "trunc",
]  # fmt: skip


class Pointwise(Op):
    """One element in, one out."""

    suppress_warnings = True
    slope: Callable[..., np.ndarray]  # of one element, from what is kept
    keeps = "input"  # what slope() is a function of: "input", "result", or "" for a constant slope

    def shape(self, input):
        return MetaArray(input.shape, input.dtype)

    def save_for_backward(self, need, out, input):
        return {"input": (input,), "result": (out,), "": ()}[self.keeps]

    def backward(self, node, grad):
        # grad: (…) · input or result: (…) → (…)
        return (grad * self.slope(*node.saved),)


def sigmoid_array(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x)) of an array."""
    # exp of a negative number only: no overflow, and small results keep their digits.
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


# numpy has no erf. This one is a quotient of two polynomials in x², times x, on [-4, 4] (beyond,
# erf is 1 in float32). The coefficients are those of Eigen's `erf` for float, a minimax fit. The
# tests hold the error against Python's exact `math.erf`.
_ABOVE = (
    -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
    -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02,
)  # fmt: skip
_BELOW = (
    -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03,
    -1.42647390514189e-02,
)  # fmt: skip

_erf_exact = np.vectorize(math.erf, otypes=[np.float64])


def erf_array(x: np.ndarray) -> np.ndarray:
    """Return erf of every element; float64 is exact and slow, everything else is within 5e-7."""
    if x.dtype == np.float64:
        return _erf_exact(x) if x.size else x.copy()
    return in_blocks(_erf_float32, x)


def _erf_float32(x: np.ndarray) -> np.ndarray:
    x = np.clip(x, -4, 4)
    x2 = x * x
    x *= _horner(_ABOVE, x2)
    x /= _horner(_BELOW, x2)
    return x


def _horner(coefficients: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    """Return the polynomial with these coefficients, highest power first."""
    result = x * coefficients[0]
    for c in coefficients[1:-1]:
        result += c
        result *= x
    result += coefficients[-1]
    return result


def in_blocks(function, *arrays: np.ndarray, block: int = 1 << 14) -> np.ndarray:
    """Apply an elementwise function to arrays of one shape, in pieces that fit in the cache.

    A formula of ten steps passes ten times over its array; from main memory that is what it
    costs, from the cache almost nothing.
    """
    first = arrays[0]
    if not first.shape:  # numpy would hand its functions scalars, which cannot be written to
        return function(*(a.reshape(1) for a in arrays)).reshape(())
    if first.size <= block:
        return function(*arrays)
    flat = [np.ascontiguousarray(a).reshape(-1) for a in arrays]
    out = np.empty(first.size, first.dtype)
    for start in range(0, first.size, block):
        stop = start + block
        out[start:stop] = function(*(a[start:stop] for a in flat))
    return out.reshape(first.shape)


class OfTensor(Protocol):
    """A function of one tensor."""

    def __call__(self, input: Tensor) -> Tensor: ...


def _zero():
    return 0


_LN2, _LN10 = math.log(2), math.log(10)


def _pointwise(
    op_name: str, doc: str, function, slope_of, kept: str = "input", *, integers: bool = False
) -> OfTensor:
    """Return an op as the function of a tensor, which is a method, too.

    function: of an array. slope_of: of what is kept, as `Pointwise.keeps` says it.
    integers: can they come out? Where not, an integer tensor is converted to float32 first.
    """

    class Elementwise(Pointwise):
        name = op_name
        keeps = kept
        slope = staticmethod(slope_of)

        def forward(self, input):
            return function(input)

    op = register(Elementwise)

    def of_tensor(input: Tensor) -> Tensor:
        return apply(op, (input if integers else to_float(input),))

    return named_method(of_tensor, op_name, doc)


# An op a row: its name, its docstring, numpy's function, the slope, and what that is a function of.
neg = _pointwise("neg", "Return -input.", np.negative, lambda: -1, "", integers=True)
abs = _pointwise("abs", "Return |input|.", np.abs, np.sign, integers=True)
sign = _pointwise(
    "sign", "Return -1, 0 or 1, the sign of each element.", np.sign, _zero, "", integers=True
)
square = _pointwise("square", "Return input².", np.square, lambda x: 2 * x, integers=True)
exp = _pointwise("exp", "Return e ** input.", np.exp, lambda y: y, "result")
exp2 = _pointwise("exp2", "Return 2 ** input.", np.exp2, lambda y: y * _LN2, "result")
log = _pointwise("log", "Return the natural logarithm; nan below 0.", np.log, lambda x: 1 / x)
log2 = _pointwise("log2", "Return the logarithm to base 2.", np.log2, lambda x: 1 / (x * _LN2))
log10 = _pointwise("log10", "Return the logarithm to base 10.", np.log10, lambda x: 1 / (x * _LN10))
log1p = _pointwise("log1p", "Return log(1 + input), exact near 0.", np.log1p, lambda x: 1 / (1 + x))
expm1 = _pointwise(
    "expm1", "Return exp(input) - 1, exact near 0.", np.expm1, lambda y: y + 1, "result"
)
sqrt = _pointwise(
    "sqrt", "Return the square root; nan below 0.", np.sqrt, lambda y: 0.5 / y, "result"
)
rsqrt = _pointwise(
    "rsqrt",
    "Return 1 / sqrt(input).",
    lambda x: 1 / np.sqrt(x),
    lambda y: -0.5 * y * y * y,
    "result",
)
reciprocal = _pointwise(
    "reciprocal", "Return 1 / input.", lambda x: 1 / x, lambda y: -y * y, "result"
)
floor = _pointwise("floor", "Return the next integer below, as a float.", np.floor, _zero, "")
ceil = _pointwise("ceil", "Return the next integer above, as a float.", np.ceil, _zero, "")
round = _pointwise(
    "round",
    "Return the nearest integer, as a float; halves go to the even one.",
    np.round,
    _zero,
    "",
)
trunc = _pointwise("trunc", "Return the integer part, as a float.", np.trunc, _zero, "")
sin = _pointwise("sin", "Return the sine; input in radians.", np.sin, np.cos)
cos = _pointwise("cos", "Return the cosine; input in radians.", np.cos, lambda x: -np.sin(x))
tan = _pointwise(
    "tan", "Return the tangent; input in radians.", np.tan, lambda y: 1 + y * y, "result"
)
atan = _pointwise(
    "atan", "Return the inverse tangent, in radians.", np.arctan, lambda x: 1 / (1 + x * x)
)
tanh = _pointwise("tanh", "Return the hyperbolic tangent.", np.tanh, lambda y: 1 - y * y, "result")
sigmoid = _pointwise(
    "sigmoid", "Return 1 / (1 + exp(-input)).", sigmoid_array, lambda y: y * (1 - y), "result"
)
erf = _pointwise(
    "erf",
    "Return the error function, 2/√π · ∫ exp(-t²) dt from 0 to input.",
    erf_array,
    lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
)

# What can be written into its tensor, by `x.neg_()`, and what is an operator or has a second name.
operator("__neg__")(neg)
operator("__abs__")(abs)
for _function in (
    neg, abs, exp, log, sqrt, rsqrt, reciprocal, floor, ceil, round, tanh, sigmoid,
):  # fmt: skip
    in_place(_function)
negative, absolute = method(neg, "negative"), method(abs, "absolute")
arctan = method(atan, "arctan")
