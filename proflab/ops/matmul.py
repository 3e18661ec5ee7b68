"""Products of matrices, through BLAS."""

from __future__ import annotations

import math

import numpy as np

from proflab.creation import as_tensor
from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.shapes import broadcast, unbroadcast
from proflab.tensor import Tensor
from proflab.tensor_methods import method, operator

__all__ = ["addmm", "baddbmm", "bmm", "dot", "matmul", "mm", "mv", "outer"]


def one_dtype(*arrays) -> None:
    """Raise TypeError unless all arrays are of one dtype: BLAS would convert, at a cost."""
    first = arrays[0].dtype
    for array in arrays[1:]:
        if array.dtype != first:
            raise TypeError("the dtypes differ: " + " and ".join(str(a.dtype) for a in arrays))


def for_blas(array: np.ndarray) -> np.ndarray:
    """Return the array, copied if its last two dimensions lie so that BLAS could not read them."""
    if array.flags.c_contiguous:
        return array
    size = array.itemsize
    rows, columns = array.strides[-2:] if array.ndim > 1 else (size, size)
    if (columns == size and rows >= size) or (rows == size and columns >= size):
        return array
    return np.ascontiguousarray(array)


def as_rows(array: np.ndarray) -> np.ndarray:
    """Return the array with all dimensions but the last made one."""
    # reshape's -1 cannot be worked out where one of them is 0
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a @ b of two dimensions or more each; many rows against one matrix are one product."""
    if b.ndim == 2 and a.ndim > 2:
        out = for_blas(as_rows(a)) @ for_blas(b)
        return out.reshape(*a.shape[:-1], b.shape[1])
    return for_blas(a) @ for_blas(b)


def _swap(array: np.ndarray) -> np.ndarray:
    return array.swapaxes(-1, -2)


@register
class _Matmul(Op):
    """a @ b: vectors, matrices, or stacks of matrices that broadcast"""

    name = "matmul"

    def shape(self, input, other):
        one_dtype(input, other)
        a, b = input.shape, other.shape
        if not a or not b:
            raise ValueError("an operand has no dimension")
        if a[-1] != (b[-2] if len(b) > 1 else b[0]):
            raise ValueError("the inner sizes differ")
        stack = broadcast(a[:-2], b[:-2])
        return MetaArray(stack + a[-2:-1] + (b[-1:] if len(b) > 1 else ()), input.dtype)

    def forward(self, input, other):
        one_dtype(input, other)
        if input.ndim < 2 or other.ndim < 2:
            return np.matmul(input, other)
        return product(input, other)

    def save_for_backward(self, need, out, input, other):
        return input if need[1] else None, other if need[0] else None

    def backward(self, node, grad):
        # grad: (…, n, m) · input: (…, n, k) · other: (…, k, m) → (…, n, k), (…, k, m)
        input, other = node.saved
        a, b = node.shape(0), node.shape(1)
        # A vector is a matrix of one row (on the left) or of one column (on the right).
        if len(b) == 1:
            grad = grad[..., None]
            other = other if other is None else other[:, None]
        if len(a) == 1:
            grad = grad[..., None, :]
            input = input if input is None else input[None, :]
        grads: list[np.ndarray | None] = [None, None]
        if node.need[0]:
            left = unbroadcast(product(grad, _swap(other)), a if len(a) > 1 else (1, *a))
            grads[0] = left.reshape(a)
        if node.need[1]:
            if len(b) <= 2 and input.ndim > 2:  # one matrix, used by all: one product gives the sum
                rows = as_rows(input)
                right = for_blas(rows.T) @ for_blas(as_rows(grad))
            else:
                right = product(_swap(input), grad)
                right = unbroadcast(right, b if len(b) > 1 else (*b, 1))
            grads[1] = right.reshape(b)
        return tuple(grads)


@operator("__matmul__")
@method
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Return input @ other: (…, n, k) and (…, k, m) to (…, n, m); vectors as rows or columns.

    >>> proflab.matmul(Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]]))
    Tensor([[11.]])
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"matmul: a tensor of shape {input.shape} and {type(other).__name__}")
    return apply(_Matmul, (input, other))


@operator("__rmatmul__")
def _rmatmul(input: Tensor, other) -> Tensor:
    return matmul(as_tensor(other), input)


def _of_dimensions(name: str, input: Tensor, other: Tensor, ndims: tuple[int, int]) -> Tensor:
    """Return matmul of operands that must have the given numbers of dimensions."""
    if (input.ndim, other.ndim) != ndims:
        raise ValueError(
            f"{name}: shapes {input.shape} and {other.shape} have not {ndims[0]} and {ndims[1]} "
            "dimensions"
        )
    return matmul(input, other)


@method
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices; ValueError for anything else."""
    return _of_dimensions("mm", input, mat2, (2, 2))


@method
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the products of two stacks of matrices; ValueError for anything else."""
    return _of_dimensions("bmm", input, mat2, (3, 3))


@method
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Return the product of a matrix and a vector; ValueError for anything else."""
    return _of_dimensions("mv", input, vec, (2, 1))


@method
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Return the product of two vectors; ValueError for anything else."""
    return _of_dimensions("dot", input, tensor, (1, 1))


@method
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta=1, alpha=1) -> Tensor:
    """Return beta · input + alpha · (mat1 @ mat2)."""
    out = matmul(mat1, mat2)
    return (out if alpha == 1 else out * alpha) + (input if beta == 1 else input * beta)


baddbmm = method(addmm, "baddbmm")


@method
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Return each element of one vector times each of the other: (n,) and (m,) to (n, m)."""
    return input.unsqueeze(1) * vec2.unsqueeze(0)
