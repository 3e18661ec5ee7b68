"""Bound what running an op takes here, on an ordinary processor, whatever a machine counts for it.

A tape is a stranger's, and what a declared machine counts as cheap may be dear to run: a window as
large as the image is a loop, an expanded array has many numbers in few bytes, a border that nobody
sees has to be filled. So each op has a second count, in seconds and rather too high, by which a
tape that would keep the judge busy is refused before it is run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from proflab.dispatch import OPS, Call
from proflab.tensor import Tensor

# Seconds of one op, of one step of a loop in it, of a number read or written, of one product.
OP, STEP, NUMBER, PRODUCT = 4e-5, 2e-6, 3e-9, 3e-10
# Types that BLAS multiplies, and how many times as long all others take.
_FAST, _SLOWER = ("float32", "float64"), 20
# How many times as long a number takes, where it is more than read and written.
_DEAR = dict.fromkeys(
    ("pow", "sin", "cos", "tan", "atan", "tanh", "erf", "gelu", "log", "log2", "log10", "log1p",
     "exp", "exp2", "expm1", "sigmoid", "silu", "elu", "softplus", "softmax", "log_softmax",
     "logsumexp", "cumsum", "remainder", "floor_divide", "scatter_add", "gather", "index",
     "index_put", "embedding", "nll_loss", "layer_norm", "group_norm", "batch_norm", "var",
     "argmax", "argmin", "prod"),
    20,
) | {"argsort": 60}  # fmt: skip


def work_of(call: Call, result: Any, row: Mapping[str, Any]) -> float:
    """Return about how many seconds an op takes at most, forward or backward.

    row: its row of op_facts, for the FLOPs of its products
    """
    results = [result] if isinstance(result, Tensor) else list(result)
    made = [each for each in results if each is not None]
    if call.phase == "forward" and call.op in OPS and OPS[call.op].view:
        return OP + STEP * len(made)
    read = [*call.inputs, *_gradients(call)]
    numbers = sum(each.numel() for each in (*read, *made))
    hidden, steps = _unseen(call, made)
    product = PRODUCT if row["dtype"] in _FAST else _SLOWER * PRODUCT
    seconds = NUMBER * (_DEAR.get(call.op, 1) * numbers + hidden)
    return OP + seconds + STEP * (len(read) + steps) + product * row["matmul_flops"]


def _gradients(call: Call) -> list[Tensor]:
    grad = getattr(call, "grad", None)
    grads = grad if isinstance(grad, (list, tuple)) else [grad]
    return [each for each in grads if each is not None]


def _unseen(call: Call, made: list[Tensor]) -> tuple[float, float]:
    """Return how many numbers an op makes or reads besides, and how many steps its loops have."""
    if (find := _UNSEEN.get(call.op)) is None:
        return 0.0, 0.0
    forward = call.phase == "forward"
    out = made[0] if forward else _gradients(call)[0]
    return find(call, out.shape)


def _pool(call: Call, out: tuple) -> tuple[float, float]:
    places, bordered = math.prod(call.attributes["kernel_size"]), _bordered(call, out)
    parts = math.prod(call.inputs[0].shape[:-2])
    return 2 * places * math.prod(out) + bordered, 3 * places * max(1, parts)


def _bordered(call: Call, out: tuple) -> float:
    """Return how many numbers the images have with their border, as far as windows reach."""
    shape, attributes = call.inputs[0].shape, call.attributes
    kernel = call.inputs[1].shape[-2:] if call.op == "conv2d" else attributes["kernel_size"]
    dilation = attributes.get("dilation", (1, 1))
    sides = [
        max(n + 2 * p, s * (o - 1) + d * (k - 1) + 1)
        for n, p, s, o, d, k in zip(
            shape[-2:], attributes["padding"], attributes["stride"], out[-2:], dilation, kernel,
            strict=True,
        )
    ]  # fmt: skip
    return math.prod(shape[:-2]) * math.prod(sides)


def _adaptive(call: Call, out: tuple) -> tuple[float, float]:
    (h, w), (down, across) = call.inputs[0].shape[-2:], call.attributes["output_size"]
    planes = math.prod(call.inputs[0].shape[:-2])
    between = planes * down * w  # averaged over rows, and not yet over columns
    products = planes * down * w * (h + across) * (PRODUCT / NUMBER)
    return down * h + across * w + between + products, down + across


def _conv(call: Call, out: tuple) -> tuple[float, float]:
    image, weight = call.inputs[0].shape, call.inputs[1].shape
    places = math.prod(weight[-2:])
    columns = image[0] * image[1] * places * math.prod(out[-2:])
    loops = image[0] * (out[-2] + 2)
    backward = call.phase != "forward"
    return columns + 2 * _bordered(call, out), loops * (places if backward else 1)


def _attention(call: Call, out: tuple) -> tuple[float, float]:
    scores = math.prod(out[:-1]) * call.inputs[1].shape[-2]
    return 40.0 * scores, 0.0


def _padded(call: Call, out: tuple) -> tuple[float, float]:
    grown = zip(call.inputs[0].shape, call.attributes["widths"], strict=True)
    return float(math.prod(n + max(0, a) + max(0, b) for n, (a, b) in grown)), 0.0


_UNSEEN = {
    "max_pool2d": _pool,
    "avg_pool2d": _pool,
    "adaptive_avg_pool2d": _adaptive,
    "conv2d": _conv,
    "scaled_dot_product_attention": _attention,
    "pad": _padded,
}
