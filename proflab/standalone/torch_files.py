"""Read a trace of torch.profiler, in the form in which lesson 11's exercises take it.

Strict about nothing that such a file may hold: what cannot be used is left out and noted. What may
not enter: a busy time, a table of ops or a peak: those are the student's functions.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proflab.lesson.cuda.timeline import DEVICE
from proflab.standalone.other_files import EXPORT, refuse_bytes, refuse_content, without_ops

_OPS = ("cpu_op", "user_annotation")
CALLS = ("cuda_runtime", "cuda_driver")
_READ = {*_OPS, *CALLS, *DEVICE}
# What traces of 2021 call them.
_OLD = {
    "Operator": "cpu_op",
    "Runtime": "cuda_runtime",
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
}
# Other backends launch by calls of their own: xpu_runtime, privateuse1_driver …
_LAUNCH = re.compile(r"(?!cuda)\w+_(runtime|driver)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PYTHON = "python_function"
# What torch writes beside them, and what no exercise reads.
_OTHERS = {_PYTHON, "Trace", "overhead", "gpu_user_annotation", "ac2g", "fwdbwd", "cuda_sync"}
_PROCESSORS = {0: "host", 1: "card"}
# Whose functions are no place in the student's own program.
FOREIGN = ("site-packages", "dist-packages", "/torch/", "/lib/python3", "??", "<frozen", "<built-")
_MOST = 1e18  # µs or bytes of which sums and products are still numbers
_ROUNDED = 1  # µs: by so much old traces round, and an op may seem to outlast the one around it
BEFORE = "before the recording"
_UNTIMED = "holds ops, but none has a name, a start and a duration of at least 0, in numbers"


@dataclass
class Trace:
    """A trace as exercises read it, the allocations in it by device, and what was left out."""

    events: list[dict]
    histories: dict[str, list[dict]]
    notes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # categories that no exercise knows


def read_trace(path: Path) -> Trace:
    """Return the trace that `export_chrome_trace` wrote: ops, calls and the card's work.

    Times are in µs from the first of them. Ops that overlap in part are on lanes of their own, so
    that none lies inside the other. An allocation's frame is where it was made: the innermost op,
    layer and line of the program, as far as they were recorded; there are none unless the profiler
    ran with profile_memory=True, in a torch that notes addresses.
    Raises ValueError with a sentence for what is no such file.
    """
    content, raw, notes = _events(path)
    timed = [event for event in _joined(raw, notes) if _is_timed(event)]
    unusable = sum(e.get("ph") == "X" for e in raw) - sum(e.get("ph") == "X" for e in timed)
    if unusable > 0:
        notes.append(f"left out, without a name, a start or a duration of at least 0: {unusable:,}")
    renamed = [_renamed(event) for event in timed]
    kept = [event for event in renamed if event["cat"] in _READ]
    unknown = Counter(event["cat"] for event in renamed if event["cat"] not in _READ)
    unread = sorted(unknown.keys() - _OTHERS)
    for category in unread:
        notes.append(f"left out, of the category {category!r}: {unknown[category]:,}")
    if not kept:
        whole = not any(str(event.get("cat")) in {*_READ, *_OLD} for event in raw)
        told = without_ops(path, content, raw) if whole else f"{path} {_UNTIMED}; {EXPORT}"
        raise ValueError(told)
    marks = [e for e in raw if e.get("name") == "[memory]" and _is_number(e.get("ts"))]
    histories = _histories([e for e in renamed if e["cat"] in (*_OPS, _PYTHON)], marks)
    zero = min(event["ts"] for event in kept)
    for count, event in enumerate(kept):  # in place: copies would take half as much again
        _reduce(event, zero, -1 - count)
    notes += _number_apart(kept)
    calls = {e["args"]["correlation"] for e in kept if e["cat"] in CALLS}
    alone = sum(e["cat"] in DEVICE and e["args"]["correlation"] not in calls for e in kept)
    if alone:
        notes.append(f"a card's work of which no launch is noted: {alone:,}, each its own row")
    return Trace(_on_lanes(kept), histories, notes, unread)


# ── a trace ──────────────────────────────────────────────────────────────────────────────────


def _events(path: Path) -> tuple[Any, list[dict], list[str]]:
    """Return what a file holds, its events, and notes; a list may lack its end, as Chrome's may."""
    data = unpacked(path)
    refuse_bytes(path, data, EXPORT)
    text, notes = data.decode("utf-8-sig", errors="replace").strip(), []
    del data  # a large trace's bytes are as large as its text
    if not text:
        raise ValueError(f"{path} is empty: export the trace again")
    try:
        if text[0] == "[" and text[-1] != "]":
            notes.append("the list of events has no end: events that follow may be missing")
            text = text.rstrip(", \r\n") + "]"
        content = json.loads(text, strict=False)  # a name may hold a control character
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply for a trace") from None
    except ValueError as error:
        if text[0] not in "{[":
            raise ValueError(f"{path} is no JSON: {EXPORT}") from None
        damaged = f"is cut off, damaged or no JSON: {error}; export the trace again"
        raise ValueError(f"{path} {damaged}") from None
    refuse_content(path, content)
    events = content.get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(events, list):
        lacks = 'it has no list "traceEvents"'
        raise ValueError(f"{path} is no trace of torch.profiler: {lacks}; {EXPORT}")
    found = [event for event in events if isinstance(event, dict) and {"ph", "name"} & event.keys()]
    if events and not found:
        raise ValueError(f"{path} holds a list, but none of its entries is an event: {EXPORT}")
    if len(found) < len(events):
        notes.append(f"left out, as they are no events: {len(events) - len(found):,}")
    return content, found, notes


