"""Functions of one element: exp, log, tanh, erf … Each keeps its input or its result, whichever the
slope is easier to get from.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.convert import to_float
from proflab.tensor import Tensor
from proflab.tensor_methods import in_place, method, operator

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


def _pointwise(op_name: str, function, slope_of, kept: str = "input") -> Op:
    """Return the op of two numpy expressions: the function, and its slope from what is kept."""

    class Element(Pointwise):
        name = op_name
        keeps = kept
        slope = staticmethod(slope_of)

        def forward(self, input):
            return function(input)

    return register(Element)


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


def _zero():
    return 0


_LN2, _LN10 = math.log(2), math.log(10)
_NEG = _pointwise("neg", np.negative, lambda: -1, "")
_EXP = _pointwise("exp", np.exp, lambda y: y, "result")
_EXP2 = _pointwise("exp2", np.exp2, lambda y: y * _LN2, "result")
_LOG = _pointwise("log", np.log, lambda x: 1 / x)
_LOG2 = _pointwise("log2", np.log2, lambda x: 1 / (x * _LN2))
_LOG10 = _pointwise("log10", np.log10, lambda x: 1 / (x * _LN10))
_LOG1P = _pointwise("log1p", np.log1p, lambda x: 1 / (1 + x))
_EXPM1 = _pointwise("expm1", np.expm1, lambda y: y + 1, "result")
_SQRT = _pointwise("sqrt", np.sqrt, lambda y: 0.5 / y, "result")
_RSQRT = _pointwise("rsqrt", lambda x: 1 / np.sqrt(x), lambda y: -0.5 * y * y * y, "result")
_RECIPROCAL = _pointwise("reciprocal", lambda x: 1 / x, lambda y: -y * y, "result")
_SQUARE = _pointwise("square", np.square, lambda x: 2 * x)
_ABS = _pointwise("abs", np.abs, np.sign)
_SIGN = _pointwise("sign", np.sign, _zero, "")
_FLOOR = _pointwise("floor", np.floor, _zero, "")
_CEIL = _pointwise("ceil", np.ceil, _zero, "")
_ROUND = _pointwise("round", np.round, _zero, "")
_TRUNC = _pointwise("trunc", np.trunc, _zero, "")
_SIN = _pointwise("sin", np.sin, np.cos)
_COS = _pointwise("cos", np.cos, lambda x: -np.sin(x))
_TAN = _pointwise("tan", np.tan, lambda y: 1 + y * y, "result")
_ATAN = _pointwise("atan", np.arctan, lambda x: 1 / (1 + x * x))
_TANH = _pointwise("tanh", np.tanh, lambda y: 1 - y * y, "result")
_SIGMOID = _pointwise("sigmoid", sigmoid_array, lambda y: y * (1 - y), "result")
_ERF = _pointwise("erf", erf_array, lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x))

# The functions. Where no integer can come out, an integer tensor is converted to float32 first.


@operator("__neg__")
@in_place
@method
def neg(input: Tensor) -> Tensor:
    """Return -input."""
    return apply(_NEG, (input,))


@operator("__abs__")
@in_place
@method
def abs(input: Tensor) -> Tensor:
    """Return |input|."""
    return apply(_ABS, (input,))


@method
def sign(input: Tensor) -> Tensor:
    """Return -1, 0 or 1, the sign of each element."""
    return apply(_SIGN, (input,))


@method
def square(input: Tensor) -> Tensor:
    """Return input²."""
    return apply(_SQUARE, (input,))


@in_place
@method
def exp(input: Tensor) -> Tensor:
    """Return e ** input."""
    return apply(_EXP, (to_float(input),))


@method
def exp2(input: Tensor) -> Tensor:
    """Return 2 ** input."""
    return apply(_EXP2, (to_float(input),))


@in_place
@method
def log(input: Tensor) -> Tensor:
    """Return the natural logarithm; nan below 0."""
    return apply(_LOG, (to_float(input),))


@method
def log2(input: Tensor) -> Tensor:
    """Return the logarithm to base 2."""
    return apply(_LOG2, (to_float(input),))


@method
def log10(input: Tensor) -> Tensor:
    """Return the logarithm to base 10."""
    return apply(_LOG10, (to_float(input),))


@method
def log1p(input: Tensor) -> Tensor:
    """Return log(1 + input), exact near 0."""
    return apply(_LOG1P, (to_float(input),))


@method
def expm1(input: Tensor) -> Tensor:
    """Return exp(input) - 1, exact near 0."""
    return apply(_EXPM1, (to_float(input),))


@in_place
@method
def sqrt(input: Tensor) -> Tensor:
    """Return the square root; nan below 0."""
    return apply(_SQRT, (to_float(input),))


@in_place
@method
def rsqrt(input: Tensor) -> Tensor:
    """Return 1 / sqrt(input)."""
    return apply(_RSQRT, (to_float(input),))


@in_place
@method
def reciprocal(input: Tensor) -> Tensor:
    """Return 1 / input."""
    return apply(_RECIPROCAL, (to_float(input),))


@in_place
@method
def floor(input: Tensor) -> Tensor:
    """Return the next integer below, as a float."""
    return apply(_FLOOR, (to_float(input),))


@in_place
@method
def ceil(input: Tensor) -> Tensor:
    """Return the next integer above, as a float."""
    return apply(_CEIL, (to_float(input),))


@in_place
@method
def round(input: Tensor) -> Tensor:
    """Return the nearest integer, as a float; halves go to the even one."""
    return apply(_ROUND, (to_float(input),))


@method
def trunc(input: Tensor) -> Tensor:
    """Return the integer part, as a float."""
    return apply(_TRUNC, (to_float(input),))


@method
def sin(input: Tensor) -> Tensor:
    """Return the sine; input in radians."""
    return apply(_SIN, (to_float(input),))


@method
def cos(input: Tensor) -> Tensor:
    """Return the cosine; input in radians."""
    return apply(_COS, (to_float(input),))


@method
def tan(input: Tensor) -> Tensor:
    """Return the tangent; input in radians."""
    return apply(_TAN, (to_float(input),))


@method
def atan(input: Tensor) -> Tensor:
    """Return the inverse tangent, in radians."""
    return apply(_ATAN, (to_float(input),))


@in_place
@method
def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent."""
    return apply(_TANH, (to_float(input),))


@in_place
@method
def sigmoid(input: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-input))."""
    return apply(_SIGMOID, (to_float(input),))


@method
def erf(input: Tensor) -> Tensor:
    """Return the error function, 2/√π · ∫ exp(-t²) dt from 0 to input."""
    return apply(_ERF, (to_float(input),))


negative, absolute = method(neg, "negative"), method(abs, "absolute")
arctan = method(atan, "arctan")
