"""Reduce published traces of real cards to the documents of lesson 11 that were measured.

    python docs/gpu/reduce_traces.py FOLDER

FOLDER holds the original files by the names in SOURCES; each is checked by its SHA-256, so that
anybody who fetches them from the repositories makes the same documents, byte for byte. What is
kept is what happened when, on which thread and stream, the bytes of copies and of all-reduces, and
the shapes that convolutions and products got; call stacks, machine names and users are not. Of
ops inside ops only one trace keeps more than the outermost: so each document is below 400 kB.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import originals
from solved import MEASURED, PACKED, TRAINING

KINETO = {
    "repository": "https://github.com/pytorch/kineto",
    "commit": "be239c04",
    "licence": "BSD-3-Clause",
}
HTA = {
    "repository": "https://github.com/facebookresearch/HolisticTraceAnalysis",
    "commit": "f4d0062c",
    "licence": "MIT",
}
SOURCES: dict[str, dict[str, str]] = {
    "kineto_resnet50_v100_workers0.json.gz": KINETO
    | {
        "path": "tb_plugin/samples/resnet50_num_workers_0/worker0.1623143566756.pt.trace.json.gz",
        "date": "2021-06-08",
        "card": "Tesla V100-DGXS-32GB",
        "sha256": "da8bcc1a45ec0c3fd8b3c0acf64fbd42c10f31b854707b47561fd4f6cc084108",
    },
    "kineto_resnet50_v100_workers4.json.gz": KINETO
    | {
        "path": "tb_plugin/samples/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz",
        "date": "2021-06-09",
        "card": "Tesla V100-DGXS-32GB",
        "sha256": "c290eb249e74824736f81886587614fc5d96660d3e60d0c256dee4b4a0e268f6",
    },
    "hta_ddp_2xv100_rank1.json.gz": HTA
    | {
        "path": "tests/data/df_index_resolver/df_index_resolver.json.gz",
        "date": "2022-11-30",
        "card": "Tesla V100-SXM2-32GB, one of two",
        "sha256": "769af9ab5262468eb7baf6a7bfdb138ef15542264c72c0c313758d951b16dc15",
    },
    "hta_ddp_resnet_v100.json.gz": HTA
    | {
        "path": "tests/data/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
        "date": "2024-04-04",
        "card": "Tesla V100-SXM2-32GB",
        "sha256": "e279d7280e73719e8dd9550e120cfe081fbe268596bd297fe5fcbf63e2b75a09",
    },
}

# Names that kineto gave in 2021 to what torch's traces call otherwise today.
_CATS = {
    "Operator": "cpu_op",
    "Runtime": "cuda_runtime",
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
}
NOTE = (
    "Measured by others with torch.profiler and published under the licences that the rows name; "
    "carried over are times, shapes and bytes."
)
_HOST = ("cpu_op", "user_annotation", "cuda_runtime")
_SHAPED = re.compile(r"aten::(cudnn_convolution|addmm|mm)")
_BEFORE = "before the step"
_ANNOTATION = re.compile(r"ProfilerStep#|Optimizer\.|enumerate\(DataLoader\)|nccl:")


def read(folder: Path, name: str) -> dict[str, Any]:
    """Return an original trace; SystemExit with a sentence unless it is that very file."""
    source = SOURCES[name]
    where = f"{source['repository']} at {source['commit']}: {source['path']}"
    return json.loads(gzip.decompress(originals.read(folder / name, source["sha256"], where)))


def events(trace: dict[str, Any]) -> list[dict]:
    """Return a trace's events in the names of today, sorted by start; times in µs from the first.

    Calls of CUDA stay if they started work, copied or waited.
    """
    begin = min(event["ts"] for event in _timed(trace))
    found = [_plain(event, begin) for event in _timed(trace)]
    work = {e["args"]["correlation"] for e in found if e["cat"] not in _HOST}
    kept = [e for e in found if e["cat"] != "cuda_runtime" or _did_something(e, work)]
    return sorted(kept, key=lambda e: (e["ts"], -e["dur"], e["name"]))


def _timed(trace: dict[str, Any]) -> list[dict]:
    """Return what has a duration, without marks that torch draws again on the card's rows."""
    timed = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    return [e for e in timed if e.get("cat") not in (None, "Trace", "gpu_user_annotation")]


