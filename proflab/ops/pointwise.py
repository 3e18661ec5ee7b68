"""Functions of one element: exp, log, tanh … Each keeps its input or its result, whichever the
slope is easier to get from. Also comparisons, whose results are boolean and have no gradient.
"""

from __future__ import annotations

import numpy as np

from proflab.creation import as_tensor
from proflab.dispatch import Op, apply, register
from proflab.ops.arithmetic import binary, common_dtype, number, to
from proflab.ops.erf import erf as erf_array
from proflab.shapes import MetaArray, broadcast, unbroadcast
from proflab.tensor import Tensor, bool_, float32


class Pointwise(Op):
    """One element in, one out."""

    loud = True
    keeps = "input"  # what slope() is a function of: "input", "result", or "" for a constant slope

    def shape(self, input):
        return MetaArray(input.shape, input.dtype)

    def keep(self, need, out, input):
        return {"input": (input,), "result": (out,), "": ()}[self.keeps]

    def backward(self, node, grad):
        return (grad * self.slope(*node.saved),)


def _pointwise(op_name: str, function, slope_of, kept: str = "input") -> Op:
    """An op and its function from two numpy expressions."""

    class Function(Pointwise):
        name = op_name
        keeps = kept
        slope = staticmethod(slope_of)

        def forward(self, input):
            return function(input)

    return register(Function)


def _sigmoid(x):
    # exp of a negative number only: no overflow, and small results keep their digits.
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)


def _zero():
    return 0


Neg = _pointwise("neg", np.negative, lambda: -1, "")
Exp = _pointwise("exp", np.exp, lambda y: y, "result")
Exp2 = _pointwise("exp2", np.exp2, lambda y: y * float(np.log(2)), "result")
Log = _pointwise("log", np.log, lambda x: 1 / x)
Log2 = _pointwise("log2", np.log2, lambda x: 1 / (x * float(np.log(2))))
Log10 = _pointwise("log10", np.log10, lambda x: 1 / (x * float(np.log(10))))
Log1p = _pointwise("log1p", np.log1p, lambda x: 1 / (1 + x))
Expm1 = _pointwise("expm1", np.expm1, lambda y: y + 1, "result")
Sqrt = _pointwise("sqrt", np.sqrt, lambda y: 0.5 / y, "result")
Rsqrt = _pointwise("rsqrt", lambda x: 1 / np.sqrt(x), lambda y: -0.5 * y * y * y, "result")
Reciprocal = _pointwise("reciprocal", lambda x: 1 / x, lambda y: -y * y, "result")
Square = _pointwise("square", np.square, lambda x: 2 * x)
Abs = _pointwise("abs", np.abs, np.sign)
Sign = _pointwise("sign", np.sign, _zero, "")
Floor = _pointwise("floor", np.floor, _zero, "")
Ceil = _pointwise("ceil", np.ceil, _zero, "")
Round = _pointwise("round", np.round, _zero, "")
Trunc = _pointwise("trunc", np.trunc, _zero, "")
Sin = _pointwise("sin", np.sin, np.cos)
Cos = _pointwise("cos", np.cos, lambda x: -np.sin(x))
Tan = _pointwise("tan", np.tan, lambda y: 1 + y * y, "result")
Atan = _pointwise("atan", np.arctan, lambda x: 1 / (1 + x * x))
Tanh = _pointwise("tanh", np.tanh, lambda y: 1 - y * y, "result")
Sigmoid = _pointwise("sigmoid", _sigmoid, lambda y: y * (1 - y), "result")
Erf = _pointwise("erf", erf_array, lambda x: float(2 / np.sqrt(np.pi)) * np.exp(-x * x))


def _function(op: Op, doc: str, integers_too: bool = False):
    """The function of an op; an integer tensor is converted to float32 first, as in torch."""

    def function(input: Tensor) -> Tensor:
        if not integers_too and input.array.dtype.kind != "f":
            input = to(input, float32)
        return apply(op, (input,))

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = doc
    return function


