"""Measure the rows of lesson 11's document: each function takes a device and yields one kind.

`MEASURES[kind]` is what a device cell gives to `record.measure`. Sizes shrink with
PROFLAB_DEMO=small. torch is imported when a function is called. What may not enter: what follows
from a row, such as a gap or a peak.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import train
import two_processes

from proflab.lesson.demo import demo_size
from proflab.standalone.torch_files import read_trace

WORKERS = min(4, os.cpu_count() or 1)
_LOADED = {"workers": WORKERS, "pin": True}
_HALF = _LOADED | {"amp": True, "channels_last": True}
COMPILE = "compile, one shape"  # names both that it changes
# The lab's parts: name, images of a step, the part it is compared with, switches, faults left.
PARTS = (
    ("as written", 128, None, {}, train.FAULTS),
    ("data loading", 128, "as written", _LOADED, train.FAULTS),
    ("AMP", 128, "data loading", _LOADED | {"amp": True}, train.FAULTS),
    ("channels-last", 128, "AMP", _HALF, train.FAULTS),
    ("checkpointing", 256, "channels-last", _HALF | {"checkpoint": True}, train.FAULTS),
    (COMPILE, 128, "channels-last", _HALF | {"compile": True}, ("item", "transfer")),
    (
        "all that helped",
        128,
        COMPILE,
        _HALF | {"compile": True, "fused_optimizer": True},
        (),
    ),
)
TRACES = {
    "starved": ({"workers": 0}, ()),
    "synchronous": ({"workers": WORKERS}, ("item", "transfer")),
    # Without a fused optimizer the scaler of mixed precision reads a number in every step.
    "good": (_LOADED | {"fused_optimizer": True}, ()),
}
MODES = ("default", "reduce-overhead", "max-autotune")


def steps(gpu: Any) -> Iterator[dict]:
    """Measure the lab's parts, each in pairs with the one that it is compared with."""
    parts = {part[0]: part for part in PARTS}
    for name, images, against, switches, faults in PARTS:
        batch, pairs = demo_size(images, 4), []
        for _ in range(demo_size(6, 2) if against else 0):
            _, others, _, *how = parts[against]
            other = demo_size(others, 4)
            before = median(_run(gpu, other, *how)["step_ms"]) * batch / other
            pairs.append([before, median(_run(gpu, batch, switches, faults)["step_ms"])])
        _reset_peak(gpu)
        found = _run(gpu, batch, switches, faults, demo_size(50, 4))
        yield {
            "name": name,
            "batch": batch,
            "ms": median([after for _, after in pairs] or found["step_ms"]),
            "against": against,
            "pairs": pairs,
            "losses": [_number(loss) for loss in found["losses"]],
            "peak_bytes": _peak(gpu),
            "switches": dict.fromkeys(train.SWITCHES, False)
            | {"workers": 0}
            | switches
            | {"faults": list(faults)},
        }


def pairwise(gpu: Any) -> Iterator[dict]:
    """Measure the step without mixed precision and channels-last, with either, and with both.

    In five rounds; of each the fastest, the one that other programs disturbed least.
    """
    kinds: dict[str, dict] = {
        "neither": {},
        "mixed precision": {"amp": True},
        "channels-last": {"channels_last": True},
        "both": {"amp": True, "channels_last": True},
    }
    batch, found = demo_size(_images(gpu, 128), 4), {name: math.inf for name in kinds}
    for _ in range(demo_size(5, 1)):
        for name, changes in kinds.items():
            ms = median(_run(gpu, batch, _loaded(gpu) | changes)["step_ms"])
            found[name] = min(found[name], ms)
    yield from ({"name": name, "ms": ms} for name, ms in found.items())


def traces(gpu: Any) -> Iterator[dict]:
    """Record three steps of three runs with torch's profiler, and keep what a plot needs."""
    from torch import profiler

    kinds = [profiler.ProfilerActivity.CPU]
    kinds += [profiler.ProfilerActivity.CUDA] * (gpu.device == "cuda")
    for name, (switches, faults) in TRACES.items():
        schedule = profiler.schedule(wait=2, warmup=2, active=3)
        with profiler.profile(activities=kinds, schedule=schedule, record_shapes=True) as profile:
            switches = switches | {"amp": True, "channels_last": True}
            _run(gpu, demo_size(16, 4), switches, faults, 7, on_step=profile.step)
        what = {"model": "resnet18", "batch": demo_size(16, 4), "dtype": "float16"}
        yield {"name": name, "steps": 3, **what, "trace": {"traceEvents": _exported(profile)}}


