"""Report on a program of torch: `my_profiler.py trace FILE` and `my_profiler.py memory FILE`.

The student's functions say where a card waits, which op takes the time, and whose the memory is.
What may not enter: a formula.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from proflab.lesson.cuda.timeline import DEVICE, host_spans, with_host
from proflab.lesson.words import many, shortened
from proflab.standalone.aten import flops_of, products
from proflab.standalone.tables import print_table
from proflab.standalone.torch_diff import report_diff
from proflab.standalone.torch_files import BEFORE, CALLS, Trace, read_trace
from proflab.standalone.torch_memory import read_snapshot

# What is called here, and the lesson in which it is written.
NEEDED_TO_READ = dict.fromkeys(
    ("gpu_busy", "gap_causes", "ops_table", "memory_peak"), "11_gpu_training"
)
_ABOUT = {
    "trace": "Read a trace of torch.profiler (export_chrome_trace): what the card waited for, "
    "which ops took the time, with record_shapes=True their shapes and FLOPs and, with "
    "profile_memory=True, whose the memory was.",
    "memory": "Read a snapshot of a card's memory (torch.cuda.memory._dump_snapshot): its peak, "
    "and whose it was.",
}
FILES = tuple(_ABOUT)
_SHOWN = 10
_WIDE = 40  # characters of shapes in a table
_MB = 2**20


def read_file(names: dict[str, Any], file: str, arguments: Sequence[str]) -> int:
    """Report on the file that the arguments name; return 0.

    Raises ValueError, with a sentence, for a file that torch has not written.
    """
    what = arguments[0]
    parser = argparse.ArgumentParser(prog=f"{file} {what}", description=_ABOUT[what])
    if what == "memory":
        parser.add_argument("file", type=Path, help="what torch has written")
        _report_snapshot(names, parser.parse_args(arguments[1:]).file)
        return 0
    add = parser.add_argument
    add("files", type=Path, nargs="+", metavar="FILE", help="what torch has written, .gz or not")
    add("--diff", action="store_true", help="compare two traces, by the gate of lesson 08")
    add("--shapes", action="store_true", help="a row for each op and its inputs' shapes")
    given = parser.parse_args(arguments[1:])
    if len(given.files) != 1 + given.diff:
        parser.error("give two traces with --diff, one without")
    with _no_collector():
        if given.diff:
            report_diff(names, *given.files)
        else:
            _report_trace(names, given.files[0], given.shapes)
    return 0


@contextmanager
def _no_collector() -> Iterator[None]:
    """Let no garbage be looked for: a trace's million values are none, and each search is long."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _report_trace(names: dict[str, Any], path: Path, by_shape: bool) -> None:
    trace = read_trace(path)
    kernels = sum(event["cat"] == "kernel" for event in trace.events)
    ops = [event["pid"] for event in trace.events if event["cat"] == "cpu_op"]
    of = f", of {len({*ops})} processes" if len({*ops}) > 1 else ""
    print(f"{path}: {many(len(ops), 'op')}, {many(kernels, 'kernel')}{of}")
    if kernels:
        _report_waits(names, trace.events)
    else:
        print(_without_kernels(trace))
    _report_ops(names, trace, by_shape)
    for device, history in trace.histories.items():
        _report_peak(names, f"memory of the {device}", history)
    if not trace.histories:
        print("\nno block of memory is noted: profile(…, profile_memory=True) notes them")
    for note in trace.notes:
        print(f"note: {note}")


def _without_kernels(trace: Trace) -> str:
    """Return a sentence on a trace in which no kernel is noted: whether one may have run."""
    if any(event["cat"] in DEVICE for event in trace.events):
        return "no kernel is noted: the card copied or filled memory, and computed nothing"
    calls = [event["name"] for event in trace.events if event["cat"] in CALLS]
    if calls and trace.unread:
        kinds = ", ".join(map(repr, trace.unread))
        return f"how long a card worked is not known: its events are of {kinds}, not read here"
    if any("launch" in name.lower() for name in calls):
        return "kernels were launched and none is noted: the profiler did not watch the card"
    if not any(event["cat"] == "cpu_op" for event in trace.events):
        return "no op is noted: the profiler sees only the thread that starts it, and its autograd"
    return "no kernel is noted: nothing waited for a card"


def _report_waits(names: dict[str, Any], events: list[dict]) -> None:
    """Print how long each card worked, and what the host did meanwhile where it did not."""
    columns: dict[str, dict[str, float]] = {}
    work, notes = _by_card(events)
    for note in notes:
        print(note)
    for card, own in work.items():
        found = names["gpu_busy"](own)
        causes = columns[card] = {}
        for gap, host in with_host(found["gaps"], host_spans({"traceEvents": own})):
            for cause, us in names["gap_causes"](gap, host).items():
                causes[cause] = causes.get(cause, 0) + us
        busy, idle = found["busy"] / 1e3, found["idle"] / 1e3
        share = f"{idle / (busy + idle):.0%}"
        print(f"{card} worked {busy:,.2f} ms and waited {idle:,.2f} ms ({share})")
    kinds = dict.fromkeys(cause for column in columns.values() for cause in column)
    rows = [(k, *(f"{column.get(k, 0) / 1e3:,.2f}" for column in columns.values())) for k in kinds]
    heads = [f"{card}, ms" if len(columns) > 1 else "ms" for card in columns]
    print_table([("what it waited for", *heads), *rows])


