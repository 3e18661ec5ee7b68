"""Comparisons and logic, element by element: the results are boolean and have no gradient."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from proflab.creation import as_tensor
from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.convert import as_number, common_dtype
from proflab.ops.pointwise import OfTensor
from proflab.shapes import broadcast
from proflab.tensor import Tensor, bool_
from proflab.tensor_methods import method, named_method, operator

__all__ = [
    "allclose", "eq", "equal", "ge", "gt", "isfinite", "isinf", "isnan", "le", "logical_and",
    "logical_not", "logical_or", "logical_xor", "lt", "ne",
]  # fmt: skip


class OfTwo(Protocol):
    """A function of a tensor and a tensor or number."""

    def __call__(self, input: Tensor, other: Any) -> Tensor: ...


def _comparison(op_name: str, doc: str, ufunc) -> OfTwo:
    """Return an op, numpy's function of two arrays, as the function of two tensors, or a number."""

    class Comparison(Op):
        name = op_name

        def shape(self, input, other):
            shapes = [input.shape] if as_number(other) is not None else [input.shape, other.shape]
            return MetaArray(broadcast(*shapes), bool_)

        def forward(self, input, other):
            return ufunc(input, other)

    op = register(Comparison)

    def compare(input: Tensor, other) -> Tensor:
        scalar = as_number(other)
        if scalar is not None:
            return apply(op, (input,), other=scalar)
        return apply(op, common_dtype(input, as_tensor(other)))

    return named_method(compare, op_name, doc)


def _test(op_name: str, doc: str, ufunc) -> OfTensor:
    """Return an op, numpy's test of each element of an array, as the function of a tensor."""

    class Test(Op):
        name = op_name

        def shape(self, input):
            return MetaArray(input.shape, bool_)

        def forward(self, input):
            return ufunc(input)

    op = register(Test)

    def test(input: Tensor) -> Tensor:
        return apply(op, (input,))

    return named_method(test, op_name, doc)


def _ordered(op_name: str, sign: str, ufunc) -> OfTwo:
    doc = f"Return input {sign} other, element by element, as booleans."
    return operator(f"__{op_name}__")(_comparison(op_name, doc, ufunc))


eq, ne = _ordered("eq", "==", np.equal), _ordered("ne", "!=", np.not_equal)
lt, le = _ordered("lt", "<", np.less), _ordered("le", "<=", np.less_equal)
gt, ge = _ordered("gt", ">", np.greater), _ordered("ge", ">=", np.greater_equal)
logical_and = _comparison(
    "logical_and", "Return True where both are true (not zero).", np.logical_and
)
logical_or = _comparison(
    "logical_or", "Return True where one or both are true (not zero).", np.logical_or
)
logical_xor = _comparison(
    "logical_xor", "Return True where exactly one is true (not zero).", np.logical_xor
)
logical_not = _test("logical_not", "Return True where the element is false (zero).", np.logical_not)
isnan = _test("isnan", "Return True where the element is not a number.", np.isnan)
isinf = _test("isinf", "Return True where the element is infinite, of either sign.", np.isinf)
isfinite = _test(
    "isfinite", "Return True where the element is neither infinite nor nan.", np.isfinite
)

operator("__and__")(method(logical_and, "bitwise_and"))
operator("__or__")(method(logical_or, "bitwise_or"))
operator("__xor__")(logical_xor)
operator("__invert__")(method(logical_not, "bitwise_not"))


@method
def allclose(input: Tensor, other: Tensor, rtol=1e-5, atol=1e-8, equal_nan=False) -> bool:
    """Return True if |input - other| <= atol + rtol · |other| for every element."""
    return bool(np.allclose(input.detach(), other.detach(), rtol, atol, equal_nan))


@method
def equal(input: Tensor, other: Tensor) -> bool:
    """Return True if both have the same shape and the same elements."""
    return input.shape == other.shape and bool((input == other).all())