def profiles(gpu: Any) -> Iterator[dict]:
    """Record two steps of a small network with torch's profiler, and torch's own table of them."""
    from torch import profiler

    kinds = [profiler.ProfilerActivity.CPU]
    kinds += [profiler.ProfilerActivity.CUDA] * (gpu.device == "cuda")
    schedule = profiler.schedule(wait=1, warmup=2, active=2)
    with profiler.profile(activities=kinds, schedule=schedule) as profile:
        _run(gpu, demo_size(16, 4), {"workers": 1}, ("item", "transfer"), 5, on_step=profile.step)
    trace = {"traceEvents": [_host_event(event) for event in _exported(profile)]}
    table = {
        row.key: [round(row.self_cpu_time_total, 3), round(row.cpu_time_total, 3)]
        for row in profile.key_averages()
    }
    yield {"name": "two steps", "steps": 2, "trace": trace, "table": table}


def _exported(profile: Any) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profile.export_chrome_trace(str(path))
        trace = read_trace(path)
    return [event for event in trace.events if "dur" in event]


def _host_event(event: dict) -> dict:
    """Return what the lesson reads of an event, times to the ns."""
    args = event.get("args", {})
    kept = {name: args[name] for name in ("correlation", "stream") if name in args}
    times = {name: round(event[name], 3) for name in ("ts", "dur")}
    names = {name: event[name] for name in ("ph", "cat", "name", "pid", "tid")}
    return names | times | {"args": kept}


def memories(gpu: Any) -> Iterator[dict]:
    """Record what the allocator does in two steps, without checkpoints and with."""
    memory, batch = gpu.torch.cuda.memory, demo_size(128, 8)
    for name, checkpoint in (("plain", False), ("checkpoint", True)):
        gpu.torch.cuda.empty_cache()
        memory._record_memory_history(context="alloc", stacks="python")
        try:
            _run(gpu, batch, {"checkpoint": checkpoint}, (), 2)
            snapshot = memory._snapshot()
        finally:
            memory._record_memory_history(enabled=None)
        history = _history(snapshot["device_traces"][0])
        segments = [_segment(segment) for segment in snapshot["segments"]]
        yield {"name": name, "batch": batch, "history": history, "segments": segments}


def losses(gpu: Any) -> Iterator[dict]:
    """Measure the losses of a run in float32, in mixed precision, and in float16 unscaled."""
    for name, how in {
        "float32": {},
        "mixed precision": {"amp": True},
        "float16 without scaling": {"amp": True, "scaling": False},
    }.items():
        if gpu.device == "cpu" and "scaling" in how:
            continue  # a processor's half precision is bfloat16, which needs none
        batch, count = demo_size(_images(gpu, 64), 4), demo_size(_images(gpu, 200), 4)
        found = _run(gpu, batch, _loaded(gpu) | how, (), count)
        yield {"name": name, "losses": [_number(loss) for loss in found["losses"]]}


