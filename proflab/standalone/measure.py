"""Runs a model under the student's own functions and gathers what they say.

`names` is everywhere the student's file: each count, time and verdict is a call into it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from proflab import Tensor, enable_grad, example_input, manual_seed, no_grad
from proflab.lesson.blas import threads_in_words
from proflab.lesson.hardware import Hardware, this_machine
from proflab.lesson.measuring import beyond_caches, copy_on, on_threads
from proflab.standalone.pinned import threads_here
from proflab.standalone.tables import add_up
from proflab.standalone.zoo import Choice

# What is called here, and the lesson in which it is written.
NEEDED = {
    "count_parameters": "01_parameters",
    "parameter_memory_mb": "01_parameters",
    "count_flops": "02_flops",
    "training_flops": "02_flops",
    "measure_latency": "03_latency",
    "measure_memory": "04_memory",
    "training_memory": "04_memory",
    "OpRecorder": "05_profiler",
    "top_operations": "05_profiler",
    "measure_peak_flops": "06_roofline",
    "measure_bandwidth": "06_roofline",
    "arithmetic_intensity": "06_roofline",
    "roofline_points": "06_roofline",
    "ridge_point": "06_roofline",
    "classify": "06_roofline",
    "mfu": "06_roofline",
}
_COUNTS = ("matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")
_ROUNDS, _REPEATS = 3, 7  # together as many products and copies as lesson 06 takes


@dataclass(frozen=True)
class Request:
    """A request to profile: the model, the input, and the command line's other options."""

    choice: Choice
    batch: int
    size: int
    train: bool = False
    passes: int = 5
    threads: int = 1
    at: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """Return what is run, in a line."""
        sized = {"tokens": f", {self.size} tokens", "image": f", {self.size} × {self.size}"}
        what = "a training step" if self.train else "a forward pass"
        return f"{self.choice.title}, batch {self.batch}{sized.get(self.choice.kind, '')}: {what}"


@dataclass
class Report:
    """A finished profile in plain data: rows, parts and figures, for the table and for the page."""

    title: str
    machine: str
    threads: str
    roof: Hardware
    roof_rounds: list[tuple[float, float]]
    ridge: float
    parameters: int
    flops: int
    latency_ms: float
    passes_ms: list[float]
    cpu_ms: float
    mfu: float
    memory: dict[str, float]
    training: dict[str, float]
    rows: list[dict]
    top: list[dict] = field(default_factory=list)
    points: list[dict] = field(default_factory=list)
    predictions: list[dict] = field(default_factory=list)
    targets: list[dict] = field(default_factory=list)


def measure(names: dict[str, Any], request: Request, say: Callable[[str], None]) -> Report:
    """Profile what is asked for; `say` gets a line before each step.

    Raises what the student's functions raise, NotImplementedError for one still to be written.
    """
    shape = request.choice.input_shape(request.batch, request.size)
    say(f"{request.title}: building the model")
    manual_seed(0)
    model = request.choice.make(request.size)
    model.train() if request.train else model.eval()
    x = example_input(model, shape)
    count = names["training_flops"] if request.train else names["count_flops"]
    parameters = names["count_parameters"](model)
    flops = count(model, shape, per_sample=False)
    with on_threads(request.threads):
        here = replace(this_machine(), threads=threads_here())
        say("measuring the roofs")
        roof, rounds = _measure_roofs(names, request.threads)
        say("timing the pass")
        work = _make_pass(model, request.train)
        latency = names["measure_latency"](work, x, warmup=1, iterations=request.passes)
        say("recording its operations")
        rows, passes, cpu = record(names, lambda: work(x), request.passes)
        say("measuring its memory")
        with no_grad():
            peak = names["measure_memory"](model, shape)["peak_memory_mb"]
        held = names["parameter_memory_mb"](model)
    report = Report(
        title=request.title,
        machine=here.sentences(),
        threads=threads_in_words(here.threads),
        roof=roof,
        roof_rounds=rounds,
        ridge=names["ridge_point"](roof.peak_flops, roof.bandwidth),
        parameters=parameters,
        flops=flops,
        latency_ms=latency,
        passes_ms=passes,
        cpu_ms=cpu,
        mfu=names["mfu"](flops, latency / 1000, roof.peak_flops),
        memory={"parameters": held, "activations": peak - held},  # MB
        training=names["training_memory"](model, shape, "adam"),
        rows=rows,
    )
    report.top = _top(names, rows, roof)
    report.points = _points(names, rows, roof)
    report.targets = _targets(names, rows, roof)
    return report


