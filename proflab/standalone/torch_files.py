"""Reads what torch writes: a trace of torch.profiler, and a snapshot of a card's memory.

Both come out in the form in which lesson 11's exercises take them. What may not enter: a busy time,
a table of ops or a peak; those are the student's functions.
"""

from __future__ import annotations

import gzip
import io
import json
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

from proflab.lesson.cuda.timeline import DEVICE

_OPS = ("cpu_op", "user_annotation")
_CALLS = ("cuda_runtime", "cuda_driver")
# What traces of 2021 call them.
_OLD = {
    "Operator": "cpu_op",
    "Runtime": "cuda_runtime",
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
}
_PROCESSORS = {0: "host", 1: "card"}
# Whose functions are no place in the student's own program.
_FOREIGN = ("site-packages", "dist-packages", "/torch/", "/lib/python3", "??", "<frozen")


def read_trace(path: Path) -> tuple[dict, dict[str, list[dict]]]:
    """Return the trace that `export_chrome_trace` wrote, and the allocations in it by device.

    The trace has the ops, calls and the card's work, timed in µs from the first of them. An
    allocation's frame is the innermost op in which it was made; there are none unless the profiler
    ran with profile_memory=True, in a torch that notes addresses.
    Raises ValueError with a sentence for what is no such file.
    """
    try:
        content = json.loads(_unpacked(path))
        events = content["traceEvents"] if isinstance(content, dict) else content
        timed = [_renamed(e) for e in events if e.get("ph") == "X" and "dur" in e]
        kept = [e for e in timed if e["cat"] in (*_OPS, *_CALLS, *DEVICE)]
        zero = min((event["ts"] for event in kept), default=0)
        notes = [e for e in events if e.get("name") == "[memory]" and "Addr" in e["args"]]
        histories = _histories([e for e in kept if e["cat"] in _OPS], notes)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} is no trace of torch.profiler: {error!r}") from None
    if not kept:
        raise ValueError(f"{path} holds no op: let the profiler run around the work")
    reduced = [_reduced(event, zero, -1 - count) for count, event in enumerate(kept)]
    return {"traceEvents": reduced}, histories


def read_snapshot(path: Path) -> list[dict[str, list[dict]]]:
    """Return history and segments of each card that `torch.cuda.memory._dump_snapshot` wrote of.

    A pickle may hold plain values only: one that would run code is refused. JSON is read, too.
    Raises ValueError with a sentence for what is no such file.
    """
    data = _unpacked(path)
    try:
        snapshot = json.loads(data) if data[:1] == b"{" else _Plain(io.BytesIO(data)).load()
        return [
            {
                "history": [_step(e) for e in entries if e["action"] in ("alloc", _FREED)],
                "segments": [s for s in snapshot["segments"] if s.get("device", 0) == card],
            }
            for card, entries in enumerate(snapshot["device_traces"])
        ]
    except (pickle.UnpicklingError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path} is no snapshot of torch's memory: {error!r}") from None
    except (EOFError, IndexError, MemoryError, RecursionError) as error:
        raise ValueError(f"{path} is cut off or no pickle: {error!r}") from None


def _unpacked(path: Path) -> bytes:
    """Return a file's bytes, of a .gz what is in it."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


# ── a trace ──────────────────────────────────────────────────────────────────────────────────


def _renamed(event: dict) -> dict:
    """Return an event under its category's name of today, with its thread as text."""
    category: Any = event.get("cat")
    thread = str(event.get("tid"))
    return event | {"cat": _OLD.get(category, category), "tid": thread, "pid": str(event["pid"])}


def _reduced(event: dict, zero: float, unlike: int) -> dict:
    """Return an event with what exercises read; work without a number gets one like no other."""
    found = {name: event[name] for name in ("ph", "cat", "name", "pid", "tid", "dur")}
    args = {"correlation": unlike, "stream": 0} | event.get("args", {})
    kept = {name: args[name] for name in ("correlation", "stream", "device") if name in args}
    if "convolution" in event["name"] and "Input Dims" in args:
        kept["Input Dims"] = args["Input Dims"]
    return found | {"ts": round(event["ts"] - zero, 3), "args": kept}


def _histories(ops: list[dict], notes: list[dict]) -> dict[str, list[dict]]:
    """Return allocations and frees by device, each allocation with the innermost op around it."""
    found: dict[str, list[dict]] = defaultdict(list)
    open_ops: dict[tuple, list[dict]] = defaultdict(list)
    for event in sorted([*ops, *map(_renamed, notes)], key=lambda e: (e["ts"], -e.get("dur", 0))):
        stack = open_ops[event["pid"], event["tid"]]
        while stack and stack[-1]["ts"] + stack[-1]["dur"] < event["ts"]:
            stack.pop()
        if "dur" in event:
            stack.append(event)
            continue
        args = event["args"]
        device = _PROCESSORS.get(args["Device Type"], f"device type {args['Device Type']}")
        if args["Device Id"] > 0:
            device += f" {args['Device Id']}"
        frame = stack[-1]["name"] if stack else "outside of ops"
        found[device].append(_entry(args["Addr"], args["Bytes"], frame))
    return dict(found)


def _entry(address: int, size: int, frame: str) -> dict:
    if size > 0:
        return {"action": "alloc", "addr": address, "size": size, "frame": frame}
    return {"action": "free", "addr": address, "size": -size}


# ── a snapshot ───────────────────────────────────────────────────────────────────────────────

_FREED = "free_completed"  # requested, a block is not free yet


class _Plain(pickle.Unpickler):
    """Reads a pickle of lists, dicts, texts and numbers; what names code is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it would run {module}.{name}")


def _step(entry: dict) -> dict:
    size = entry["size"] if entry["action"] == "alloc" else -entry["size"]
    return _entry(entry["addr"], size, _own_frame(entry.get("frames", [])))


def _own_frame(frames: list[dict]) -> str:
    """Return the innermost frame of the student's program; without one the innermost of all."""
    for frame in frames:
        place = frame["filename"].replace("\\", "/")
        if place.endswith(".py") and not any(part in place for part in _FOREIGN):
            return f"{frame['name']}, {place.rpartition('/')[2]} line {frame['line']}"
    return frames[0]["name"] if frames else "unknown"
