"""The document of what was measured under the roofs of a card: `document` with rows of these kinds.

Times are in ms: `events` are pairs [start, end] of device time stamps, in the order in which they
were taken, warm-up included; `host_ms` are lengths by the host's clock. What may not enter: FLOPs
and bytes of a kernel; a row says how it was launched, and the reader counts.

Of a card that others measured, a row holds the `points` of a whole curve instead, each a list of
the numbers that COLUMNS names.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from proflab.lesson.cuda import document as documents

LESSON = "10_cuda_roofline"

# What a row of each kind says besides its times, and which times it has.
_STREAM = {
    "kernel": "name",
    "elements": "size",
    "reads": "count",
    "writes": "count",
    "itemsize": "size",
    "passes": "size",
}
_FIELDS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "stream": (_STREAM, ("events",)),
    "in_flight": ({**_STREAM, "threads": "size"}, ("events",)),  # threads: on a multiprocessor
    "fma": (
        {"threads": "size", "fmas": "size", "accumulators": "size", "dtype": "name"},
        ("events",),
    ),
    "sweep": ({"elements": "size", "fmas": "size", "itemsize": "size"}, ("events",)),
    "gemm": ({"m": "size", "k": "size", "n": "size", "dtype": "name"}, ("events",)),
    "workload": ({"name": "name", "dtype": "name"}, ("events",)),
    "copy": ({"bytes": "size", "direction": "name", "pinned": "flag"}, ("events",)),
    "crossover": ({"n": "size", "where": "name"}, ()),
    "launch": ({"launches": "size", "graph": "flag"}, ("host_ms",)),
    "trial": (
        {"name": "name", "dtype": "name", "flops": "size", "bytes": "size"},
        ("events", "host_ms"),
    ),
}
# What others measured: kind → the numbers of each of a row's points, which rise by the first.
COLUMNS: dict[str, tuple[str, ...]] = {
    "roofline": ("FLOPs a byte", "GB/s", "GFLOP/s", "W"),
    "occupancy": ("% of a multiprocessor's threads", "GB/s of a triad"),
    "cache": ("kB read again and again", "GB/s"),
    "latency": ("kB through which a pointer runs", "cycles a load"),
    "one by one": ("bytes that a small kernel moves", "µs a kernel"),
    "in a graph": ("bytes that a small kernel moves", "µs a kernel"),
}
_CONDITIONS = ("sm_mhz", "watts", "celsius")
_HOST = "host_ms must be a list of at least one positive number"


def load(path: str | Path) -> dict:
    """Return the document in a file. Raises ValueError, one sentence, for a file with a mistake."""
    return documents.load(path, KINDS)


def save(document: dict, path: str | Path) -> None:
    """Write a document that `check` accepts, one row a line; ValueError for any other."""
    documents.save(document, path, KINDS)


def check(document: Any) -> None:
    """Raise ValueError, with one sentence that names the place, unless this is a document."""
    documents.check(document, KINDS)


def _check_row(kind: str, row: Any, where: str) -> None:
    fields, times = _FIELDS[kind]
    documents.check_fields(row, fields, where)
    for name in times or (("events",) if "events" in row else ("host_ms",)):
        _require(name in row, f"{where}: {name} is missing")
    if "events" in row:
        _check_events(row["events"], where)
    if "host_ms" in row:
        good = isinstance(row["host_ms"], list) and row["host_ms"]
        _require(bool(good) and all(map(_is("positive"), row["host_ms"])), f"{where}: {_HOST}")
    for name in _CONDITIONS:
        good = row.get(name) is None or _is("number")(row[name])
        _require(good, f"{where}: {name} must be a number, or null where it is not known")


def _check_curve(kind: str, row: Any, where: str) -> None:
    documents.check_fields(row, {}, where)
    points, width = row.get("points"), len(COLUMNS[kind])
    good = isinstance(points, list) and len(points) >= 2
    _require(good, f"{where}: points must be a list of at least two")
    for number, point in enumerate(points):
        good = isinstance(point, list) and len(point) == width and all(map(_is("positive"), point))
        _require(good, f"{where}: points[{number}] must be {width} positive numbers")
    rising = all(a[0] <= b[0] for a, b in zip(points, points[1:], strict=False))
    _require(rising, f"{where}: points must rise by their first number")


def _check_events(events: Any, where: str) -> None:
    good = isinstance(events, list) and len(events) >= 2
    _require(good, f"{where}: events must be a list of at least two pairs")
    for number, pair in enumerate(events):
        place = f"{where}: events[{number}]"
        good = isinstance(pair, list) and len(pair) == 2 and all(map(_is("number"), pair))
        _require(good, f"{place} must be a pair of numbers, start and end")
        _require(pair[0] <= pair[1], f"{place} ends before it starts")


def _is(sort: str) -> Any:
    return documents.SORTS[sort][0]


def _require(good: bool, sentence: str) -> None:
    if not good:
        raise ValueError(sentence)


KINDS: dict[str, documents.CheckRow] = {
    **{kind: partial(_check_row, kind) for kind in _FIELDS},
    **{kind: partial(_check_curve, kind) for kind in COLUMNS},
}
