"""Comparisons and logic, element by element: the results are boolean and have no gradient."""

from __future__ import annotations

import numpy as np

from proflab.creation import as_tensor
from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.convert import as_number, common_dtype
from proflab.shapes import broadcast
from proflab.tensor import Tensor, bool_
from proflab.tensor_methods import method, operator

__all__ = [
    "allclose", "eq", "equal", "ge", "gt", "isfinite", "isinf", "isnan", "le", "logical_and",
    "logical_not", "logical_or", "logical_xor", "lt", "ne",
]  # fmt: skip


def _comparison(op_name: str, ufunc) -> Op:
    """Return the op that compares two tensors, or a tensor and a number, by a numpy function."""

    class Comparison(Op):
        name = op_name

        def shape(self, input, other):
            shapes = [input.shape] if as_number(other) is not None else [input.shape, other.shape]
            return MetaArray(broadcast(*shapes), bool_)

        def forward(self, input, other):
            return ufunc(input, other)

    return register(Comparison)


def _test(op_name: str, ufunc) -> Op:
    """Return the op that tests each element of a tensor by a numpy function."""

    class Test(Op):
        name = op_name

        def shape(self, input):
            return MetaArray(input.shape, bool_)

        def forward(self, input):
            return ufunc(input)

    return register(Test)


def _compare(op: Op, input: Tensor, other) -> Tensor:
    scalar = as_number(other)
    if scalar is not None:
        return apply(op, (input,), other=scalar)
    return apply(op, common_dtype(input, as_tensor(other)))


_EQ, _NE = _comparison("eq", np.equal), _comparison("ne", np.not_equal)
_LT, _LE = _comparison("lt", np.less), _comparison("le", np.less_equal)
_GT, _GE = _comparison("gt", np.greater), _comparison("ge", np.greater_equal)
_AND, _OR = _comparison("logical_and", np.logical_and), _comparison("logical_or", np.logical_or)
_XOR, _NOT = _comparison("logical_xor", np.logical_xor), _test("logical_not", np.logical_not)
_ISNAN, _ISINF = _test("isnan", np.isnan), _test("isinf", np.isinf)
_ISFINITE = _test("isfinite", np.isfinite)


@operator("__eq__")
@method
def eq(input: Tensor, other) -> Tensor:
    """Return input == other, element by element, as booleans."""
    return _compare(_EQ, input, other)


@operator("__ne__")
@method
def ne(input: Tensor, other) -> Tensor:
    """Return input != other, element by element, as booleans."""
    return _compare(_NE, input, other)


@operator("__lt__")
@method
def lt(input: Tensor, other) -> Tensor:
    """Return input < other, element by element, as booleans."""
    return _compare(_LT, input, other)


@operator("__le__")
@method
def le(input: Tensor, other) -> Tensor:
    """Return input <= other, element by element, as booleans."""
    return _compare(_LE, input, other)


@operator("__gt__")
@method
def gt(input: Tensor, other) -> Tensor:
    """Return input > other, element by element, as booleans."""
    return _compare(_GT, input, other)


@operator("__ge__")
@method
def ge(input: Tensor, other) -> Tensor:
    """Return input >= other, element by element, as booleans."""
    return _compare(_GE, input, other)


@operator("__and__")
@method
def logical_and(input: Tensor, other) -> Tensor:
    """Return True where both are true (not zero)."""
    return _compare(_AND, input, other)


@operator("__or__")
@method
def logical_or(input: Tensor, other) -> Tensor:
    """Return True where one or both are true (not zero)."""
    return _compare(_OR, input, other)


@operator("__xor__")
@method
def logical_xor(input: Tensor, other) -> Tensor:
    """Return True where exactly one is true (not zero)."""
    return _compare(_XOR, input, other)


@operator("__invert__")
@method
def logical_not(input: Tensor) -> Tensor:
    """Return True where the element is false (zero)."""
    return apply(_NOT, (input,))


method(logical_and, "bitwise_and")
method(logical_or, "bitwise_or")
method(logical_not, "bitwise_not")


@method
def isnan(input: Tensor) -> Tensor:
    """Return True where the element is not a number."""
    return apply(_ISNAN, (input,))


@method
def isinf(input: Tensor) -> Tensor:
    """Return True where the element is infinite, of either sign."""
    return apply(_ISINF, (input,))


@method
def isfinite(input: Tensor) -> Tensor:
    """Return True where the element is neither infinite nor nan."""
    return apply(_ISFINITE, (input,))


@method
def allclose(input: Tensor, other: Tensor, rtol=1e-5, atol=1e-8, equal_nan=False) -> bool:
    """Return True if |input - other| <= atol + rtol · |other| for every element."""
    return bool(np.allclose(input.detach(), other.detach(), rtol, atol, equal_nan))


@method
def equal(input: Tensor, other: Tensor) -> bool:
    """Return True if both have the same shape and the same elements."""
    return input.shape == other.shape and bool((input == other).all())