def _plain(event: dict, begin: float) -> dict:
    args, cat = event["args"], _CATS.get(event["cat"], event["cat"])
    if cat == "cpu_op" and _ANNOTATION.match(event["name"]):
        cat = "user_annotation"
    kept: dict[str, Any] = {}
    if "correlation" in args and cat != "cpu_op":
        kept["correlation"] = args["correlation"]
    if _SHAPED.match(event["name"]) and "Input Dims" in args:
        kept["Input Dims"] = [shape for shape in args["Input Dims"] if shape]
    if cat == "gpu_memcpy":
        kept["bytes"] = args["bytes"]
    if args.get("Collective name") == "allreduce":
        kept["bytes"] = 4 * args["In msg nelems"]  # of float32
    tid = args["stream"] if cat not in _HOST else int(event["tid"])
    start = round(event["ts"] - begin)
    end = round(event["ts"] - begin + event["dur"])
    name = _short(event["name"]) if cat == "kernel" else event["name"]
    place = {"pid": int(event["pid"]), "tid": tid, "ts": start, "dur": end - start}
    return {"cat": cat, "name": name, **place, "args": kept}


def _short(kernel: str) -> str:
    """Return a kernel's name without its types, and with what its template computes.

    >>> _short("void at::native::vectorized_elementwise_kernel<4, at::AddFunctor<float>, a>(int)")
    'vectorized_elementwise_kernel AddFunctor'
    """
    head = kernel.removeprefix("void ").split("(anonymous namespace)::")[-1]
    name = re.split(r"[<(]", head, maxsplit=1)[0].split("::")[-1]
    functor = re.search(r"(\w*(?:Functor|Op|Ops))\b", kernel)
    return f"{name} {functor[1]}" if functor and functor[1] != name else name


def _did_something(event: dict, work: set[int]) -> bool:
    name = event["name"]
    return event["args"].get("correlation") in work or "Memcpy" in name or "Synchronize" in name


def steps(found: list[dict], chosen: range, inner: bool) -> Iterator[dict]:
    """Yield the events that begin in the chosen steps of the profiler.

    inner: whether ops inside ops stay, or only the outermost, and those that tell their bytes. If
    so, the card's work is what the steps launched, which may run after them.
    """
    marks = [e for e in found if e["name"].startswith("ProfilerStep#")]
    first, last = marks[chosen[0]], marks[chosen[-1]]
    start, end = first["ts"], last["ts"] + last["dur"]
    done: dict[int, int] = {}  # until when the outermost op of a thread runs
    launched: set[int] = set()
    for event in found:
        number, inside = event["args"].get("correlation"), start <= event["ts"] < end
        if inside and event["cat"] == "cuda_runtime":
            launched.add(number)
        if event["cat"] not in _HOST and inner:
            inside = number in launched
        if not inside:
            continue
        if event["cat"] == "cpu_op":
            outer = event["ts"] >= done.get(event["tid"], start)
            if outer:
                done[event["tid"]] = event["ts"] + event["dur"]
            if not (inner or outer or "bytes" in event["args"]):
                continue
        yield event | {"ts": event["ts"] - start}


def memory(trace: dict[str, Any], found: list[dict], step: int) -> list[dict]:
    """Return what the allocator did on the card in a step, in the form of the memory rows.

    What the step frees and did not allocate comes first, as allocated "before the step", and so
    does the rest of what was allocated then. A frame is the innermost op that ran on the thread.
    """
    begin = min(event["ts"] for event in _timed(trace))
    marks = [e for e in found if e["name"].startswith("ProfilerStep#")]
    start, end = marks[step]["ts"], marks[step]["ts"] + marks[step]["dur"]
    asked = [e for e in trace["traceEvents"] if e.get("name") == "[memory]"]
    asked = [e for e in asked if e["args"]["Device Type"] == 1 and "Addr" in e["args"]]
    inside = [e for e in asked if start <= round(e["ts"] - begin) < end]
    inside.sort(key=lambda e: (e["ts"], e["args"]["Ev Idx"]))
    ops = [e for e in found if e["cat"] in ("cpu_op", "user_annotation")]
    frames = _innermost(ops, [(int(e["tid"]), round(e["ts"] - begin)) for e in inside])
    held: dict[int, int] = {}
    early: list[dict] = []
    history: list[dict] = []
    for event, frame in zip(inside, frames, strict=True):
        address, size = event["args"]["Addr"], event["args"]["Bytes"]
        if size > 0:
            held[address] = size
            history.append({"action": "alloc", "addr": address, "size": size, "frame": frame})
            continue
        if address not in held:
            early.append({"action": "alloc", "addr": address, "size": -size, "frame": _BEFORE})
            held[address] = -size
        history.append({"action": "free", "addr": address, "size": -size})
        del held[address]
    first = inside[0]["args"]
    rest = first["Total Allocated"] - first["Bytes"] - sum(e["size"] for e in early)
    kept = {"action": "alloc", "addr": 0, "size": rest, "frame": _BEFORE}
    return _small_addresses([kept, *early, *history])


