"""Make what lesson 05's test cells profile: layers of scripted time, one that is trained in parts,
calls that make calls. Give its earlier exercises' answers, written down, to those that use them, so
that one slip costs its points once. What may not enter: what should come out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from proflab import Function, Tensor, dispatch, example_input, nn
from proflab.lesson import machine
from proflab.lesson.recording import Recorder, Rows
from proflab.lesson.tensor_memory import each_op

T = TypeVar("T")

_PASS = "profile_forward_pass"
_STEPS = ("op_bytes", "op_facts", "self_times", "add_row", "record", "find_bottleneck", _PASS)
_EARLIER = {
    "op_facts": _STEPS[:1],
    "record": _STEPS[:4],
    "profile_forward_pass": _STEPS[:6],
    "profile_backward_pass": _STEPS[:6],
    "profile_layer": _STEPS,
    "compare_architectures": _STEPS,
}
_ABSENT = object()


class Paced(nn.Module):
    """A layer that takes as long as `pace` says, where x has data: `Paced(pace, nn.ReLU())`.

    back: its backward pass calls `pace` once more.
    """

    def __init__(self, pace: Callable[[Any], Any], inner: nn.Module, back: bool = False) -> None:
        self.pace, self.inner, self.back = pace, inner, back

    def forward(self, x: Tensor) -> Tensor:
        """Return what the layer makes of x, after one call of pace."""
        if self.back:
            return _Wait.apply(self.inner(x), self.pace)
        if not x.is_meta:
            self.pace(x)
        return self.inner(x)


class _Wait(Function):
    """Calls pace, forward and backward, and hands on what came in."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, pace: Callable[[Any], Any]) -> Tensor:
        ctx.pace = pace
        pace(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        ctx.pace(grad)
        return grad, None


class Product(Function):
    """a @ b, whose own backward makes the gradient of a with a product, and none of b."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        """Return the product."""
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        """Return the gradient of a, and None."""
        return grad @ ctx.saved_tensors[1].T, None


class Partly(nn.Module):
    """Some of its parameters are frozen, some unused, one is used under two names; its output is a
    dict of tensors, of which one is detached, and a number. Inputs: (rows, 256), float32.
    """

    def __init__(self) -> None:
        self.frozen, self.used = nn.Linear(256, 256, bias=False), nn.Linear(256, 256, bias=False)
        self.spare, self.head = nn.Linear(256, 512), nn.Linear(256, 128, bias=False).double()
        self.again, self.side = self.used, nn.Linear(256, 64, bias=False)
        self.frozen.weight.requires_grad_(False)

    def forward(self, x: Tensor) -> dict:
        """Return logits in float64, two hidden layers, a length."""
        x = self.again(self.used(self.frozen(x)))
        return {"logits": self.head(x.double()), "hidden": [x.detach(), self.side(x)], "length": 4}


class Around:
    """A call that takes as long as `pace` says and makes others meanwhile, as nothing in the engine
    does yet. Code that asks for its properties calls `wait` first.
    """

    inputs, attributes, module_path, phase = (Tensor([1.0]),), {}, "", "forward"

    def __init__(
        self, pace: Callable[[], Any], *inside: Around, wait: Callable[[], Any] = lambda: None
    ) -> None:
        self.pace, self.inside, self.wait = pace, inside, wait

    @property
    def op(self) -> str:
        """Return the op's name, after a wait."""
        self.wait()
        return "clone"

    def __call__(self) -> Tensor:
        """Let its time pass, and record each call inside."""
        self.pace()
        for call in self.inside:
            call.recorded(self.record, self.rows)
        return self.inputs[0].clone()

    def recorded(self, record: Callable, rows: Rows) -> None:
        """Let record(call, rows) run it, and what is inside."""
        self.record, self.rows = record, rows
        record(self, rows)


class Recorded(Rows):
    """Rows, and the name of the error that ended the recording: "" if none did."""

    __slots__ = ("error",)


class _Recorder(Recorder):
    """Record by a student's record(call, rows), or by a right answer's."""

    def __init__(self, record: Callable[[Any, Rows], Any]) -> None:
        super().__init__()
        self.record = record

    def watch(self, call: Any) -> Any:
        return self.record(call, self.rows)

    def end_region(self, first: int, start: int, end: int, facts: dict) -> None:
        _add_row(self.rows, start, end, facts)


def recorded(
    record: Callable[[Any, Rows], Any],
    function: Callable[[], Any] | Around,
    pace: Callable[[], Any] = lambda: None,
    unknown: str = "",
) -> Recorded:
    """Return the rows that record(call, rows) adds while function() runs, or an Around.

    Each op calls pace(), so that scripted time passes. unknown: an op without a rule. Meanwhile
    what is written before `record` is right. An exception ends the recording, and `error` has its
    name; one of an exercise that is still to be written is passed on.
    """
    recorder, error = _Recorder(record), ""
    before = Before("record", {(unknown, "forward"): None})
    try:
        if isinstance(function, Around):
            before(function.recorded, record, recorder.rows)
        else:
            with recorder:
                before(paced, pace, function)
    except (Exception, KeyboardInterrupt) as raised:
        if isinstance(raised, NotImplementedError) and not str(raised):
            raise
        error = type(raised).__name__
    rows = Recorded()
    rows += recorder.rows
    rows.start, rows.depth, rows.error = recorder.rows.start, recorder.rows.depth, error
    return rows


def on_the_way_back(look: Callable, *functions: Callable) -> list[list]:
    """Return look(call, result) of each backward op but the first: a list a function.

    function(x, y, z) gets tensors of the shapes (2, 3), (2, 3) and (3,), and returns a number.
    """
    found = []
    for function in functions:
        inputs = [example_input(nn.ReLU(), s).requires_grad_() for s in ((2, 3), (2, 3), (3,))]
        number = function(*inputs)
        found.append(each_op(look, number.backward)[1:])
    return found


def interrupted(call: Any = None) -> Any:
    """Raise KeyboardInterrupt, as a hook, or as what takes time."""
    raise KeyboardInterrupt


def paced(pace: Callable[[], Any], function: Callable[[], Any]) -> Any:
    """Return function(), each op inside calling pace() first, so that scripted time passes.

    >>> x, ticks = Tensor([1.0, 2.0]), []
    >>> paced(lambda: ticks.append("tick"), lambda: (x + x).sum().tolist()), ticks
    (6.0, ['tick', 'tick'])
    """

    def wait(call: Any) -> Any:
        pace()
        return call()

    with dispatch.hook(wait):
        return function()


def _a_tick_at_least(notebook: Mapping[str, Any]) -> dict[str, Callable]:
    """Return a measure_latency that is never 0, where the clock's steps are so coarse."""
    measure = notebook.get("measure_latency")
    if measure is None or machine.TICK < 1e-6:
        return {}
    least = machine.TICK * 1e3
    return {"measure_latency": lambda *args, **options: max(least, measure(*args, **options))}


# ── earlier exercises ────────────────────────────────────────────────────────────────────────


class facts(NamedTuple):  # noqa: N801  in test cells it reads as a function, and is used as one
    """An op's figures, by name: `profiled.facts(matmul_flops=240, read=232)`; others are 0."""

    matmul_flops: int = 0
    elementwise: int = 0
    read: int = 0
    written: int = 0


class Before:
    """Call functions as if all that comes before an exercise were right: `Before("record")`.

    figures: {(op, phase): facts(…), or a dict of its names}, all 0 for other ops; None for an op
        without a rule.
    limits: {(FLOPs, bytes): "compute" or "memory"}; other sums get a sentence that names them.

    During a call the names of the earlier exercises stand for these answers in the notebook. A row
    has self_ms equal to ms. A pass has figures that follow from its input's size; `passes` lists
    what each was given.
    """

    def __init__(
        self,
        exercise: str,
        figures: Mapping[tuple[str, str], facts | dict[str, int] | None] | None = None,
        limits: Mapping[tuple[int, int], str] | None = None,
    ) -> None:
        self.earlier, self.figures, self.limits = _EARLIER[exercise], figures or {}, limits or {}
        self.passes: list[dict[str, Any]] = []

    def __call__(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Return function(*args, **options), called with these answers in place."""
        notebook = vars(sys.modules["__main__"])
        answers: dict[str, Any] = {name: getattr(self, f"_{name}") for name in self.earlier}
        answers |= _a_tick_at_least(notebook)
        kept = {name: notebook.get(name, _ABSENT) for name in answers}
        notebook.update(answers)
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
            "op": call.op,
            "module": call.module_path,
            "phase": call.phase,
            "input_shapes": [t.shape for t in call.inputs],
            "output_shape": first.shape,
            "dtype": str(first.dtype),
            "matmul_flops": matmul,
            "elementwise_flops": elementwise,
            "bytes_read": read,
            "bytes_written": written,
        }

    def _figures_of(self, call: Any) -> facts:
        found = self.figures.get((call.op, call.phase), facts())
        if found is None:
            raise NotImplementedError(f"there is no rule for the op {call.op}")
        return facts(**found) if isinstance(found, dict) else found

    def _self_times(self, spans: list[tuple[int, int]]) -> list[float]:
        return [float(end - start) for start, end in spans]

    def _add_row(self, rows: Any, start: Any, end: Any, facts: Any, *older: Any) -> None:
        # Earlier releases had the number of rows before start.
        _add_row(rows, *(start, end, facts, *older)[-3:])

    def _record(self, call: Any, rows: Any) -> Any:
        start, result = time.perf_counter_ns(), call()
        _add_row(rows, start, start, self._op_facts(call, result))
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
            "parameters": sum(p.numel() for p in model.parameters()),
            "flops": 1000 * x.numel(),
            "latency_ms": x.numel() / 7,
            "peak_memory_mb": x.numel() / 3,
            "gflops_per_second": 0.007,
            "bottleneck": machine and f"limited by {machine}",
        }


def _add_row(rows: Rows, start: float, end: float, facts: dict) -> None:
    """Add the row of something that has ended, whose own time is all of its time."""
    ms = (end - start) / 1e6
    times = {"start_ms": (start - rows.start) / 1e6, "ms": ms, "self_ms": ms}
    rows.add({**facts, **times, "depth": rows.depth}, start, end)