def _by_card(events: list[dict]) -> tuple[dict[str, list[dict]], list[str]]:
    """Return card → its work, and all that the processes did which launch there; and notes.

    Work has its card where the host's events have their process, as Perfetto shows it. One card
    has all events, and no number. A note names the processes where several launch on one card.
    """
    cards = sorted({event["pid"] for event in events if event["cat"] == "kernel"})
    caller = {e["args"]["correlation"]: e["pid"] for e in events if e["cat"] in CALLS}
    found, notes = {}, []
    for card in cards:
        own = [e for e in events if e["cat"] in DEVICE and e["pid"] == card]
        hosts = {caller.get(e["args"]["correlation"], "") for e in own} - {""}
        if len(hosts) > 1:
            names = ", ".join(sorted(hosts))
            notes.append(f"processes {names} launch on card {card}: it waits for each")
        host = (e for e in events if e["cat"] not in DEVICE and (e["pid"] in hosts or not hosts))
        found[f"card {card}"] = [*own, *host]
    return (found if len(cards) > 1 else {"the card": events}), notes


def _report_ops(names: dict[str, Any], trace: Trace, by_shape: bool) -> None:
    """Print the ops that took most time, of the card's time where there is a card."""
    on_card = any(event["cat"] in DEVICE for event in trace.events)
    events = [_with_shape(e) for e in trace.events] if by_shape else trace.events
    key = "self_gpu_us" if on_card else "self_cpu_us"
    keys = ("cpu_us", "self_cpu_us") + (("self_gpu_us",) if on_card else ())
    rows = sorted(names["ops_table"]({"traceEvents": events}), key=lambda row: -row[key])[:_SHOWN]
    calls = Counter(e["name"] for e in events if e["cat"] in ("cpu_op", "user_annotation"))
    shapes, flops = _shapes(events), _flops(names, events)
    head = ("op", "calls", "ms", "itself, ms", "on the card, ms")[: 2 + len(keys)]
    head += ("FLOPs",) * bool(flops) + ("shapes",) * (bool(shapes) and not by_shape)
    cells = []
    for row in rows:
        name = row["name"]
        more = [f"{flops[name]:,}" if name in flops else "–"] if flops else []
        more += [_shown(shapes.get(name))] if shapes and not by_shape else []
        count = f"{calls[name]:,}" if calls[name] else "–"
        times = (f"{row[key] / 1e3:,.3f}" for key in keys)
        cells.append((shortened(name), count, *times, *more))
    print_table([head, *cells])
    if not any("Input Dims" in event["args"] for event in events):
        print("\nno shapes are noted: profile(…, record_shapes=True) notes them, and FLOPs follow")


def _shape_of(event: dict) -> str:
    """Return the shapes of an op's inputs as text, "" where there are none."""
    dims = event["args"].get("Input Dims")
    dims = dims if isinstance(dims, list) else []
    return ", ".join(_sizes(one) for one in dims if isinstance(one, list) and one)


def _sizes(shape: list) -> str:
    """Return 2×3 for a tensor; of a list of tensors how many they are."""
    nested = isinstance(shape[0], list)
    return f"{len(shape)} tensors" if nested else "×".join(map(str, shape))


def _with_shape(event: dict) -> dict:
    shape = _shape_of(event)
    return event | {"name": f"{event['name']} ({shape})"} if shape else event


def _shapes(events: list[dict]) -> dict[str, Counter]:
    """Return op → how often each of its shapes occurs."""
    found: dict[str, Counter] = {}
    for event in events:
        if shape := _shape_of(event):
            found.setdefault(event["name"], Counter())[shape] += 1
    return found


def _shown(shapes: Counter | None) -> str:
    """Return the most frequent shapes, and how many others there are."""
    if not shapes:
        return "–"
    [(first, _)], others = shapes.most_common(1), len(shapes) - 1
    return shortened(first, _WIDE) + (f" and {others} more" if others else "")


def _flops(names: dict[str, Any], events: list[dict]) -> dict[str, int]:
    """Return op → FLOPs of its products, where the trace has its shapes and lesson 02 is there."""
    found: dict[str, int] = {}
    for event in events:
        dims = event["args"].get("Input Dims")
        if not isinstance(dims, list) or "op_flops" not in names:
            continue
        try:
            op = event["name"].partition(" ")[0].removeprefix("aten::")
            values = [_value(text) for text in event["args"].get("Concrete Inputs", [])]
            counted = flops_of(names["op_flops"], products(op, dims, values))
        except (ValueError, TypeError, IndexError, AttributeError, NotImplementedError):
            continue  # arguments of a form that is not known: no number rather than a wrong one
        if counted > 0:  # a damaged size may be below 0
            found[event["name"]] = found.get(event["name"], 0) + counted
    return found


def _value(text: str) -> Any:
    """Return the value of an argument, which torch writes as a text such as "[1, 1]"."""
    try:
        return json.loads(text.lower())  # "True", "[1, 1]"; not "0." or "", which nothing asks for
    except ValueError:
        return None


def _report_snapshot(names: dict[str, Any], path: Path) -> None:
    every = enumerate(read_snapshot(path))
    cards = {n: card for n, card in every if card["history"] or card["segments"]}
    if not cards:
        raise ValueError(f"{path} holds no memory of a card: begin with _record_memory_history()")
    for number, card in cards.items():
        name = f"memory of card {number}" if len(cards) > 1 else "memory of the card"
        _report_peak(names, name, card["history"])
        _report_holes(names, card["segments"])


def _report_peak(names: dict[str, Any], name: str, history: list[dict]) -> None:
    made = [entry for entry in history if entry["action"] == "alloc"]
    before = sum(entry["size"] for entry in made if entry["frame"] == BEFORE)
    if before:
        print(f"\n{name}: {before / _MB:,.2f} MB were there before the recording began")
    if not made:
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
    held, free, largest = (found[key] / _MB for key in ("reserved", "free", "largest"))
    print(f"\nof {held:,.2f} MB reserved {free:,.2f} are free, the largest piece {largest:,.2f}")
