"""Numbers and a classifier stored in few bits, for lesson 12's demo cells.

How a number is stored is the student's work, and comes in as an argument.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from proflab.lesson.demo import demo_size
from proflab.lesson.digits import accuracy, load_digits

FORMATS = {  # ways to store 4,096 numbers: block, format, rounded up
    "FP8, one scale": (4096, "mxfp8"),
    "MXFP8": (32, "mxfp8"),
    "MXFP8, rounded up": (32, "mxfp8", True),
    "FP4, one scale": (4096, "mxfp4"),
    "MXFP4": (32, "mxfp4"),
    "NVFP4": (16, "nvfp4"),
}


def outliers(seed: int, factor: float) -> list[float]:
    """Return 4,096 normal numbers, each 256th of them times a factor."""
    rng = random.Random(seed)
    return [rng.gauss(0, 1) * (1 if at % 256 else factor) for at in range(4096)]


def errors(block_scaled: Callable, factor: float, *way: Any, ordinary: bool = False) -> float:
    """Return the median relative error of stored numbers, over some draws.

    Of one draw it is the norm of all differences over the norm of the numbers; ordinary: of the
    numbers that no factor made larger.
    """
    found = []
    for seed in range(demo_size(12, 3)):
        values = np.array(outliers(seed, factor))
        differences = block_scaled(values.tolist(), *way)["values"] - values
        if ordinary:
            values, differences = (np.delete(each, np.s_[::256]) for each in (values, differences))
        found.append(np.linalg.norm(differences) / np.linalg.norm(values))
    return float(np.median(found))


def digits_stored(block_scaled: Callable, quantize: Callable) -> Iterator[tuple[str, float, float]]:
    """Yield ways to store a classifier's weights: name, share of images named right, bytes.

    quantize: lesson 08's int8, one scale of four bytes a row.
    """
    digits = load_digits()
    count = sum(weight.size for weight in digits.weights)
    yield "float32", accuracy(digits, digits.weights), 4 * count
    layers = [quantize(weight, axis=1) for weight in digits.weights]
    stored = [q * scale for q, scale in layers]
    yield "int8", accuracy(digits, stored), sum(q.nbytes + 4 * s.size for q, s in layers)
    for name in ("MXFP8", "MXFP4", "NVFP4"):
        found = [block_scaled(w.ravel().tolist(), *FORMATS[name]) for w in digits.weights]
        weights = [
            np.reshape(each["values"], w.shape)
            for each, w in zip(found, digits.weights, strict=True)
        ]
        bits = [each["bits"] * w.size for each, w in zip(found, digits.weights, strict=True)]
        yield name, accuracy(digits, weights), sum(bits) / 8