neg = negative = _function(Neg, "-input", integers_too=True)
abs = absolute = _function(Abs, "|input|", integers_too=True)
sign = _function(Sign, "-1, 0 or 1", integers_too=True)
square = _function(Square, "input ** 2", integers_too=True)
exp = _function(Exp, "e ** input")
exp2 = _function(Exp2, "2 ** input")
log = _function(Log, "The natural logarithm")
log2 = _function(Log2, "The logarithm to base 2")
log10 = _function(Log10, "The logarithm to base 10")
log1p = _function(Log1p, "log(1 + input), exact near 0")
expm1 = _function(Expm1, "exp(input) - 1, exact near 0")
sqrt = _function(Sqrt, "The square root")
rsqrt = _function(Rsqrt, "1 / sqrt(input)")
reciprocal = _function(Reciprocal, "1 / input")
floor = _function(Floor, "The next integer below")
ceil = _function(Ceil, "The next integer above")
round = _function(Round, "The nearest integer, halves to the even one")
trunc = _function(Trunc, "The integer part")
sin = _function(Sin, "The sine")
cos = _function(Cos, "The cosine")
tan = _function(Tan, "The tangent")
atan = arctan = _function(Atan, "The inverse tangent")
tanh = _function(Tanh, "The hyperbolic tangent")
sigmoid = _function(Sigmoid, "1 / (1 + exp(-input))")
erf = _function(Erf, "The error function")


class Comparison(Op):
    """Two tensors, or a tensor and a number, to booleans."""

    def shape(self, input, other):
        shapes = [input.shape] if number(other) is not None else [input.shape, other.shape]
        return MetaArray(broadcast(*shapes), bool_)

    def forward(self, input, other):
        return self.test(input, other)


def _comparison(op_name: str, ufunc):
    class Test(Comparison):
        name = op_name
        test = staticmethod(ufunc)

    op = register(Test)

    def function(input: Tensor, other) -> Tensor:
        scalar = number(other)
        if scalar is not None:
            return apply(op, (input,), other=scalar)
        return apply(op, common_dtype(input, as_tensor(other)))

    function.__name__ = function.__qualname__ = op_name
    function.__doc__ = f"Elementwise {ufunc.__name__.replace('_', ' ')}."
    return function


eq, ne = _comparison("eq", np.equal), _comparison("ne", np.not_equal)
lt, le = _comparison("lt", np.less), _comparison("le", np.less_equal)
gt, ge = _comparison("gt", np.greater), _comparison("ge", np.greater_equal)
logical_and = bitwise_and = _comparison("logical_and", np.logical_and)
logical_or = bitwise_or = _comparison("logical_or", np.logical_or)
logical_xor = _comparison("logical_xor", np.logical_xor)


class Test(Op):
    """One element to a boolean."""

    def shape(self, input):
        return MetaArray(input.shape, bool_)

    def forward(self, input):
        return self.test(input)


def _test(op_name: str, ufunc):
    class OneTest(Test):
        name = op_name
        test = staticmethod(ufunc)

    return _function(register(OneTest), f"Elementwise {op_name}.", integers_too=True)


isnan, isinf, isfinite = (
    _test("isnan", np.isnan),
    _test("isinf", np.isinf),
    _test("isfinite", np.isfinite),
)
logical_not = bitwise_not = _test("logical_not", np.logical_not)


class Quotient(Op):
    def shape(self, input, other):
        shapes = [input.shape] if number(other) is not None else [input.shape, other.shape]
        return MetaArray(broadcast(*shapes), input.dtype)


@register
class FloorDivide(Quotient):
    """input // other; flat but for its steps, so no gradient flows through it"""

    name = "floor_divide"

    def forward(self, input, other):
        return input // other

    def backward(self, node, grad, other=None):
        return (None,) * len(node.need)


@register
class Remainder(Quotient):
    """input % other, of the sign of other; the slope in input is 1"""

    name = "remainder"

    def forward(self, input, other):
        return input % other

    def backward(self, node, grad, other=None):
        if len(node.need) > 1 and node.need[1]:
            raise NotImplementedError("remainder: no gradient with respect to the divisor")
        return (unbroadcast(grad, node.shape(0)), None)[: len(node.need)]


def floor_divide(input: Tensor, other) -> Tensor:
    """input // other"""
    return binary(FloorDivide, input, other)


def remainder(input: Tensor, other) -> Tensor:
    """input % other"""
    return binary(Remainder, input, other)