def _make_pass(model: Any, train: bool) -> Callable[[Tensor], Any]:
    """Return a function of the input that runs a forward pass, or that and the backward pass."""

    def forward(x: Tensor) -> Tensor:
        with no_grad():
            return model(x)

    def both(x: Tensor) -> None:
        with enable_grad():
            model(x).sum().backward()
        model.zero_grad()

    return both if train else forward


def _measure_roofs(
    names: dict[str, Any], threads: int
) -> tuple[Hardware, list[tuple[float, float]]]:
    """Return the two roofs, the best of three rounds, and what each round found."""
    size = beyond_caches(this_machine().caches, 2**29)
    copy = copy_on(threads)
    rounds = [
        (names["measure_peak_flops"](repeats=n), names["measure_bandwidth"](size, copy, repeats=n))
        for n in [_REPEATS] * _ROUNDS
    ]
    peak, bandwidth = (max(values) for values in zip(*rounds, strict=True))
    return Hardware(peak, bandwidth, threads_in_words(threads_here()), "measured here"), rounds


def record(
    names: dict[str, Any], work: Callable[[], Any], passes: int
) -> tuple[list[dict], list[float], float]:
    """Return the rows of one pass, each with its median time, each pass's ms, and its CPU ms.

    The CPU time is the median of what all threads of this process took together in a pass.
    """
    recordings, cpu = [], []
    for _ in range(passes):
        start = time.process_time()
        with names["OpRecorder"]() as recorder:
            work()
        cpu.append((time.process_time() - start) * 1000)
        recordings.append(list(recorder.rows))
    times = [sum(row["self_ms"] for row in rows) for rows in recordings]
    # Of one pass, so that starts and ends fit one another in the timeline (svg.py).
    middle = recordings[times.index(sorted(times)[len(times) // 2])]
    if len({len(rows) for rows in recordings}) == 1:
        middle = [
            row | {"self_ms": median(rows[i]["self_ms"] for rows in recordings)}
            for i, row in enumerate(middle)
        ]
    return middle, times, median(cpu)


# ── by operation ─────────────────────────────────────────────────────────────────────────────


def _top(names: dict[str, Any], rows: list[dict], roof: Hardware) -> list[dict]:
    """Return each kind of operation, the longest first, with its counts and its wall."""
    found = []
    for entry in names["top_operations"](rows, len(rows)):
        own = [row for row in rows if entry["name"] in (row["op"], row["module"])]
        own = [row for row in own if row["op"] == entry["name"]] or own  # or a region's
        sums = {key: sum(row[key] for row in own) for key in _COUNTS}
        flops = sums["matmul_flops"] + sums["elementwise_flops"]
        moved = sums["bytes_read"] + sums["bytes_written"]
        seconds, wall = entry["ms"] / 1000, ""
        if seconds > 0:
            wall = names["classify"](flops, moved, seconds, roof.peak_flops, roof.bandwidth)
        intensity = names["arithmetic_intensity"](flops, moved) if moved else 0.0
        speed = flops / seconds if seconds > 0 else 0.0
        counts = {"calls": len(own), "flops": flops, "bytes": moved}
        found.append({**entry, **counts, "intensity": intensity, "speed": speed, "wall": wall})
    return found


def _targets(names: dict[str, Any], rows: list[dict], roof: Hardware) -> list[dict]:
    """Return what lesson 09 says is worth making faster; nothing where that is not written."""
    try:
        return names["diagnose"](rows, roof) if "diagnose" in names else []
    except NotImplementedError:
        return []


def _points(names: dict[str, Any], rows: list[dict], roof: Hardware) -> list[dict]:
    """Return the places of alike operations under the roof, with their shares of the time."""
    total = sum(row["self_ms"] for row in rows) or 1.0
    found = []
    for row in add_up_alike(rows):
        for point in names["roofline_points"]([row], roof):
            found.append(point | {"op": row["op"], "share": row["self_ms"] / total})
    return found


def add_up_alike(rows: list[dict]) -> list[dict]:
    """Add up rows of the same op, phase, shapes, and module but for its numbers."""
    unnumbered = (row | {"module": re.sub(r"\d+", "*", row["module"])} for row in rows)
    return add_up(unnumbered, ("op", "phase", "module", "input_shapes"), (*_COUNTS, "self_ms"))
