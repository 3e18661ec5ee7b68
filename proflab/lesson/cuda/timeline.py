"""Read what a torch trace says of the host: spans of a few kinds, and the lanes of a plot.

What may not enter: how long a device was busy, and whose fault a gap is; that is students' work.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_ITEM = ("aten::item", "aten::_local_scalar_dense")


def host_spans(trace: dict) -> list[tuple[str, float, float]]:
    """Return what the host did, as (kind, start, end) in µs, sorted by start.

    data: waiting for the data loader. copy: a call that copies to or from the device. sync: a call
    that waits for the device; the copy of `.item()`, which waits for all before it, is one.
    launch: a call that starts a kernel, or an op of torch. Spans may overlap.
    """
    host = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    items = [event for event in host if event["name"] in _ITEM]
    spans = []
    for event in host:
        kind = _kind(event)
        if kind == "copy" and any(_starts_in(event, item) for item in items):
            kind = "sync"
        if kind:
            spans.append((kind, event["ts"], event["ts"] + event["dur"]))
    return sorted(spans, key=lambda span: (span[1], span[2]))


def with_host(
    gaps: list[tuple[float, float]], spans: list[tuple[str, float, float]]
) -> Iterator[tuple[tuple[float, float], list[tuple[str, float, float]]]]:
    """Yield each gap with the spans that overlap it, of thousands each, without looking at all.

    gaps: (start, end). spans: (kind, start, end), sorted by start, as `host_spans` returns them.
    """
    starts = [start for _, start, _ in spans]
    reached = list(accumulate((end for *_, end in spans), max))  # ends may not be in order
    for gap in gaps:
        near = spans[bisect_right(reached, gap[0]) : bisect_left(starts, gap[1])]
        yield gap, [span for span in near if span[2] > gap[0]]


def device_spans(trace: dict) -> list[tuple[int, str, float, float]]:
    """Return what the device did, as (stream, category, start, end) in µs, sorted by start."""
    work = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") in DEVICE]
    spans = [(e["args"]["stream"], e["cat"], e["ts"], e["ts"] + e["dur"]) for e in work]
    return sorted(spans, key=lambda span: span[2])


def collectives(trace: dict) -> list[tuple[str, float, float]]:
    """Return NCCL's kernels, which sum arrays of several cards, as host_spans would.

    Each is ("communication", start, end) in µs; they are sorted by start.
    """
    work = [e for e in trace["traceEvents"] if e.get("cat") == "kernel" and is_collective(e)]
    spans = [("communication", e["ts"], e["ts"] + e["dur"]) for e in work]
    return sorted(spans, key=lambda span: span[1])


def is_collective(event: dict) -> bool:
    """Return True for a kernel of NCCL, and for the mark that a call of one leaves."""
    return event["name"].startswith("nccl")


def step_spans(trace: dict) -> list[tuple[str, float, float]]:
    """Return the steps of the profiler's schedule, as (name, start, end) in µs, in their order."""
    steps = [
        e
        for e in trace["traceEvents"]
        if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#")
    ]
    spans = [(e["name"], e["ts"], e["ts"] + e["dur"]) for e in steps]
    return sorted(spans, key=lambda span: span[1])


def _kind(event: dict) -> str | None:
    """Return the kind of an event, None if it is of none of the host's."""
    category, name = event.get("cat"), event["name"]
    if category in ("cpu_op", "user_annotation") and "DataLoader" in name:
        return "data"
    if category in ("cuda_runtime", "cuda_driver"):
        if "Synchronize" in name:
            return "sync"
        return "copy" if "Memcpy" in name else "launch"
    return "launch" if category == "cpu_op" else None


def _starts_in(event: dict, around: dict) -> bool:
    same = (event["pid"], event["tid"]) == (around["pid"], around["tid"])
    return same and around["ts"] <= event["ts"] < around["ts"] + around["dur"]