def _innermost(ops: list[dict], moments: list[tuple[int, int]]) -> list[str]:
    """Return the name of the op that ran innermost on a thread at each moment, in order of time."""
    names, stacks, ahead = [], {}, iter([*sorted(ops, key=lambda e: (e["ts"], -e["dur"])), None])
    coming = next(ahead)
    for tid, at in moments:
        while coming is not None and coming["ts"] <= at:
            stack = stacks.setdefault(coming["tid"], [])
            while stack and stack[-1]["ts"] + stack[-1]["dur"] <= coming["ts"]:
                stack.pop()
            stack.append(coming)
            coming = next(ahead)
        stack = stacks.setdefault(tid, [])
        while stack and stack[-1]["ts"] + stack[-1]["dur"] < at:
            stack.pop()
        names.append(stack[-1]["name"] if stack else "outside of all ops")
    return names


def _small_addresses(history: list[dict]) -> list[dict]:
    """Return the history with addresses numbered in the order of their first use."""
    numbers: dict[int, int] = {}
    return [e | {"addr": numbers.setdefault(e["addr"], len(numbers))} for e in history]


def all_reduces(found: list[dict], chosen: range) -> dict[int, list[float]]:
    """Return bytes → the ms of NCCL's kernels in the chosen steps.

    A kernel says nothing of its bytes; the gradient was copied right before, and the copy does.
    """
    cats = ("kernel", "gpu_memcpy")
    work = [event for event in steps(found, chosen, False) if event["cat"] in cats]
    ms: dict[int, list[float]] = defaultdict(list)
    for before, event in zip(work, work[1:], strict=False):
        if event["name"].startswith("ncclKernel_AllReduce") and "bytes" in before["args"]:
            ms[before["args"]["bytes"]].append(event["dur"] / 1e3)
    return dict(sorted(ms.items()))


def trace_row(folder: Path, original: str, name: str, chosen: range, **more: Any) -> dict[str, Any]:
    """Return a row of the document: some steps of an original, with where they are from."""
    found = events(read(folder, original))
    packed = PACKED.pack(list(steps(found, chosen, more.pop("inner", False))))
    row = {"name": name, "steps": len(chosen), **more, "packed": packed}
    return row | {"source": SOURCES[original]}


def memory_row(folder: Path, original: str, name: str, step: int) -> dict[str, Any]:
    """Return a row of the document: the allocator's history in one step of an original."""
    trace = read(folder, original)
    asked = [e["args"] for e in trace["traceEvents"] if e.get("name") == "[memory]"]
    reserved = max(args["Total Reserved"] for args in asked if args["Device Type"] == 1)
    history = PACKED.pack_history(memory(trace, events(trace), step))
    row = {"name": name, "reserved": reserved, "packed": history, "segments": []}
    return row | {"source": SOURCES[original]}


def documents(folder: Path) -> Iterator[tuple[str, dict[str, list]]]:
    """Yield each document's name and its rows by kind."""
    alone, loaded, pair, buckets = SOURCES
    trained = {"model": "resnet50", "batch": 32, "dtype": "float32"}
    yield (
        "v100_loader.json",
        {"trace": [trace_row(folder, alone, "loader in the loop", range(1, 3), **trained)]},
    )
    yield (
        "v100_workers.json",
        {"trace": [trace_row(folder, loaded, "four workers", range(6), **trained)]},
    )
    yield (
        "v100_step.json",
        {"trace": [trace_row(folder, loaded, "step with all ops", range(2, 3), inner=True)]},
    )
    times = all_reduces(events(read(folder, pair)), range(4))  # in the fifth, one rank waits
    rows = [{"backend": "nccl", "ranks": 2, "bytes": size, "ms": ms} for size, ms in times.items()]
    yield (
        "v100_pair.json",
        {
            "trace": [
                trace_row(folder, pair, "one by one", range(2, 3)),
                trace_row(folder, buckets, "in buckets", range(2, 3)),
            ],
            "memory": [memory_row(folder, pair, "one by one", 2)],
            "allreduce": [row | {"source": SOURCES[pair]} for row in rows],
        },
    )


def write(folder: Path, target: Path) -> Iterator[Path]:
    """Write the documents; yields the file of each."""
    for name, rows in documents(folder):
        source = next(iter(rows.values()))[0]["source"]
        document = {
            "constructed": False,
            "note": NOTE,
            "command": "python docs/gpu/reduce_traces.py FOLDER",
            "date": source["date"],
            "driver": None,
            "versions": {},
            "cpu": None,
            "card": None,
            "empty_ms": None,
            "rows": rows,
        }
        TRAINING.save(document, target / name)
        yield target / name


def main() -> None:
    """Write the documents from the folder on the command line, beside the lesson's text."""
    if len(sys.argv) != 2:
        raise SystemExit("Usage: python docs/gpu/reduce_traces.py FOLDER")
    for path in write(Path(sys.argv[1]), MEASURED):
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
