"""Traces in a few bytes an event: columns of integers in place of torch's dict for each event.

A document of other people's training steps keeps a trace so; `unpack` gives the events that torch
would write. What an allocator did is kept in the same way. A column is a text of integers, which
is shorter than a list of them and quicker to read.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from proflab.lesson.cuda.timeline import DEVICE

_EACH = ("ts", "dur", "name", "cat", "thread")  # columns with a number for each event
_LINKED = ("cuda_runtime", "cuda_driver", *DEVICE)  # the cats that have a correlation


def pack(events: list[dict]) -> dict[str, Any]:
    """Return events as columns: steps of `ts` and `correlation`, places of names and threads.

    events: those with a duration, times in whole µs, sorted by ts. Kept are name, cat, pid, tid,
    ts, dur and of args the correlation (of calls of CUDA and of the device's work), bytes and
    `Input Dims`.
    """
    names: dict[str, int] = {}
    cats: dict[str, int] = {}
    threads: dict[tuple, int] = {}
    columns: dict[str, list[int]] = {column: [] for column in (*_EACH, "correlation")}
    shapes: dict[str, list] = {}
    sizes: dict[str, int] = {}
    for number, event in enumerate(events):
        args = event.get("args", {})
        thread = (event["pid"], event["tid"])
        columns["ts"].append(event["ts"])
        columns["dur"].append(event["dur"])
        columns["name"].append(names.setdefault(event["name"], len(names)))
        columns["cat"].append(cats.setdefault(event["cat"], len(cats)))
        columns["thread"].append(threads.setdefault(thread, len(threads)))
        if event["cat"] in _LINKED:
            columns["correlation"].append(args["correlation"])
        if "Input Dims" in args:
            shapes[str(number)] = args["Input Dims"]
        if "bytes" in args:
            sizes[str(number)] = args["bytes"]
    for column in ("ts", "correlation"):
        columns[column] = _steps(columns[column])
    lists = {"names": list(names), "cats": list(cats), "threads": [list(t) for t in threads]}
    return {**lists, **_texts(columns), "shapes": shapes, "bytes": sizes}


def unpack(packed: dict[str, Any]) -> list[dict]:
    """Return the events of a packed trace, as torch.profiler exports them; the inverse of `pack`.

    Raises ValueError if the columns differ in length or name what is not listed.
    """
    columns = [_numbers(packed[name]) for name in _EACH]
    if len({len(column) for column in columns}) != 1:
        raise ValueError("the columns of a packed trace differ in length")
    columns[0] = list(accumulate(columns[0]))
    links = accumulate(_numbers(packed["correlation"]))
    names, cats, threads = packed["names"], packed["cats"], packed["threads"]
    events: list[dict] = []
    try:
        for ts, dur, name, cat, thread in zip(*columns, strict=True):
            kind, (pid, tid), args = cats[cat], threads[thread], {}
            if kind in _LINKED:
                args["correlation"] = next(links)
            if kind in DEVICE:
                args["stream"] = tid
            named = {"ph": "X", "cat": kind, "name": names[name], "pid": pid, "tid": tid}
            events.append({**named, "ts": ts, "dur": dur, "args": args})
        for key, column in (("Input Dims", "shapes"), ("bytes", "bytes")):
            for number, value in packed[column].items():
                events[int(number)]["args"][key] = value
    except (IndexError, StopIteration):
        raise ValueError(f"event {len(events)} of a packed trace names what is not there") from None
    return events


def pack_history(history: list[dict]) -> dict[str, Any]:
    """Return what an allocator did as columns: bytes, negative where they are freed."""
    frames: dict[str, int] = {"": 0}
    columns: dict[str, list[int]] = {"bytes": [], "addr": [], "frame": []}
    for event in history:
        freed = event["action"] == "free"
        columns["bytes"].append(-event["size"] if freed else event["size"])
        columns["addr"].append(event["addr"])
        columns["frame"].append(frames.setdefault(event.get("frame", ""), len(frames)))
    return {"frames": list(frames), **_texts(columns)}


def unpack_history(packed: dict[str, Any]) -> list[dict]:
    """Return the rows of an allocator's history; the inverse of `pack_history`.

    Raises ValueError if the columns differ in length or name a frame that is not listed.
    """
    history: list[dict] = []
    columns = [_numbers(packed[name]) for name in ("bytes", "addr", "frame")]
    if len({len(column) for column in columns}) != 1:
        raise ValueError("the columns of a packed history differ in length")
    for size, address, frame in zip(*columns, strict=True):
        if frame >= len(packed["frames"]):
            raise ValueError(f"event {len(history)} of a packed history has no known frame")
        event = {"action": "free" if size < 0 else "alloc", "addr": address, "size": abs(size)}
        history.append(event if size < 0 else event | {"frame": packed["frames"][frame]})
    return history


def _steps(values: Iterable[int]) -> list[int]:
    """Return the first value and the difference of each from the one before it."""
    before, steps = 0, []
    for value in values:
        steps.append(value - before)
        before = value
    return steps


def _texts(columns: dict[str, list[int]]) -> dict[str, str]:
    return {name: " ".join(map(str, column)) for name, column in columns.items()}


def _numbers(column: str) -> list[int]:
    return list(map(int, column.split()))
