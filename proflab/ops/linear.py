"""The linear layer's product: input @ weight.T + bias, one op, as torch has it."""

from __future__ import annotations

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.matmul import as_rows, for_blas, one_dtype
from proflab.tensor import Tensor

__all__ = ["linear"]


@register
class _Linear(Op):
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
        fits = bias is None or bias.shape == weight.shape[:1]
        if input.ndim < 1 or weight.ndim != 2 or not fits:
            raise ValueError("the shapes do not fit")  # numpy would broadcast some of them
        rows = input if input.ndim == 2 else as_rows(input)
        out = for_blas(rows) @ for_blas(weight).T
        if bias is not None:
            out += bias
        return out if input.ndim == 2 else out.reshape(*input.shape[:-1], len(weight))

    def save_for_backward(self, need, out, input, weight, bias=None):
        return input if need[1] else None, weight if need[0] else None

    def backward(self, node, grad):
        # grad: (…, out) · input: (…, n) · weight: (out, n) → (…, n), (out, n), (out,)
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


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return input @ weight.T + bias: (…, n) and (out, n) to (…, out).

    >>> F.linear(Tensor([1.0, 2.0]), Tensor([[3.0, 4.0]]), Tensor([0.5]))
    Tensor([11.5])
    """
    return apply(_Linear, (input, weight) if bias is None else (input, weight, bias))
