"""Forward passes of whole models under the student's own recorder, and their rows put together.

What may not enter: a FLOP, a byte or a time that does not stand in a row already.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from proflab import example_input, models, no_grad
from proflab.lesson.demo import demo_size, progress_bar
from proflab.lesson.measuring import on_threads

Row = dict[str, Any]
Pass = tuple[float, list[Row]]
_SUMMED = ("matmul_flops", "elementwise_flops", "bytes_read", "bytes_written", "self_ms")


def recorded_passes(
    name: str, recorder: Callable[[], Any], threads: int, seconds: float = 12
) -> list[Pass]:
    """Record forward passes of "GPT-2" or "ResNet-18" on so many threads: (ms, rows) of each.

    recorder: as lesson 05's OpRecorder, a context manager with `rows`. One pass is not recorded;
    then up to nine are, but at least three, as many as begin within so many seconds of the first.
    Raises ValueError for another name.
    """
    model, shape = _model(name)
    x, passes, began = example_input(model.eval(), shape), [], time.perf_counter()
    with no_grad(), on_threads(threads):
        model(x)
        for count in progress_bar(range(demo_size(9, 3))):
            if count < 3 or time.perf_counter() - began < seconds:
                with recorder() as recording:
                    start = time.perf_counter()
                    model(x)
                    ms = (time.perf_counter() - start) * 1000
                passes.append((ms, recording.rows))
    return passes


def _model(name: str) -> tuple[Any, tuple[int, ...]]:
    """Return the model, and the shape of its input: one text, or one image."""
    if name == "GPT-2":
        sizes = demo_size(full=(50257, 1024, 768, 12, 12), small=(97, 32, 48, 2, 4))
        return models.GPT2(*sizes), (1, demo_size(128, 32))
    if name == "ResNet-18":
        return models.resnet18(), (1, 3, *demo_size((224, 224), (32, 32)))
    raise ValueError(f'there are "GPT-2" and "ResNet-18" here, not {name!r}')


def median_rows(passes: Sequence[Pass]) -> list[Row]:
    """Return the rows of a pass, in order, each with its median self_ms over all passes."""
    rows = zip(*(rows for _, rows in passes), strict=True)
    return [same[0] | {"self_ms": median(row["self_ms"] for row in same)} for same in rows]


def alike(rows: Sequence[Row]) -> list[Row]:
    """Add up rows of the same op, shapes, and module but for its numbers: blocks.*.attn.

    Each also has its `share` of the time of all, 0 to 1.
    """
    sums: dict[tuple, Row] = {}
    whole = sum(row["self_ms"] for row in rows)
    for row in rows:
        module = re.sub(r"\d+", "*", row["module"])
        key = row["op"], module, str(row["input_shapes"])
        total = sums.setdefault(key, row | {"module": module} | dict.fromkeys(_SUMMED, 0))
        for count in _SUMMED:
            total[count] += row[count]
    return [total | {"share": total["self_ms"] / whole} for total in sums.values()]


def products_and_rest(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the ms of the rows that are matrix products, and of all others."""
    products = sum(row["self_ms"] for row in rows if row["matmul_flops"])
    return products, sum(row["self_ms"] for row in rows) - products
