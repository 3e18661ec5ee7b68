"""What torch's ops multiply, in the words of lesson 02's `op_flops`: for `trace` and for `table`.

An op of torch has its arguments by place: the shapes of those that are tensors, the values of the
others. Both a trace and torch's dispatcher give them so. What may not enter: a formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Shape = tuple[int, ...]
Product = tuple[str, list[Shape], dict[str, Any]]  # what op_flops takes
# Ops of which two arguments are multiplied: their places.
_MATRICES = {
    "mm": (0, 1), "bmm": (0, 1), "mv": (0, 1), "dot": (0, 1), "vdot": (0, 1), "_int_mm": (0, 1),
    "_scaled_mm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "addbmm": (1, 2), "addmv": (1, 2),
    "_addmm_activation": (1, 2),
}  # fmt: skip
_ATTENTION = "_scaled_dot_product_"
_ROUTES = ("flash", "efficient", "cudnn", "fused")  # not "math", which is made of other ops
# Layers of an LSTM or a GRU that are one op: which arguments are weights.
_RECURRENT = {"mkldnn_rnn_layer": (1, 3), "mkldnn_rnn_layer_backward": (1, 3), "_cudnn_rnn": (1, 2)}


def products(
    name: str, shapes: Sequence[Any], values: Sequence[Any], out: Shape | None = None
) -> list[Product]:
    """Return the products that an op of torch computes, each as op_flops takes it.

    name: such as "addmm". shapes: of each argument its shape, a list of shapes, or () for what is
    no tensor. values: of each argument its value, where it is no tensor. out: the shape of the
    result, without which a convolution is known in two dimensions only.
    Raises ValueError, IndexError or TypeError where the arguments are not those of the op.
    """
    if name in _MATRICES:
        first, second = (tuple(shapes[place]) for place in _MATRICES[name])
        return [("matmul", [first, second], {})]
    if name == "convolution":
        return _convolution(tuple(shapes[0]), tuple(shapes[1]), values, out)
    if name == "convolution_backward":
        times = sum(map(bool, values[10]))
        grad, image, weight = (tuple(shape) for shape in shapes[:3])
        return [_as_matrices(grad, image, weight, bool(values[7]))] * times
    if name in _RECURRENT:
        return _recurrent(name, shapes)
    if name.startswith(_ATTENTION) and any(f"product_{way}" in name for way in _ROUTES):
        return _attention(name, [tuple(shape) for shape in shapes[:4]])
    return []


def flops_of(op_flops: Callable[..., int], found: Sequence[Product]) -> int:
    """Return the FLOPs of products, as the student's op_flops counts."""
    return sum(op_flops(op, shapes, attributes) for op, shapes, attributes in found)


def _convolution(
    image: Shape, weight: Shape, values: Sequence[Any], out: Shape | None
) -> list[Product]:
    stride, padding, dilation, transposed = values[3:7]
    if out is not None:
        return [_as_matrices(out, image, weight, bool(transposed))]
    if transposed or len(image) != 4:
        raise ValueError("what a convolution gives is not known from what it takes")
    pair = (stride, padding, dilation)
    both = [tuple(n) * 2 if len(n) == 1 else tuple(n) for n in pair]
    attributes = dict(zip(("stride", "padding", "dilation"), both, strict=True))
    return [("conv2d", [image, weight], attributes | {"groups": values[8]})]


def _as_matrices(out: Shape, image: Shape, weight: Shape, transposed: bool) -> Product:
    """Return a convolution of any dimensions as the product of matrices that it is (im2col).

    Each place, of the result or, if transposed, of the input, meets the whole weight once. A weight
    has the channels of one group only. Both gradients are products of the same size.
    """
    meets = image if transposed else out
    places = meets[0] * math.prod(meets[2:])
    row = math.prod(weight[1:])
    return "matmul", [(places, row), (row, weight[0])], {}


def _recurrent(name: str, shapes: Sequence[Any]) -> list[Product]:
    """Return a product for each weight matrix of a recurrent layer; backward two."""
    first, last = _RECURRENT[name]
    weights = shapes[first] if name == "_cudnn_rnn" else shapes[first:last]
    steps, batch = shapes[0][:2]
    found: list[Product] = [
        ("matmul", [(steps * batch, weight[1]), (weight[1], weight[0])], {})
        for weight in weights
        if len(weight) == 2
    ]
    return found * 2 if name.endswith("backward") else found


def _attention(name: str, shapes: list[Shape]) -> list[Product]:
    """Return fused attention; its backward computes the scores anew, then four gradients."""
    backward = name.endswith("backward")
    query, key, value = shapes[1:] if backward else shapes[:3]
    key, value = ((*query[:-2], *shape[-2:]) for shape in (key, value))  # heads that share keys
    whole: Product = ("scaled_dot_product_attention", [query, key, value], {})
    scores: Product = ("matmul", [query, (*key[:-2], key[-1], key[-2])], {})
    return [whole, whole, scores] if backward else [whole]
