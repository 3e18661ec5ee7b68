"""Traces in a few bytes an event: columns of integers in place of torch's dict for each event.

A document of measured steps keeps a trace so; `unpack` gives the events that torch would write.
What an allocator did is kept in the same way.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from proflab.lesson.cuda.timeline import DEVICE

_NUMBERS = ("ts", "dur", "name", "cat", "thread", "correlation")


def pack(events: list[dict]) -> dict[str, Any]:
    """Return events as columns: steps of `ts` and `correlation`, places of names and threads.

    events: those with a duration, times in whole µs, sorted by ts. Kept are name, cat, pid, tid,
    ts, dur and of args the correlation, bytes and `Input Dims`.
    """
    names: dict[str, int] = {}
    cats: dict[str, int] = {}
    threads: dict[tuple, int] = {}
    packed: dict[str, Any] = {column: [] for column in _NUMBERS}
    shapes: dict[str, list] = {}
    sizes: dict[str, int] = {}
    before = {"ts": 0, "correlation": 0}
    for number, event in enumerate(events):
        args = event.get("args", {})
        packed["dur"].append(event["dur"])
        packed["name"].append(names.setdefault(event["name"], len(names)))
        packed["cat"].append(cats.setdefault(event["cat"], len(cats)))
        thread = (event["pid"], event["tid"])
        packed["thread"].append(threads.setdefault(thread, len(threads)))
        for key, value in (("ts", event["ts"]), ("correlation", args.get("correlation"))):
            packed[key].append(None if value is None else value - before[key])
            before[key] = before[key] if value is None else value
        if "Input Dims" in args:
            shapes[str(number)] = args["Input Dims"]
        if "bytes" in args:
            sizes[str(number)] = args["bytes"]
    lists = {"names": list(names), "cats": list(cats), "threads": [list(t) for t in threads]}
    return {**lists, **packed, "shapes": shapes, "bytes": sizes}


def unpack(packed: dict[str, Any]) -> list[dict]:
    """Return the events of a packed trace, as torch.profiler exports them; the inverse of `pack`.

    Raises ValueError if the columns differ in length or name what is not listed.
    """
    columns = [packed[name] for name in _NUMBERS]
    if len({len(column) for column in columns}) != 1:
        raise ValueError("the columns of a packed trace differ in length")
    times = list(accumulate(packed["ts"]))
    last, events = 0, []
    for number, (_, dur, name, cat, thread, step) in enumerate(zip(*columns, strict=True)):
        args: dict[str, Any] = {}
        try:
            pid, tid = packed["threads"][thread]
            event = {"ph": "X", "cat": packed["cats"][cat], "name": packed["names"][name]}
        except IndexError:
            raise ValueError(f"event {number} of a packed trace names what is not listed") from None
        if step is not None:
            last += step
            args["correlation"] = last
        if event["cat"] in DEVICE:
            args["stream"] = tid
        if str(number) in packed["shapes"]:
            args["Input Dims"] = packed["shapes"][str(number)]
        if str(number) in packed["bytes"]:
            args["bytes"] = packed["bytes"][str(number)]
        times_of = {"pid": pid, "tid": tid, "ts": times[number], "dur": dur}
        events.append({**event, **times_of, "args": args})
    return events


def pack_history(history: list[dict]) -> dict[str, list]:
    """Return what an allocator did as columns: bytes, negative where they are freed."""
    frames: dict[str, int] = {"": 0}
    packed: dict[str, list] = {"bytes": [], "addr": [], "frame": []}
    for event in history:
        freed = event["action"] == "free"
        packed["bytes"].append(-event["size"] if freed else event["size"])
        packed["addr"].append(event["addr"])
        packed["frame"].append(frames.setdefault(event.get("frame", ""), len(frames)))
    return {"frames": list(frames), **packed}


def unpack_history(packed: dict[str, list]) -> list[dict]:
    """Return the rows of an allocator's history; the inverse of `pack_history`."""
    history = []
    for size, address, frame in zip(packed["bytes"], packed["addr"], packed["frame"], strict=True):
        action = "free" if size < 0 else "alloc"
        event = {"action": action, "addr": address, "size": abs(size)}
        history.append(event if size < 0 else event | {"frame": packed["frames"][frame]})
    return history
