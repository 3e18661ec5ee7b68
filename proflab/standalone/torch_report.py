"""Reports on a program of torch: `my_profiler.py trace FILE` and `my_profiler.py memory FILE`.

The student's functions say where a card waits, which op takes the time, and whose the memory is.
What may not enter: a formula.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proflab.lesson.cuda.timeline import DEVICE, host_spans, with_host
from proflab.standalone.tables import print_table
from proflab.standalone.torch_files import read_snapshot, read_trace

# What is called here, and the lesson in which it is written.
NEEDED_TO_READ = dict.fromkeys(
    ("gpu_busy", "gap_causes", "ops_table", "memory_peak"), "11_gpu_training"
)
_ABOUT = {
    "trace": "Read a trace of torch.profiler (export_chrome_trace): what the card waited for, "
    "which ops took the time and, with profile_memory=True, whose the memory was.",
    "memory": "Read a snapshot of a card's memory (torch.cuda.memory._dump_snapshot): its peak, "
    "and whose it was.",
}
FILES = tuple(_ABOUT)
_SHOWN = 10
_MB = 2**20


def read_file(names: dict[str, Any], file: str, arguments: Sequence[str]) -> int:
    """Report on the file that the arguments name; return 0.

    Raises ValueError, with a sentence, for a file that torch has not written.
    """
    what = arguments[0]
    parser = argparse.ArgumentParser(prog=f"{file} {what}", description=_ABOUT[what])
    parser.add_argument("file", type=Path, help="what torch has written, .gz or not")
    given = parser.parse_args(arguments[1:])
    (_report_trace if what == "trace" else _report_snapshot)(names, given.file)
    return 0


def _report_trace(names: dict[str, Any], path: Path) -> None:
    trace, histories = read_trace(path)
    events = trace["traceEvents"]
    kernels = sum(event["cat"] == "kernel" for event in events)
    ops = sum(event["cat"] == "cpu_op" for event in events)
    print(f"{path}: {ops:,} ops, {kernels:,} kernels")
    if kernels:
        _report_waits(names, trace)
    else:
        print("no kernel ran on a card: nothing waited for one")
    _report_ops(names, trace, on_card=any(event["cat"] in DEVICE for event in events))
    for device, history in histories.items():
        _report_peak(names, f"memory of the {device}", history)
    if not histories:
        print("\nno block of memory is noted: profile(…, profile_memory=True) notes them")


def _report_waits(names: dict[str, Any], trace: dict) -> None:
    """Print how long the card worked, and what the host did meanwhile where it did not."""
    found = names["gpu_busy"](trace["traceEvents"])
    causes: dict[str, float] = {}
    for gap, host in with_host(found["gaps"], host_spans(trace)):
        for cause, us in names["gap_causes"](gap, host).items():
            causes[cause] = causes.get(cause, 0) + us
    busy, idle = found["busy"] / 1e3, found["idle"] / 1e3
    print(f"the card worked {busy:,.2f} ms and waited {idle:,.2f} ms ({idle / (busy + idle):.0%})")
    rows = [(cause, f"{us / 1e3:,.2f}") for cause, us in causes.items()]
    print_table([("what it waited for", "ms"), *rows])


def _report_ops(names: dict[str, Any], trace: dict, on_card: bool) -> None:
    """Print the ops that took most time, of the card's time where there is a card."""
    key = "self_gpu_us" if on_card else "self_cpu_us"
    keys = ("cpu_us", "self_cpu_us") + (("self_gpu_us",) if on_card else ())
    rows = sorted(names["ops_table"](trace), key=lambda row: -row[key])[:_SHOWN]
    head = ("op", "ms", "itself, ms", "on the card, ms")[: 1 + len(keys)]
    cells = [(row["name"], *(f"{row[key] / 1e3:,.3f}" for key in keys)) for row in rows]
    print_table([head, *cells])


def _report_snapshot(names: dict[str, Any], path: Path) -> None:
    cards = [card for card in read_snapshot(path) if card["history"] or card["segments"]]
    if not cards:
        raise ValueError(f"{path} holds no memory of a card: begin with _record_memory_history()")
    for number, card in enumerate(cards):
        name = "memory of the card" + (f" {number}" if len(cards) > 1 else "")
        _report_peak(names, name, card["history"])
        _report_holes(names, card["segments"])


def _report_peak(names: dict[str, Any], name: str, history: list[dict]) -> None:
    if not any(entry["action"] == "alloc" for entry in history):
        print(f"\n{name}: nothing was allocated while it was recorded")
        return
    found = names["memory_peak"](history)
    owners = sorted(found["by_frame"].items(), key=lambda pair: -pair[1])[:_SHOWN]
    peak, left = found["peak"] / _MB, found["left"] / _MB
    print(f"\n{name}: {peak:,.2f} MB at the peak, {left:,.2f} MB left at the end")
    print_table([("whose", "MB"), *((frame, f"{size / _MB:,.2f}") for frame, size in owners)])


def _report_holes(names: dict[str, Any], segments: list[dict]) -> None:
    """Print how much of the reserved memory is free; nothing where that is not written."""
    if not segments or "largest_hole" not in names:
        return
    try:
        found = names["largest_hole"](segments)
    except NotImplementedError:
        return
    reserved, free, largest = (found[key] / _MB for key in ("reserved", "free", "largest"))
    print(
        f"\nof {reserved:,.2f} MB reserved {free:,.2f} are free, the largest piece {largest:,.2f}"
    )
