"""einsum: products and sums over named dimensions, brought to batched matrix products.

The labels of two operands fall into four kinds: batch (in both, and kept), summed (in both, and
gone), left and right (in one, and kept). Put in that order, it is one matmul.
"""

from __future__ import annotations

import math
from string import ascii_letters

import numpy as np

from proflab.dispatch import Op, apply, register
from proflab.meta import MetaArray
from proflab.ops.matmul import one_dtype, product
from proflab.tensor import Tensor

__all__ = ["einsum"]


def _label_sizes(labels: list[str], shapes: list[tuple]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for names, shape in zip(labels, shapes, strict=True):
        if len(names) != len(shape):
            raise ValueError(f"{names!r} names {len(names)} of {len(shape)} dimensions")
        for name, n in zip(names, shape, strict=True):
            if sizes.setdefault(name, n) != n:
                raise ValueError(f"the label {name!r} stands for {sizes[name]} and for {n}")
    return sizes


def _arrange(array: np.ndarray, labels: str, order: str) -> np.ndarray:
    """Sum over the labels that are not in `order`, and bring the others into that order."""
    gone = tuple(i for i, name in enumerate(labels) if name not in order)
    if gone:
        array = array.sum(axis=gone)
        labels = "".join(name for name in labels if name in order)
    return array.transpose([labels.index(name) for name in order])


def _contract(arrays: list[np.ndarray], labels: list[str], out: str) -> np.ndarray:
    """Reduce one or two arrays to the labels `out`, each of which stands in one of them."""
    if len(arrays) == 1:
        return _arrange(arrays[0], labels[0], out)
    a, b = labels
    batch = "".join(x for x in out if x in a and x in b)
    left = "".join(x for x in out if x in a and x not in b)
    right = "".join(x for x in out if x in b and x not in a)
    summed = "".join(x for x in a if x in b and x not in out)
    if not summed:
        return _multiply(arrays, labels, out)
    if not left + right:
        # No number meets more than one other: no matrix product. numpy sums the products as it
        # makes them, so none is written; lesson/race/charges.py counts one pass over the operands.
        of_a, of_b, kept = ([*map((a + b).index, names)] for names in (a, b, out))  # β is one, too
        return np.einsum(arrays[0], of_a, arrays[1], of_b, kept, order="C")
    sizes = _label_sizes(labels, [x.shape for x in arrays])

    def size(names: str) -> int:
        return math.prod(sizes[x] for x in names)

    stack = [sizes[x] for x in batch]
    x = _arrange(arrays[0], a, batch + left + summed).reshape(*stack, size(left), size(summed))
    y = _arrange(arrays[1], b, batch + summed + right).reshape(*stack, size(summed), size(right))
    result = product(x, y).reshape([sizes[x] for x in batch + left + right])
    return _arrange(result, batch + left + right, out)


def _multiply(arrays: list[np.ndarray], labels: list[str], out: str) -> np.ndarray:
    """Return the products of two arrays, number by number, in the order of the labels `out`."""
    x, y = (
        _arrange(array, names, "".join(name for name in out if name in names))[
            tuple(slice(None) if name in names else None for name in out)
        ]
        for array, names in zip(arrays, labels, strict=True)
    )
    return np.multiply(x, y, order="C")


@register
class _Einsum(Op):
    """Products of one or two tensors, summed over the labels that the result has not"""

    name = "einsum"

    def shape(self, *inputs, equation):
        one_dtype(*inputs)
        labels, out = _parts(equation)
        sizes = _label_sizes(labels, [x.shape for x in inputs])
        return MetaArray(tuple(sizes[x] for x in out), inputs[0].dtype)

    def forward(self, *inputs, equation):
        one_dtype(*inputs)
        labels, out = _parts(equation)
        _label_sizes(labels, [x.shape for x in inputs])
        result = _contract(list(inputs), labels, out)
        # A mere transposition must not hand out the input's own memory: this op is no view.
        return result.copy() if np.may_share_memory(result, inputs[0]) else result

    def save_for_backward(self, need, out, *inputs, equation):
        if len(inputs) == 1:
            return ()
        return inputs[0] if need[1] else None, inputs[1] if need[0] else None

    def backward(self, node, grad, equation):
        # grad: sizes of the result's labels · the operands: sizes of theirs → each operand's shape
        labels, out = _parts(equation)
        grads: list[np.ndarray | None] = []
        for i, need in enumerate(node.need):
            if not need:
                grads.append(None)
                continue
            others = [(node.saved[1 - i], labels[1 - i])] if len(labels) == 2 else []
            known = [x for x in labels[i] if x in out or any(x in name for _, name in others)]
            arrays, names = [grad, *(x for x, _ in others)], [out, *(x for _, x in others)]
            result = _contract(arrays, names, "".join(known))
            # A label that this operand alone had, and that was summed: the same for all places.
            shape = node.shape(i)
            aligned = [n if x in known else 1 for x, n in zip(labels[i], shape, strict=True)]
            grads.append(np.broadcast_to(result.reshape(aligned), shape))
        return tuple(grads)


def _parts(equation: str) -> tuple[list[str], str]:
    left, out = equation.split("->")
    return left.split(","), out


def _explicit(equation: str, ndims: list[int]) -> tuple[list[str], str]:
    """Return labels of operands and result, with letters in the place of "…" and "->"."""
    equation = equation.replace(" ", "")
    left, arrow, out = equation.partition("->")
    labels = left.split(",")
    if len(labels) != len(ndims):
        raise ValueError(f"einsum: {equation!r} names {len(labels)} operands of {len(ndims)}")
    free = [x for x in ascii_letters if x not in equation]
    most = max(n - len(x.replace("...", "")) for x, n in zip(labels, ndims, strict=True))
    dots = "".join(free[: max(0, most)])
    for i, (names, n) in enumerate(zip(labels, ndims, strict=True)):
        if "..." in names:
            count = n - len(names) + 3
            labels[i] = names.replace("...", dots[len(dots) - count :])  # as shapes broadcast
    joined = "".join(labels)
    if not arrow:  # without one: all labels that stand once, in alphabetical order
        once = sorted(x for x in set(joined) - set(dots) if joined.count(x) == 1)
        out = (dots if "..." in left else "") + "".join(once)
    out = out.replace("...", dots)
    if any(len(set(x)) < len(x) for x in [*labels, out]):
        raise ValueError(f"einsum: a label stands twice in one part of {equation!r}")
    if not set(out) <= set(joined) or not joined.isalpha() and joined:
        raise ValueError(f"einsum: {equation!r} is no equation")
    return labels, out


def _broadcast_labels(operands: list[Tensor], labels: list[str]) -> list[Tensor]:
    """Take a dimension of size 1 away where its label stands for more; `labels` is changed too."""
    sizes: dict[str, int] = {}
    for names, x in zip(labels, operands, strict=True):
        for name, n in zip(names, x.shape, strict=False):
            sizes[name] = n if sizes.get(name, 1) == 1 else sizes[name]
    for i, (names, x) in enumerate(zip(labels, operands, strict=True)):
        shape = dict(zip(names, x.shape, strict=False))
        kept = [name for name, n in shape.items() if n != 1 or sizes[name] == 1]
        if len(kept) < x.ndim == len(names):
            operands[i] = x.reshape([shape[name] for name in kept])
            labels[i] = "".join(kept)
    return operands


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Return sums of products over named dimensions.

    equation: labels of each operand's dimensions, "->", labels of the result's: "bij,bjk->bik".
              Without "->": the labels that stand once, in alphabetical order. "…" stands for all
              other dimensions. A label stands at most once in each part; ValueError otherwise.

    More than two operands are contracted from left to right, two at a time.

    >>> a, b = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([10.0, 1.0])
    >>> proflab.einsum("ij,j->i", a, b)
    Tensor([12., 34.])
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    labels, out = _explicit(equation, [x.ndim for x in operands])
    todo = _broadcast_labels(list(operands), labels)
    while len(todo) > 2:
        later = set(out).union(*labels[2:])
        pair = "".join(dict.fromkeys(x for x in labels[0] + labels[1] if x in later))
        todo[:2] = [apply(_Einsum, tuple(todo[:2]), equation=f"{labels[0]},{labels[1]}->{pair}")]
        labels[:2] = [pair]
    return apply(_Einsum, tuple(todo), equation=f"{','.join(labels)}->{out}")
