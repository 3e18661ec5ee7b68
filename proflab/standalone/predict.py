"""Predicts a model's forward pass at other sizes, from the pass that was recorded at one.

The student's functions do it: what may not enter is a formula.
"""

from __future__ import annotations

from typing import Any

from proflab import Tensor, no_grad
from proflab.standalone.measure import Report, Request

# What is called here, and the lesson in which it is written.
NEEDED_TO_PREDICT = {
    "predict_ms": "07_scaling",
    "rows_on_meta": "07_scaling",
    "op_factors": "07_scaling",
    "predict_corrected_ms": "07_scaling",
}
_UNITS = {"tokens": "tokens", "image": "side of the image", "fixed": "batch"}


def plan_sizes(names: dict[str, Any], request: Request) -> dict[int, list[dict]]:
    """Return what each operation does at each size that is asked for, and at the measured one.

    Raises ValueError for a size that the model does not take.
    """
    if not request.at:
        return {}
    return {
        size: _rows_at(names, request, size) for size in sorted({_measured(request), *request.at})
    }


def predict(
    names: dict[str, Any], request: Request, planned: dict[int, list[dict]], report: Report
) -> list[dict]:
    """Return a row for each planned size, predicted from what the report has recorded at one.

    A row has the size and what it counts, FLOPs of products, ms by the roofs alone, ms as
    predicted, and the measured ms or None.
    """
    if not planned:
        return []
    roof, overhead = report.roof, _measure_overhead(names)
    factors = names["op_factors"](report.rows, roof, overhead)
    return [
        {
            "unit": _UNITS[request.choice.kind],
            "size": size,
            "flops": sum(row["matmul_flops"] for row in rows),
            "bound_ms": names["predict_ms"](rows, roof, overhead),
            "predicted_ms": names["predict_corrected_ms"](rows, roof, overhead, factors),
            "measured_ms": report.latency_ms if size == _measured(request) else None,
        }
        for size, rows in planned.items()
    ]


def _measured(request: Request) -> int:
    """Return the size of the pass that is measured, in the unit of its kind."""
    return request.batch if request.choice.kind == "fixed" else request.size


def _rows_at(names: dict[str, Any], request: Request, size: int) -> list[dict]:
    """Return what each operation does at this size, without any data."""
    fixed = request.choice.kind == "fixed"
    batch, side = (size, request.size) if fixed else (request.batch, size)
    shape = request.choice.input_shape(batch, side)
    return names["rows_on_meta"](lambda: request.choice.make(side), shape)


def _measure_overhead(names: dict[str, Any]) -> float:
    """Return the ms of an operation that computes and moves next to nothing."""
    one = Tensor([1.0])
    with no_grad():
        return names["measure_latency"](lambda x: x + one, one, warmup=100, iterations=500)