def compiled(gpu: Any) -> Iterator[dict]:
    """Measure what each mode of torch.compile takes first, and what a step takes then."""
    basis = _HALF if gpu.device == "cuda" else _loaded(gpu)
    runs: dict = {"eager": (False, (), False)} | {mode: (mode, (), False) for mode in MODES}
    if gpu.device == "cuda":  # a processor compiles each new shape for half a minute
        runs["many shapes, by default"] = (MODES[0], ("shape",), None)
        runs["many shapes, dynamic=False"] = (MODES[0], ("shape",), False)
    for name, (mode, faults, dynamic) in runs.items():
        how = basis | {"compile": mode, "dynamic": dynamic}
        found = _run(gpu, demo_size(128, 4), how, faults, demo_size(40, 16), warm=0)
        ms = median(found["step_ms"][len(found["step_ms"]) // 2 :])
        more = max(sum(found["step_ms"]) - ms * len(found["step_ms"]), 0) / 1e3
        more = more if mode else 0.0
        again = max(found["graphs"] - 1, 0)
        yield {"name": name, "compile_s": more, "ms": ms, "recompiles": again}


def loaders(gpu: Any) -> Iterator[dict]:
    """Measure the images a second that the loader alone delivers, after its first batch.

    In three rounds; of each the fastest, the one that other programs disturbed least.
    """
    batch, count = 32, demo_size(_images(gpu, 20), 3)
    on_card = gpu.device == "cuda"
    workers = ((0, 1, 2, 4, 8) if on_card else (0, 1, 2, 4))[: demo_size(5, 2)]
    pins = (False, True)[: 1 + on_card]
    found = {(each, pin): 0.0 for each in workers for pin in pins}
    for _ in range(demo_size(3, 1)):
        for each, pin in found:
            batches = iter(train.loader(count, batch, 224, 1000, each, pin))
            next(batches)
            begin = time.perf_counter()
            images = sum(len(y) for _, y in batches)
            rate = images / (time.perf_counter() - begin)
            found[each, pin] = max(found[each, pin], rate)
    for (each, pin), rate in found.items():
        yield {"workers": each, "pin": pin, "images_s": rate}


def allreduces(gpu: Any) -> Iterator[dict]:
    """Measure an all-reduce of two processes on this host, by bytes."""
    yield from two_processes.measure([2**n for n in range(10, demo_size(27, 15), 2)])


MEASURES = {
    "step": steps,
    "pairwise": pairwise,
    "trace": traces,
    "profile": profiles,
    "memory": memories,
    "loss": losses,
    "compile": compiled,
    "loader": loaders,
    "allreduce": allreduces,
}


# ── one run ──────────────────────────────────────────────────────────────────────────────────


def _run(
    gpu: Any,
    batch: int,
    switches: dict,
    faults: Any = (),
    count: int = 0,
    warm: int | None = None,
    **more: Any,
) -> dict:
    """Train; return what `train.train` does, without the times of the first `warm` steps."""
    count = count or demo_size(20, 4)
    warm = min(5, count // 2) if warm is None else warm
    found = train.train(count, batch, **switches, faults=faults, device=gpu.device, **more)
    return found | {"step_ms": found["step_ms"][warm:]}


def _images(gpu: Any, count: int) -> int:
    """Return a number of images or steps, a quarter of it where there is no card."""
    return count if gpu.device == "cuda" else count // 4


def _loaded(gpu: Any) -> dict:
    """Return the switches of a loader that keeps up: one worker where there is no card."""
    return _LOADED if gpu.device == "cuda" else {"workers": 1}


def _reset_peak(gpu: Any) -> None:
    if gpu.device == "cuda":
        gpu.torch.cuda.reset_peak_memory_stats()


def _peak(gpu: Any) -> int:
    return gpu.torch.cuda.max_memory_allocated() if gpu.device == "cuda" else 0


def _number(loss: float) -> float | None:
    return round(loss, 4) if math.isfinite(loss) else None


# ── a snapshot, reduced ───────────────────────────────────────────────────────────────────────


def _history(entries: list[dict]) -> list[dict]:
    """Return allocations and frees; a free of what was allocated before is left out."""
    history, held = [], set()
    for entry in entries:
        address = entry["addr"]
        if entry["action"] == "alloc":
            frame = _own_frame(entry["frames"])
            what = {"action": "alloc", "addr": address, "size": entry["size"], "frame": frame}
            history.append(what)
            held.add(address)
        elif entry["action"] == "free_completed" and address in held:
            history.append({"action": "free", "addr": address, "size": entry["size"]})
            held.remove(address)
    return history


def _own_frame(frames: list[dict]) -> str:
    """Return the innermost frame of the training program, torch's own innermost without one."""
    for frame in frames:
        if Path(frame["filename"]).name == "train.py":
            return f"{frame['name']}, line {frame['line']}"
    return frames[0]["name"] if frames else "unknown"


def _segment(segment: dict) -> dict:
    states = {"active_allocated", "active_pending_free"}
    blocks = [
        {"size": b["size"], "state": b["state"] if b["state"] in states else "inactive"}
        for b in segment["blocks"]
    ]
    return {"total_size": segment["total_size"], "blocks": blocks}
