"""The document of measured training steps: the form of `document`, with rows of other kinds.

    step       a part of the lab: a change to the training loop, its step time and losses; pairs
               of ms, of the part it is compared with (at this row's batch) and of its own
    pairwise   the step without two changes, with either, and with both
    trace      torch.profiler's events of some steps, as torch writes them; model and batch if known
    profile    such events of a small network, and of each name torch's own self and total time
    memory     what torch's allocator did in a step, and the segments that it holds; reserved bytes
    loss       the losses of a run in one precision; null where one was no number
    compile    seconds to compile in one mode, and the step afterwards
    loader     images a second that the data loader alone delivers
    allreduce  times of an all-reduce of so many bytes between processes

Other people's traces and histories are `packed`; `load` unpacks them.

What may not enter: what follows from these, such as a gap, a peak or a speedup; the formulas are
the students' work.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from packed import unpack, unpack_history  # beside this file

from proflab.lesson.cuda import document as documents

LESSON = "11_gpu_training"
STATES = ("active_allocated", "active_pending_free", "inactive")

_FIELDS: dict[str, dict[str, str]] = {
    "step": {
        "name": "name",
        "batch": "size",
        "ms": "positive",
        "switches": "object",
    },
    "pairwise": {"name": "name", "ms": "positive"},
    "trace": {"name": "name", "steps": "size"},
    "profile": {"name": "name", "steps": "size", "table": "object"},
    "memory": {"name": "name"},
    "loss": {"name": "name"},
    "compile": {"name": "name", "compile_s": "number", "ms": "positive", "recompiles": "count"},
    "loader": {"workers": "count", "pin": "flag", "images_s": "positive"},
    "allreduce": {"backend": "name", "ranks": "size", "bytes": "size"},
}


def load(path: str | Path) -> dict:
    """Return the document in a file. Raises ValueError, one sentence, for a file with a mistake."""
    document = documents.load(path, KINDS)
    try:
        _unpack(document["rows"])
        _check_against(document)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return document


def save(document: dict, path: str | Path) -> None:
    """Write a document that `check` accepts, one row a line; ValueError for any other."""
    check(document)
    documents.save(document, path, KINDS)


def check(document: Any) -> None:
    """Raise ValueError, with one sentence that names the place, unless this is a document."""
    documents.check(document, KINDS)
    _check_against(document)


def _unpack(rows: dict[str, list[dict]]) -> None:
    """Put events and histories in the place of packed ones; all events of these have all fields."""
    for row in rows.get("trace", []):
        if "packed" in row:
            row["trace"] = {"traceEvents": unpack(row.pop("packed"))}
    for row in rows.get("memory", []):
        if "packed" in row:
            row["history"] = unpack_history(row.pop("packed"))
            _check_memory(row, f"the memory {row['name']!r}")


def _check_against(document: dict) -> None:
    """Raise ValueError if a step is compared with one that does not stand above it."""
    names: list[str | None] = [None]
    for number, row in enumerate(document["rows"].get("step", [])):
        good = row["against"] in names
        _require(good, f"rows.step[{number}]: against must name a step above it, or be null")
        names.append(row["name"])


# ── rows ─────────────────────────────────────────────────────────────────────────────────────


def _check_step(row: Any, where: str) -> None:
    documents.check_fields(row, _FIELDS["step"], where)
    _check_list(row, "losses", where, _is_loss, "numbers, or null where a loss is none")
    good = row.get("peak_bytes") is None or _is("count")(row["peak_bytes"])
    _require(good, f"{where}: peak_bytes must be an int of at least 0, or null")
    pairs = _listed(row, "pairs", where)
    for number, pair in enumerate(pairs):
        good = isinstance(pair, list) and len(pair) == 2 and all(map(_is("positive"), pair))
        _require(good, f"{where}: pairs[{number}] must be two positive numbers, before and after")
    _require("against" in row, f"{where}: against is missing")
    against = row["against"]
    _require(
        against is None or isinstance(against, str), f"{where}: against must be a text or null"
    )
    _require(bool(pairs) == (against is not None), f"{where}: pairs and against go together")


def _check_trace(row: Any, where: str) -> None:
    documents.check_fields(row, _FIELDS["trace"], where)
    if "packed" in row:
        documents.check_fields(row, {"packed": "object"}, where)
        return
    documents.check_fields(row, {"trace": "object"}, where)
    events = row["trace"].get("traceEvents")
    _require(isinstance(events, list), f"{where}: trace.traceEvents must be a list")
    for number, event in enumerate(events):
        _check_event(event, f"{where}: trace.traceEvents[{number}]")


def _check_profile(row: Any, where: str) -> None:
    documents.check_fields(row, _FIELDS["profile"], where)
    _check_trace(row, where)
    for name, times in row["table"].items():
        good = isinstance(times, list) and len(times) == 2 and all(map(_is("number"), times))
        _require(good, f"{where}: table.{name} must be two numbers of µs, self and total")


def _check_event(event: Any, where: str) -> None:
    _require(isinstance(event, dict) and _is("name")(event.get("ph")), f"{where} has no ph")
    if event["ph"] != "X":
        return
    for name in ("cat", "name"):
        _require(_is("name")(event.get(name)), f"{where}: {name} must be a text")
    for name in ("ts", "dur"):
        _require(_is("number")(event.get(name)), f"{where}: {name} must be a number of µs")
    _require(event["dur"] >= 0, f"{where}: dur must not be negative")
    _require("pid" in event and "tid" in event, f"{where}: pid or tid is missing")


def _check_memory(row: Any, where: str) -> None:
    documents.check_fields(row, _FIELDS["memory"], where)
    held: set[int] = set()
    if "packed" in row:
        documents.check_fields(row, {"packed": "object"}, where)
        row = row | {"history": []}
    for number, event in enumerate(_listed(row, "history", where)):
        _check_allocation(event, held, f"{where}: history[{number}]")
    for number, segment in enumerate(_listed(row, "segments", where)):
        _check_segment(segment, f"{where}: segments[{number}]")


def _check_allocation(event: Any, held: set[int], where: str) -> None:
    documents.check_fields(event, {"action": "name", "addr": "count", "size": "count"}, where)
    action, address = event["action"], event["addr"]
    _require(action in ("alloc", "free"), f"{where}: action must be alloc or free, not {action!r}")
    if action == "free":
        _require(address in held, f"{where} frees an address that is not allocated")
        held.remove(address)
    else:
        _require(_is("name")(event.get("frame")), f"{where}: frame must be a text")
        _require(address not in held, f"{where} allocates an address that is still in use")
        held.add(address)


def _check_segment(segment: Any, where: str) -> None:
    documents.check_fields(segment, {"total_size": "size"}, where)
    total = 0
    for number, block in enumerate(_listed(segment, "blocks", where)):
        place = f"{where}: blocks[{number}]"
        documents.check_fields(block, {"size": "size", "state": "name"}, place)
        _require(block["state"] in STATES, f"{place}: state must be one of {', '.join(STATES)}")
        total += block["size"]
    _require(total == segment["total_size"], f"{where}: its blocks do not add up to total_size")


def _check_loss(row: Any, where: str) -> None:
    documents.check_fields(row, _FIELDS["loss"], where)
    _check_list(row, "losses", where, _is_loss, "numbers, or null where a loss is none")


def _check_allreduce(row: Any, where: str) -> None:
    documents.check_fields(row, _FIELDS["allreduce"], where)
    _check_list(row, "ms", where, _is("positive"), "positive numbers")


def _plain(kind: str) -> documents.CheckRow:
    return lambda row, where: documents.check_fields(row, _FIELDS[kind], where)


KINDS: dict[str, documents.CheckRow] = {
    "step": _check_step,
    "pairwise": _plain("pairwise"),
    "trace": _check_trace,
    "profile": _check_profile,
    "memory": _check_memory,
    "loss": _check_loss,
    "compile": _plain("compile"),
    "loader": _plain("loader"),
    "allreduce": _check_allreduce,
}


# ── sorts ────────────────────────────────────────────────────────────────────────────────────


def _require(good: bool, sentence: str) -> None:
    if not good:
        raise ValueError(sentence)


def _is(sort: str) -> Any:
    return documents.SORTS[sort][0]


def _is_loss(value: Any) -> bool:
    return value is None or _is("number")(value)


def _listed(row: dict, name: str, where: str) -> list:
    _require(isinstance(row.get(name), list), f"{where}: {name} must be a list")
    return row[name]


def _check_list(row: dict, name: str, where: str, good: Any, what: str) -> None:
    values = _listed(row, name, where)
    _require(bool(values) and all(map(good, values)), f"{where}: {name} must be a list of {what}")
