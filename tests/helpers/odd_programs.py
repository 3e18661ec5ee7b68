"""Programs with odd attributes: little to count on a machine, and much to do, hidden in one op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import proflab
from proflab import cat, ones, zeros
from proflab.lesson.race import traced
from proflab.nn import functional as F

Program = tuple[Callable, dict[str, Any]]


def wide(x, *shape):
    """One number, seen as many."""
    return x.reshape(-1)[:1].reshape([1] * len(shape)).expand(*shape)


def _put(x, i):
    result = x * 1
    result[i] = x[i]
    return result


def trained(function):
    """A program that returns the gradient of its first input."""

    def program(**tensors):
        tensors["x"].requires_grad_()
        result = function(**tensors)
        (result * result).sum().backward()
        return [tensors["x"].grad]

    return program


ODD: dict[str, Program] = {
    "avg": (lambda x: F.avg_pool2d(x, 300, 1), dict(x=(1, 1, 300, 300))),
    "avg of a view": (lambda x: F.avg_pool2d(wide(x, 1, 1, 400, 400), 400), dict(x=(1,))),
    "avg back": (trained(lambda x: F.avg_pool2d(x, 200, 1)), dict(x=(1, 1, 200, 200))),
    "avg stride": (lambda x: F.avg_pool2d(x, 200, stride=1), dict(x=(1, 1, 300, 300))),
    "max": (lambda x: F.max_pool2d(x, 400, 1), dict(x=(1, 1, 400, 400))),
    "max planes": (lambda x: F.max_pool2d(x, 3, 1), dict(x=(200, 50, 8, 8))),
    "max back": (trained(lambda x: F.max_pool2d(x, 150, 1)), dict(x=(1, 1, 200, 200))),
    "max dil": (
        lambda x: F.max_pool2d(x, 2, 1000, dilation=900, padding=1),
        dict(x=(1, 1, 1000, 1000)),
    ),
    "max ceil": (lambda x: F.max_pool2d(x, 2, 999, ceil_mode=True), dict(x=(1, 1, 1100, 1100))),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, (20000, 1)), dict(x=(1, 1, 3, 3))),
    "adaptive2": (lambda x: F.adaptive_avg_pool2d(x, (300, 300)), dict(x=(1, 1, 600, 600))),
    "adaptive back": (
        trained(lambda x: F.adaptive_avg_pool2d(x, (20000, 2))),
        dict(x=(1, 1, 3, 3)),
    ),
    "conv pad": (
        lambda x, w: F.conv2d(x, w, stride=3000, padding=2000),
        dict(x=(1, 1, 2, 2), w=(1, 1, 1, 1)),
    ),
    "conv k": (lambda x, w: F.conv2d(x, w), dict(x=(1, 1, 300, 300), w=(1, 1, 250, 250))),
    "conv back": (
        trained(lambda x: F.conv2d(x, ones(1, 1, 150, 150), stride=2)),
        dict(x=(1, 1, 200, 200)),
    ),
    "conv dil": (
        lambda x, w: F.conv2d(x, w, dilation=900, padding=1000, stride=900),
        dict(x=(1, 1, 100, 100), w=(1, 1, 2, 2)),
    ),
    "conv batch": (lambda x, w: F.conv2d(x, w), dict(x=(5000, 1, 2, 2), w=(1, 1, 2, 2))),
    "conv groups": (
        lambda x, w: F.conv2d(x, w, groups=1000, padding=1),
        dict(x=(1, 1000, 8, 8), w=(1000, 1, 3, 3)),
    ),
    "pad": (lambda x: F.pad(x, (3000, 3000, 1000, -1000)), dict(x=(1500, 2))),
    "pad cut": (
        lambda x: F.pad(F.pad(x, (4000, 0, 4000, 0)), (-4000, 0, -4000, 0)),
        dict(x=(3, 3)),
    ),
    "sum of a view": (lambda x: wide(x, 3000, 3000).sum(), dict(x=(1,))),
    "mean of a view": (lambda x: wide(x, 3000, 3000).mean(), dict(x=(1,))),
    "var": (lambda x: wide(x, 2000, 2000).var(), dict(x=(1,))),
    "prod": (lambda x: wide(x, 2000, 2000).prod(), dict(x=(1,))),
    "argmax": (lambda x: wide(x, 3000, 3000).argmax(0), dict(x=(1,))),
    "logsumexp": (lambda x: wide(x, 2000, 2000).logsumexp(0), dict(x=(1,))),
    "amax": (lambda x: wide(x, 2000, 2000).amax(0), dict(x=(1,))),
    "any": (lambda x: (wide(x, 2000, 2000) > 0).any(), dict(x=(1,))),
    "matmul of views": (lambda x: wide(x, 4, 2000000) @ wide(x, 2000000, 4), dict(x=(1,))),
    "einsum of views": (
        lambda x: proflab.einsum("ij,jk->ik", wide(x, 4, 2000000), wide(x, 2000000, 4)),
        dict(x=(1,)),
    ),
    "einsum sum": (lambda x: proflab.einsum("ij->", wide(x, 2000, 2000)), dict(x=(1,))),
    "einsum outer": (
        lambda x: proflab.einsum("i,j->ij", wide(x, 2000), wide(x, 2000)),
        dict(x=(1,)),
    ),
    "linear of views": (lambda x: F.linear(wide(x, 4, 1000000), wide(x, 4, 1000000)), dict(x=(1,))),
    "attention": (
        lambda x: F.scaled_dot_product_attention(
            wide(x, 1, 1, 1000, 2), wide(x, 1, 1, 1000, 2), wide(x, 1, 1, 1000, 2), is_causal=True
        ),
        dict(x=(1,)),
    ),
    "attention back": (
        trained(lambda x: F.scaled_dot_product_attention(x, x, x)),
        dict(x=(1, 1, 600, 2)),
    ),
    "pow": (lambda x: wide(x, 1000, 1000) ** 3, dict(x=(1,))),
    "pow t": (lambda x: wide(x, 1000, 1000).abs() ** wide(x, 1000, 1000), dict(x=(1,))),
    "transposed": (lambda x: x.T.clone(), dict(x=(2000, 2000))),
    "transposed add": (lambda x: x.T + x, dict(x=(2000, 2000))),
    "argsort": (lambda x: x.argsort(0), dict(x=(1000, 1000))),
    "sort": (lambda x: x.argsort(-1, descending=True), dict(x=(1, 1000000))),
    "cumsum": (lambda x: x.cumsum(0), dict(x=(1000, 1000))),
    "roll": (lambda x: x.roll((7, 11), (0, 1)), dict(x=(1500, 1500))),
    "flip": (lambda x: x.flip((0, 1)), dict(x=(1500, 1500))),
    "tril": (lambda x: x.tril(), dict(x=(1500, 1500))),
    "fill": (lambda x: zeros(20000, 1000).sum() + x, dict(x=(1,))),
    "fill alone": (lambda x: [x * 1, zeros(200000, 1000)][0], dict(x=(1,))),
    "split": (lambda x: cat(x.split(1), 0), dict(x=(20000,))),
    "cat": (lambda x: cat([x] * 5000, 0), dict(x=(1,))),
    "gather": (lambda x, i: x.gather(0, i), dict(x=(1000, 1000), i=("int64", (1000, 1000)))),
    "index": (lambda x, i: x[i], dict(x=(1000, 1), i=("int64", (1000000,)))),
    "index2": (lambda x, i: x[i, i], dict(x=(1000, 1000), i=("int64", (1000000,)))),
    "index put": (_put, dict(x=(1000, 1), i=("int64", (1000000,)))),
    "embedding": (lambda x, i: F.embedding(i, x), dict(x=(1000, 10), i=("int64", (100000,)))),
    "embedding back": (
        trained(lambda x, i: F.embedding(i, x)),
        dict(x=(1000, 10), i=("int64", (100000,))),
    ),
    "scatter": (
        lambda x, i: x.scatter_add(0, i, x),
        dict(x=(1000, 1000), i=("int64", (1000, 1000))),
    ),
    "index back": (trained(lambda x, i: x[i]), dict(x=(1000, 1), i=("int64", (1000000,)))),
    "softmax": (lambda x: x.softmax(0), dict(x=(1000, 1000))),
    "gelu": (lambda x: F.gelu(x), dict(x=(1000, 1000))),
    "erf": (lambda x: x.erf(), dict(x=(1000, 1000))),
    "remainder": (lambda x: x % 3, dict(x=(1000, 1000))),
    "layer_norm": (lambda x: F.layer_norm(x, (1,)), dict(x=(1000000, 1))),
    "group_norm": (lambda x: F.group_norm(x, 100), dict(x=(100, 100, 10, 10))),
    "where": (lambda x: proflab.where(x > 0, x, x * 2), dict(x=(1000, 1000))),
    "float16": (lambda x: x.half() * 2 + 1, dict(x=(1000, 1000))),
    "half matmul": (lambda x: x.half() @ x.half(), dict(x=(300, 300))),
    "int matmul": (lambda x: x.to(np.int64) @ x.to(np.int64), dict(x=(300, 300))),
    "tan": (lambda x: x.tan(), dict(x=(1000, 1000))),
    "floor_divide": (lambda x: x // 3, dict(x=(1000, 1000))),
    "bool sum": (lambda x: (x > 0).sum(), dict(x=(1000, 1000))),
    "norm back": (trained(lambda x: F.layer_norm(x, (1000,))), dict(x=(1000, 1000))),
    "expand back": (trained(lambda x: wide(x, 1000, 1000) * 2), dict(x=(1,))),
    "round": (lambda x: x.round(), dict(x=(1000, 1000))),
    "isnan": (lambda x: x.isnan(), dict(x=(1000, 1000))),
    "log_softmax": (lambda x: x.log_softmax(0), dict(x=(1000, 1000))),
    "many tiny": (lambda x: sum([x + 1 for _ in range(2000)]), dict(x=(1,))),
}


def tape_of(name: str) -> list:
    """Trace one of these programs."""
    program, shapes = ODD[name]
    return list(traced(program, training=True, **shapes))
