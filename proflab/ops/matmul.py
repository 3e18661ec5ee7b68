"""Products of matrices, through BLAS."""

from __future__ import annotations

import math

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.shapes import MetaArray, broadcast, unbroadcast
from proflab.tensor import Tensor


def one_dtype(*arrays) -> None:
    """TypeError unless all arrays are of one dtype: BLAS would convert, at a cost, in silence."""
    first = arrays[0].dtype
    for array in arrays[1:]:
        if array.dtype != first:
            raise TypeError("the dtypes differ: " + " and ".join(str(a.dtype) for a in arrays))


def for_blas(array: np.ndarray) -> np.ndarray:
    """The array, copied if its last two dimensions lie so that BLAS could not read them."""
    if array.flags.c_contiguous:
        return array
    size = array.itemsize
    rows, columns = array.strides[-2:] if array.ndim > 1 else (size, size)
    if (columns == size and rows >= size) or (rows == size and columns >= size):
        return array
    return np.ascontiguousarray(array)


def as_rows(array: np.ndarray) -> np.ndarray:
    """All dimensions but the last made one. (reshape's -1 cannot be worked out where one is 0.)"""
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b of at least two dimensions each; many rows against one matrix are one product."""
    if b.ndim == 2 and a.ndim > 2:
        out = for_blas(as_rows(a)) @ for_blas(b)
        return out.reshape(*a.shape[:-1], b.shape[1])
    return for_blas(a) @ for_blas(b)


def _swap(array: np.ndarray) -> np.ndarray:
    return array.swapaxes(-1, -2)


@register
class Matmul(Op):
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

    def keep(self, need, out, input, other):
        return input if need[1] else None, other if need[0] else None

    def backward(self, node, grad):
        input, other = node.saved
        a, b = node.shape(0), node.shape(1)
        # A vector is a matrix of one row (on the left) or of one column (on the right).
        if len(b) == 1:
            grad = grad[..., None]
            other = other if other is None else other[:, None]
        if len(a) == 1:
            grad = grad[..., None, :]
            input = input if input is None else input[None, :]
        grads = [None, None]
        if node.need[0]:
            grads[0] = unbroadcast(product(grad, _swap(other)), a if len(a) > 1 else (1, *a))
            grads[0] = grads[0].reshape(a)
        if node.need[1]:
            if len(b) <= 2 and input.ndim > 2:  # one matrix, used by all: one product gives the sum
                rows = as_rows(input)
                grads[1] = for_blas(rows.T) @ for_blas(as_rows(grad))
            else:
                grads[1] = product(_swap(input), grad)
                grads[1] = unbroadcast(grads[1], b if len(b) > 1 else (*b, 1))
            grads[1] = grads[1].reshape(b)
        return tuple(grads)


@register
class Linear(Op):
    """input @ weight.T + bias, over the last dimension"""

    name = "linear"

    def shape(self, input, weight, bias=None):
        one_dtype(input, weight, *(() if bias is None else (bias,)))
        if len(weight.shape) != 2 or not input.shape or input.shape[-1] != weight.shape[1]:
            raise ValueError("the input's last size is not the weight's second")
        if bias is not None and bias.shape != weight.shape[:1]:
            raise ValueError("the bias's size is not the weight's first")
        return MetaArray((*input.shape[:-1], weight.shape[0]), input.dtype)

    def forward(self, input, weight, bias=None):
        one_dtype(input, weight)
        if (
            input.ndim < 1
            or weight.ndim != 2
            or bias is not None
            and bias.shape != weight.shape[:1]
        ):
            raise ValueError("the shapes do not fit")
        rows = input if input.ndim == 2 else as_rows(input)
        out = for_blas(rows) @ for_blas(weight).T
        if bias is not None:
            out += bias
        return out if input.ndim == 2 else out.reshape(*input.shape[:-1], len(weight))

    def keep(self, need, out, input, weight, bias=None):
        return input if need[1] else None, weight if need[0] else None

    def backward(self, node, grad):
        input, weight = node.saved
        grad = for_blas(as_rows(grad))
        grads = [None] * len(node.need)
        if node.need[0]:
            grads[0] = (grad @ for_blas(weight)).reshape(node.shape(0))
        if node.need[1]:
            grads[1] = grad.T @ for_blas(as_rows(input))
        if len(grads) > 2 and node.need[2]:
            grads[2] = grad.sum(axis=0)
        return tuple(grads)


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """input @ other"""
    if not isinstance(other, Tensor):
        raise TypeError(f"matmul: a tensor of shape {input.shape} and {type(other).__name__}")
    return apply(Matmul, (input, other))


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias"""
    return apply(Linear, (input, weight) if bias is None else (input, weight, bias))


def _checked(name: str, ndims: tuple[int, int]):
    """matmul for operands that must have the given numbers of dimensions."""

    def function(input: Tensor, mat2: Tensor) -> Tensor:
        if (input.ndim, mat2.ndim) != ndims:
            raise ValueError(
                f"{name}: shapes {input.shape} and {mat2.shape} have not {ndims[0]} and "
                f"{ndims[1]} dimensions"
            )
        return matmul(input, mat2)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"matmul of tensors of {ndims[0]} and {ndims[1]} dimensions."
    return function


mm, bmm = _checked("mm", (2, 2)), _checked("bmm", (3, 3))
mv, dot = _checked("mv", (2, 1)), _checked("dot", (1, 1))


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta=1, alpha=1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)"""
    out = matmul(mat1, mat2)
    return (out if alpha == 1 else out * alpha) + (input if beta == 1 else input * beta)


baddbmm = addmm


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Each element of one vector times each of the other."""
    return input.unsqueeze(1) * vec2.unsqueeze(0)
