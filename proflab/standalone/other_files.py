"""Say of a file that is no trace of torch.profiler what it is instead, and what to give.

Each kind is told by what its makers write, never by a file's name. What may not enter: an event.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from proflab.lesson.words import many

EXPORT = "give the JSON that torch.profiler's export_chrome_trace writes"
_SNAPSHOT = "is a snapshot of a card's memory: the command memory reads it"
# How the bytes of a file begin → what it is.
_BEGINS = {
    b"PK\x03\x04": "is a .zip archive: unpack it, and give the file in it",
    b"SQLite format 3\x00": "is a database, such as Nsight Systems exports: {}",
    b"<": "is a page for a browser (HTML): {}",
}
# What stands near the beginning of a text → what it is.
_SIGNS = {
    b"<title>Android System Trace": "is a page of systrace, about a whole system: {}",
    b"/data.pkl": "is what torch.save writes: {}",
    b"# tracer:": "is a trace of Linux's ftrace, about a whole system: {}",
}
_HEAD = 4096  # bytes in which that is looked for
# What only torch's profiler writes beside events, and among them.
_TORCH_KEYS = {"schemaVersion", "deviceProperties", "baseTimeNanoseconds", "distributedInfo"}
_TORCH_EVENTS = {"Trace", "python_function", "Operator", "cuda_runtime", "overhead"}


def refuse_bytes(path: Path, data: bytes, advice: str) -> None:
    """Raise ValueError, with a sentence, for a file that its first bytes show to be another.

    advice: what to give in its place.
    """
    head = data[:_HEAD]
    found = [what for sign, what in _SIGNS.items() if sign in head]
    found += [what for begin, what in _BEGINS.items() if head.lstrip().startswith(begin)]
    if found:
        raise ValueError(f"{path} {found[0].format(advice)}")


def refuse_content(path: Path, content: Any) -> None:
    """Raise ValueError, with a sentence, for JSON that some other tool of torch's has written."""
    if isinstance(content, dict) and {"segments", "device_traces"} <= content.keys():
        raise ValueError(f"{path} {_SNAPSHOT}")
    if isinstance(content, dict) and {"schema", "nodes"} <= content.keys():
        raise ValueError(f"{path} is an execution trace: it has ops and no times; {EXPORT}")
    if _is_timeline(content):
        what = "is a memory timeline (export_memory_timeline): it has sizes and no ops"
        raise ValueError(f"{path} {what}; {EXPORT}, with profile_memory=True")


def _is_timeline(content: Any) -> bool:
    """Return True for rows of four numbers, or for times and, for each of them, a row of sizes."""
    rows = content[1] if isinstance(content, list) and len(content) == 2 else content
    return (
        isinstance(rows, list)
        and bool(rows)
        and all(isinstance(r, list) and len(r) >= 4 and isinstance(r[-1], int) for r in rows)
    )


def without_ops(path: Path, content: Any, events: list[dict]) -> str:
    """Return a sentence on a list of events in which there is no op: whose it is, and the advice.

    Events of torch's own ask to let the profiler run around the work, all others for its trace.
    """
    among = f", among {many(len(events), 'event')}" if events else ""
    keys = content.keys() if isinstance(content, dict) else set()
    if "viztracer_metadata" in keys:
        what = "is a trace of viztracer, which notes functions of Python"
        return f"{path} {what}: vizviewer shows them; for ops of torch, {EXPORT}"
    kinds = Counter(str(event["cat"]) for event in events if event.get("cat"))
    del kinds["__metadata"], kinds["None"]
    if not events or keys & _TORCH_KEYS or kinds.keys() & _TORCH_EVENTS:
        return f"{path} holds no op{among}: let the profiler run around the work"
    named = ", ".join(map(repr, [kind for kind, _ in kinds.most_common(3)]))
    whose = f" of {named}" if named else ""
    return f"{path} holds no op of torch{among}{whose}: another program wrote them; {EXPORT}"
