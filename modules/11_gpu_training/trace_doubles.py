"""Small traces and allocator histories for a lesson's test cells, in the form that torch writes.

Times are in µs. What may not enter: expected values, and what follows from a trace.
"""

from __future__ import annotations

from typing import Any

_HOST, _DEVICE = 4242, 0  # pid of the process, and of the first card


def trace(*events: dict) -> dict:
    """Return a trace that holds these events, in this order, after what torch writes first.

    Besides them it has what else is in a real one: names of processes, a span over all, arrows.
    """
    first = min((event["ts"] for event in events), default=0.0)
    named = {"ph": "M", "name": "process_name", "pid": _HOST, "tid": 0, "args": {"name": "python"}}
    arrow = {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": _HOST, "tid": 1}
    mark = {"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler", "ts": first}
    return {
        "schemaVersion": 1,
        "deviceProperties": [],
        "traceEvents": [named, mark, *events, arrow],
    }


def op(name: str, at: float, us: float, tid: int = 1, cat: str = "cpu_op") -> dict:
    """Return an op of torch on the host, such as aten::conv2d.

    cat: "user_annotation" for a span that the user or an optimizer named, such as ProfilerStep#1.
    """
    return _event(cat, name, at, us, _HOST, tid, {})


def launch(
    at: float, us: float, correlation: int, name: str = "cudaLaunchKernel", tid: int = 1
) -> dict:
    """Return a call of CUDA; what it started has the same correlation.

    A name such as cuLaunchKernel is the driver's, of which what torch.compile made is launched.
    """
    cat = "cuda_runtime" if name.startswith("cuda") else "cuda_driver"
    return _event(cat, name, at, us, _HOST, tid, {"correlation": correlation})


def kernel(
    name: str,
    at: float,
    us: float,
    correlation: int = 0,
    stream: int = 7,
    cat: str = "kernel",
) -> dict:
    """Return a kernel on the device.

    cat: "gpu_memcpy" for a copy to, from or on the device, "gpu_memset" for a fill of its memory,
    "gpu_user_annotation" for a user's span as it is drawn over its kernels, which is no work.
    """
    args = {"device": _DEVICE, "stream": stream, "correlation": correlation}
    return _event(cat, name, at, us, _DEVICE, stream, args)


def alloc(addr: int, size: int, frame: str) -> dict:
    """Return an allocation of `size` bytes that `frame` asked for."""
    return {"action": "alloc", "addr": addr, "size": size, "frame": frame}


def free(addr: int, size: int = 0) -> dict:
    """Return the end of the allocation at this address."""
    return {"action": "free", "addr": addr, "size": size}


def segment(*blocks: tuple[int, str]) -> dict:
    """Return a segment of blocks (size, state): "active_allocated" or "inactive"."""
    rows = [{"size": size, "state": state} for size, state in blocks]
    return {"total_size": sum(row["size"] for row in rows), "blocks": rows}


def _event(
    cat: str, name: str, at: float, us: float, pid: int, tid: int, args: dict[str, Any]
) -> dict:
    where = {"pid": pid, "tid": tid, "ts": at, "dur": us}
    return {"ph": "X", "cat": cat, "name": name, **where, "args": args}
