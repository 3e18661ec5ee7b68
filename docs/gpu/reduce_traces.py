"""Reduce published traces of real cards to small documents in the form of lesson 11's.

    python docs/gpu/reduce_traces.py FOLDER

FOLDER holds the original files by the names in SOURCES; each is checked by its SHA-256, so that
anybody who fetches them from the repositories makes the same documents, byte for byte. What is
kept is what happened when, on which thread and stream, the bytes of copies and the shapes that
convolutions and products got; call stacks, machine names and users are not.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import originals
from packed import pack, pack_history

MEASURED = Path(__file__).parent / "measured"
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


def steps(found: list[dict], chosen: range, ops: bool) -> Iterator[dict]:
    """Yield the events that begin in the chosen steps of the profiler, and device work of theirs.

    ops: whether torch's ops stay, or the annotations and CUDA's calls alone.
    """
    marks = [e for e in found if e["name"].startswith("ProfilerStep#")]
    first, last = marks[chosen[0]], marks[chosen[-1]]
    start, end = first["ts"], last["ts"] + last["dur"]
    for event in found:
        inside = start <= event["ts"] < end
        if inside and (ops or event["cat"] != "cpu_op"):
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


def trace_row(folder: Path, original: str, name: str, chosen: range, ops: bool) -> dict[str, Any]:
    """Return a row of the document: some steps of an original, with where they are from."""
    found = list(steps(events(read(folder, original)), chosen, ops))
    packed = {"name": name, "steps": len(chosen), "packed": pack(found)}
    return packed | {"source": SOURCES[original]}


def memory_row(folder: Path, original: str, name: str, step: int) -> dict[str, Any]:
    """Return a row of the document: the allocator's history in one step of an original."""
    trace = read(folder, original)
    history = memory(trace, events(trace), step)
    return {"name": name, "packed": pack_history(history), "source": SOURCES[original]}


def write(folder: Path, target: Path) -> Iterator[Path]:
    """Write the documents; yields the file of each."""
    alone, loaded, pair, buckets = SOURCES
    documents: dict[str, dict[str, list]] = {
        "v100_loader.json": {
            "trace": [
                trace_row(folder, alone, "loader in the loop", range(1, 3), False),
                trace_row(folder, loaded, "four workers", range(6), False),
            ]
        },
        "v100_step.json": {
            "trace": [trace_row(folder, loaded, "one step, all ops", range(2, 3), True)]
        },
        "v100_ddp.json": {
            "trace": [
                trace_row(folder, pair, "each gradient by itself", range(2, 3), False),
                trace_row(folder, buckets, "in buckets", range(2, 3), False),
            ],
            "memory": [memory_row(folder, pair, "a step of two cards", 2)],
        },
    }
    for name, rows in documents.items():
        path = target / name
        text = json.dumps(rows, separators=(",", ":"), ensure_ascii=False)
        path.write_text(text.replace('},{"name"', '},\n{"name"') + "\n", encoding="utf-8")
        yield path


def main() -> None:
    """Write the documents from the folder on the command line."""
    if len(sys.argv) != 2:
        raise SystemExit("Usage: python docs/gpu/reduce_traces.py FOLDER")
    for path in write(Path(sys.argv[1]), MEASURED):
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
