"""Lesson 05's earlier exercises with answers written down, so that one slip costs its points once.

A test cell of a later exercise gives the answers, as figures that stand in the lesson. What may not
enter: how such an answer is found.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

_STEPS = ("op_bytes", "op_facts", "add_row", "record", "find_bottleneck", "profile_forward_pass")
_EARLIER = {
    "op_facts": _STEPS[:1],
    "record": _STEPS[:3],
    "profile_forward_pass": _STEPS[:5],
    "profile_backward_pass": _STEPS[:5],
    "profile_layer": _STEPS,
    "compare_architectures": _STEPS,
}
_ABSENT = object()


class facts(NamedTuple):  # noqa: N801  in test cells it reads as a function, and is used as one
    """An op's figures, by name: `doubles.facts(matmul_flops=240, read=232)`; others are 0."""

    matmul_flops: int = 0
    elementwise: int = 0
    read: int = 0
    written: int = 0


class Before:
    """Call functions as if all that comes before an exercise were right: `Before("record")`.

    figures: {(op, phase): facts(…)}, all 0 for other ops; None for an op without a rule.
    limits: {(FLOPs, bytes): "compute" or "memory"}; other sums get a sentence that names them.

    During a call the names of the earlier exercises stand for these answers in the notebook. A row
    of add_row has self_ms equal to ms, and `first` as it was given. A pass has figures that follow
    from its input's size; `passes` lists what each was given.
    """

    def __init__(
        self,
        exercise: str,
        figures: Mapping[tuple[str, str], facts | None] | None = None,
        limits: Mapping[tuple[int, int], str] | None = None,
    ) -> None:
        self.earlier, self.figures, self.limits = _EARLIER[exercise], figures or {}, limits or {}
        self.passes: list[dict[str, Any]] = []

    def __call__(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Return function(*args, **options), called with these answers in place."""
        notebook = vars(sys.modules["__main__"])
        kept = {name: notebook.get(name, _ABSENT) for name in self.earlier}
        notebook.update({name: getattr(self, f"_{name}") for name in self.earlier})
        try:
            return function(*args, **options)
        finally:
            for name, value in kept.items():
                if value is _ABSENT:
                    del notebook[name]
                else:
                    notebook[name] = value

    def _op_bytes(self, call: Any, result: Any) -> tuple[int, int]:
        return self._figures_of(call)[2:]

    def _op_facts(self, call: Any, result: Any) -> dict[str, Any]:
        matmul, elementwise, read, written = self._figures_of(call)
        first = result if hasattr(result, "shape") else next(t for t in result if t is not None)
        return {
            "op": call.op, "module": call.module_path, "phase": call.phase,
            "input_shapes": [t.shape for t in call.inputs], "output_shape": first.shape,
            "dtype": str(first.dtype), "matmul_flops": matmul, "elementwise_flops": elementwise,
            "bytes_read": read, "bytes_written": written,
        }  # fmt: skip

    def _figures_of(self, call: Any) -> facts:
        found = self.figures.get((call.op, call.phase), facts())
        if found is None:
            raise NotImplementedError(f"there is no rule for the op {call.op}")
        return found

    def _add_row(self, rows: Any, first: int, start: int, end: int, facts: dict) -> None:
        ms = (end - start) / 1e6
        begun = {"first": first, "start_ms": (start - rows.start) / 1e6, "depth": rows.depth}
        rows.append({**facts, **begun, "ms": ms, "self_ms": ms})

    def _record(self, call: Any, rows: Any) -> Any:
        start, result = time.perf_counter_ns(), call()
        self._add_row(rows, len(rows), start, start, self._op_facts(call, result))
        return result

    def _find_bottleneck(self, flops: int, bytes_moved: int, hardware: Any) -> str | None:
        if hardware is None:
            return None
        said = f"asked about {flops} FLOPs and {bytes_moved} bytes"
        return self.limits.get((flops, bytes_moved), said)

    def _profile_forward_pass(
        self, model: Any, x: Any, hardware: Any, warmup: int = 3, iterations: int = 10
    ) -> dict[str, Any]:
        machine = hardware and hardware.name
        self.passes.append(
            {"shape": x.shape, "dtype": str(x.dtype), "data": not x.is_meta, "machine": machine}
        )
        return {
            "parameters": sum(p.numel() for p in model.parameters()), "flops": 1000 * x.numel(),
            "latency_ms": x.numel() / 7, "peak_memory_mb": x.numel() / 3,
            "gflops_per_second": 0.007, "bottleneck": machine and f"limited by {machine}",
        }  # fmt: skip