def _joined(events: Iterable[dict], notes: list[str]) -> list[dict]:
    """Return the events, each pair of a begin (B) and an end (E) as one with a duration (X)."""
    found: list[dict] = []
    halves: list[dict] = []
    for event in events:
        (halves if event.get("ph") in ("B", "E") else found).append(event)
    begun: dict[tuple, list[dict]] = defaultdict(list)
    halves = [event for event in halves if _is_number(event.get("ts"))]
    for event in sorted(halves, key=lambda e: e["ts"]):
        stack = begun[str(event.get("pid")), str(event.get("tid"))]
        if event["ph"] == "B":
            stack.append(event)
            continue
        names = [e.get("name") for e in stack]
        # An end without a name is that of what began last.
        if stack and event.get("name", names[-1]) in names:
            place = len(names) - 1 - names[::-1].index(event.get("name", names[-1]))
            begin = stack.pop(place)
            found.append(begin | {"ph": "X", "dur": event["ts"] - begin["ts"]})
    left = sum(map(len, begun.values()))
    if left:
        notes.append(f"left out, as they begin and never end: {left:,}")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) < _MOST  # not so NaN


def _is_timed(event: dict) -> bool:
    times = _is_number(event.get("ts")) and _is_number(event.get("dur")) and event["dur"] >= 0
    return event.get("ph") == "X" and times and isinstance(event.get("name"), str)


def _renamed(event: dict) -> dict:
    """Give an event its category's name of today and text for its name and thread; return it."""
    category = str(event.get("cat"))
    launch = _LAUNCH.fullmatch(category)
    category = f"cuda_{launch[1]}" if launch else _OLD.get(category, category)
    args = event["args"] if isinstance(event.get("args"), dict) else {}
    place = {"pid": str(event.get("pid")), "tid": str(event.get("tid"))}
    name = _CONTROL.sub("�", event["name"])  # a name is one line of a table
    event.update(place, cat=category, args=args, name=name)  # copies would take half as much again
    return event


def _reduce(event: dict, zero: float, unlike: int) -> None:
    """Leave of an event what exercises read; work without a number gets one like no other."""
    args = {"correlation": unlike, "stream": 0} | event["args"]
    if not isinstance(args["correlation"], (int, str)):
        args["correlation"] = unlike
    wanted = ["correlation", "stream", "device"]
    wanted += ["Input Dims", "Concrete Inputs"] if event["cat"] == "cpu_op" else []
    event["args"] = {name: args[name] for name in wanted if name in args}
    event["ts"] = round(event["ts"] - zero, 3)


def _number_apart(events: list[dict]) -> Iterator[str]:
    """Make the launches' numbers of several processes differ, for each begins with the same ones.

    A card's work of a number that several have is that of the one with most launches there. Yields
    a note on each card of which that does not tell.
    """
    callers: dict[Any, set[str]] = defaultdict(set)
    for event in events:
        if event["cat"] in CALLS:
            callers[event["args"]["correlation"]].add(event["pid"])
    if all(len(processes) == 1 for processes in callers.values()):
        return
    work = [e for e in events if e["cat"] in DEVICE and e["args"]["correlation"] in callers]
    launches: dict[str, Counter] = defaultdict(Counter)
    for event in work:
        launches[event["pid"]].update(callers[event["args"]["correlation"]])
    alike: dict[str, list[str]] = {}
    for event in work:
        count, number = launches[event["pid"]], event["args"]["correlation"]
        most = max(map(count.__getitem__, callers[number]))
        owners = sorted(process for process in callers[number] if count[process] == most)
        event["args"]["correlation"] = f"{owners[0]}: {number}"
        if len(owners) > 1:
            alike[event["pid"]] = owners
    for event in events:
        if event["cat"] in CALLS:
            event["args"]["correlation"] = f"{event['pid']}: {event['args']['correlation']}"
    for card, (first, *others) in alike.items():
        those = f"{', '.join(others)} launched under the same numbers"
        yield f"work of card {card} counts as that of process {first}; {those}"


def _on_lanes(events: list[dict]) -> list[dict]:
    """Return the events with each thread's ops nested: what overlaps in part is on another lane.

    As in torch's table, neither of two such ops is inside the other; a call belongs to the op that
    began last. An end that outlasts the op around it by a rounding error is cut.
    """
    lanes: dict[tuple, list[list[dict]]] = defaultdict(lambda: [[]])
    found = []
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):  # what is around comes first
        if event["cat"] in DEVICE:
            found.append(event)
            continue
        own = lanes[event["pid"], event["tid"]]
        for stack in own:
            while stack and _end(stack[-1]) <= event["ts"]:
                stack.pop()
        number = _lane(own, event, of_op=event["cat"] in _OPS)
        tid = event["tid"] if number == 0 else f"{event['tid']} lane {number + 1}"
        event["tid"] = tid
        if event["cat"] in _OPS:
            if own[number]:
                room = _end(own[number][-1]) - event["ts"]
                event["dur"] = min(event["dur"], room)
            own[number].append(event)
        found.append(event)
    return found


def _lane(lanes: list[list[dict]], event: dict, of_op: bool) -> int:
    """Return the number of the lane whose innermost op is around an event, or of an empty one."""
    around = [
        number
        for number, stack in enumerate(lanes)
        if stack and (not of_op or _end(event) <= _end(stack[-1]) + _ROUNDED)
    ]
    if around:
        return max(around, key=lambda number: lanes[number][-1]["ts"])
    empty = [number for number, stack in enumerate(lanes) if not stack]
    if not empty:
        lanes.append([])
    return empty[0] if empty else len(lanes) - 1


def _end(event: dict) -> float:
    return event["ts"] + event["dur"]


def _histories(around: list[dict], marks: list[dict]) -> dict[str, list[dict]]:
    """Return allocations and frees by device, each allocation with what it was made in.

    What was there when the recording began comes first, as the first mark and frees tell.
    """
    found: dict[str, list[dict]] = defaultdict(list)
    there: dict[str, float] = {}
    open_calls: dict[tuple, list[dict]] = defaultdict(list)
    marks = [mark for mark in map(_renamed, marks) if _is_allocation(mark["args"])]
    several = len({mark["pid"] for mark in marks}) > 1  # each has addresses of its own
    for event in sorted([*around, *marks], key=lambda e: (e["ts"], -e.get("dur", 0))):
        stack = open_calls[event["pid"], event["tid"]]
        while stack and _end(stack[-1]) < event["ts"]:
            stack.pop()
        if "dur" in event:
            stack.append(event)
            continue
        args = event["args"]
        device = _PROCESSORS.get(args.get("Device Type"), f"device type {args.get('Device Type')}")
        number = args.get("Device Id")
        device += f" {number}" if _is_number(number) and number > 0 else ""
        device += f", process {event['pid']}" if several else ""
        total = args.get("Total Allocated")
        there.setdefault(device, total - args["Bytes"] if _is_number(total) else 0)
        found[device].append(entry(args["Addr"], args["Bytes"], _where(stack)))
    return {device: with_before(steps, there[device]) for device, steps in found.items()}


def _is_allocation(args: dict) -> bool:
    size, address = args.get("Bytes"), args.get("Addr")
    kinds = isinstance(address, (int, str)), not isinstance(args.get("Device Type"), (list, dict))
    return _is_number(size) and size != 0 and all(kinds)


def _where(stack: list[dict]) -> str:
    """Return the innermost op, layer and line of the program among what is running."""
    op = layer = line = ""
    for event in stack:
        name = event["name"]
        if event["cat"] != _PYTHON:
            op = name
        elif name.startswith("nn.Module: "):
            layer, op = name.removeprefix("nn.Module: "), ""
        elif found := re.fullmatch(r"(.+\.py)\((\d+)\): .+", name):
            op = ""
            place = found[1].replace("\\", "/")
            if not any(part in f"/{place}" for part in FOREIGN):
                line = f"{place.rpartition('/')[2]} line {found[2]}"
    return ", ".join(filter(None, (op, layer, line))) or "outside of ops"


def with_before(steps: list[dict], known: float, blocks: dict | None = None) -> list[dict]:
    """Return a history that begins with what was allocated before it.

    known: so many bytes were there at least. blocks: address → size of some of them. More are found
    by frees of what no step allocated; such blocks are there until then.
    """
    before, live = dict(blocks or {}), set()
    for step in steps:
        if step["action"] == "alloc":
            live.add(step["addr"])
        elif step["addr"] in live:
            live.remove(step["addr"])
        elif step["size"] > 0:
            before.setdefault(step["addr"], step["size"])
    rest = known - sum(before.values())
    if rest >= 512:  # less is a rounding of the allocator's
        before[BEFORE] = int(rest)
    first = [entry(address, size, BEFORE) for address, size in before.items()]
    return [*first, *steps]


def entry(address: Any, size: int, frame: str) -> dict:
    """Return a step of a memory history: an allocation, or for a size below 0 a free."""
    if size > 0:
        return {"action": "alloc", "addr": address, "size": size, "frame": frame}
    return {"action": "free", "addr": address, "size": -size}


def unpacked(path: Path) -> bytes:
    """Return a file's bytes, of a .gz what is in it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    try:
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is a damaged .gz file: {error}; copy it anew") from None
