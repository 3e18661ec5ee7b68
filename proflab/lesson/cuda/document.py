"""The document that holds all that was measured on a card: one JSON file, checked when read.

    constructed  false for a measurement; true where a model made the numbers and no card did
    command, date, driver, versions, cpu, card    how, when and on what
    empty_ms     what two events with nothing between them are apart
    rows         kind → list of rows; a row says what was run, its times, and the card's conditions

These are the kinds of lesson 10; a lesson with others gives `check` a table of its own.

Times are in ms: `events` are pairs [start, end] of device time stamps, in the order in which they
were taken, warm-up included; `host_ms` are lengths by the host's clock. What may not enter: FLOPs
and bytes of a kernel; a row says how it was launched, and the reader counts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

LESSON = "10_cuda_roofline"
CheckRow = Callable[[Any, str], None]  # a row and its place; raises ValueError with a sentence

# What a row of each kind says besides its times, and which times it has.
_FIELDS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "stream": (
        {
            "kernel": "name",
            "elements": "size",
            "reads": "count",
            "writes": "count",
            "itemsize": "size",
            "passes": "size",
        },
        ("events",),
    ),
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
_CONDITIONS = ("sm_mhz", "watts", "celsius")


def load(path: str | Path, kinds: dict[str, CheckRow] | None = None) -> dict:
    """Return the document in a file. Raises ValueError, one sentence, for a file with a mistake."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    try:
        check(document, kinds)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return document


def save(document: dict, path: str | Path, kinds: dict[str, CheckRow] | None = None) -> None:
    """Write a document that `check` accepts, one row a line; ValueError for any other."""
    check(document, kinds)
    Path(path).write_text(text_of(document), encoding="utf-8")


def text_of(document: dict) -> str:
    """Return the file's text: a line for each field and row, the same for the same document."""

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    head = [f" {compact(k)}: {compact(v)}" for k, v in document.items() if k != "rows"]
    kinds = [
        f"  {compact(kind)}: [\n" + ",\n".join(f"   {compact(row)}" for row in rows) + "\n  ]"
        for kind, rows in document["rows"].items()
    ]
    return "{\n" + ",\n".join([*head, ' "rows": {\n' + ",\n".join(kinds) + "\n }"]) + "\n}\n"


def check(document: Any, kinds: dict[str, CheckRow] | None = None) -> None:
    """Raise ValueError, with one sentence that names the place, unless this is a document.

    kinds: the check for a row of each kind that may occur; lesson 10's without it.
    """
    kinds = KINDS if kinds is None else kinds
    _require(isinstance(document, dict), "a document is a JSON object")
    for name, (kind, sentence) in _HEAD.items():
        _require(name in document, f"{name} is missing")
        _require(kind(document[name]), f"{name} must be {sentence}")
    card = document["card"]
    for name in ("multiprocessors", "l2_bytes", "memory_bytes"):
        _require(_is_size(card.get(name)), f"card.{name} must be an int of at least 1")
    _require(_is_name(card.get("name")), "card.name must be a text")
    pair = card.get("compute_capability")
    good = isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair))
    _require(good, "card.compute_capability must be a pair of ints, such as [7, 5]")
    for kind, rows in document["rows"].items():
        known = ", ".join(kinds)
        _require(kind in kinds, f"rows.{kind} is of no known kind: there are {known}")
        _require(isinstance(rows, list), f"rows.{kind} must be a list")
        for number, row in enumerate(rows):
            kinds[kind](row, f"rows.{kind}[{number}]")


def check_fields(row: Any, fields: dict[str, str], where: str) -> None:
    """Raise ValueError unless `row` is an object that has these fields, each of its sort."""
    _require(isinstance(row, dict), f"{where} must be an object")
    for name, sort in fields.items():
        _require(name in row, f"{where}: {name} is missing")
        good, sentence = SORTS[sort]
        _require(good(row[name]), f"{where}: {name} must be {sentence}, not {_short(row[name])}")


def _check_row(kind: str, row: Any, where: str) -> None:
    fields, times = _FIELDS[kind]
    check_fields(row, fields, where)
    for name in times or (("events",) if "events" in row else ("host_ms",)):
        _require(name in row, f"{where}: {name} is missing")
    if "events" in row:
        _check_events(row["events"], where)
    if "host_ms" in row:
        good = isinstance(row["host_ms"], list) and row["host_ms"]
        _require(bool(good) and all(map(_is_positive, row["host_ms"])), f"{where}: {_HOST}")
    for name in _CONDITIONS:
        good = row.get(name) is None or _is_number(row[name])
        _require(good, f"{where}: {name} must be a number, or null where it is not known")


def _check_events(events: Any, where: str) -> None:
    good = isinstance(events, list) and len(events) >= 2
    _require(good, f"{where}: events must be a list of at least two pairs")
    for number, pair in enumerate(events):
        place = f"{where}: events[{number}]"
        good = isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair))
        _require(good, f"{place} must be a pair of numbers, start and end")
        _require(pair[0] <= pair[1], f"{place} ends before it starts")


def _short(value: Any) -> str:
    """Return a value as a sentence can hold it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


_HOST = "host_ms must be a list of at least one positive number"


def _require(good: bool, sentence: str) -> None:
    if not good:
        raise ValueError(sentence)


def _is_number(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_size(value: Any) -> bool:
    return _is_count(value) and value > 0


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_dict(value: Any) -> bool:
    return isinstance(value, dict)


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"\d{4}-\d\d-\d\d", value))


SORTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "size": (_is_size, "an int of at least 1"),
    "count": (_is_count, "an int of at least 0"),
    "name": (_is_name, "a text"),
    "flag": (_is_flag, "true or false"),
    "number": (_is_number, "a number"),
    "positive": (_is_positive, "a positive number"),
    "object": (_is_dict, "an object"),
}
KINDS: dict[str, CheckRow] = {kind: partial(_check_row, kind) for kind in _FIELDS}
_HEAD: dict[str, tuple[Callable[[Any], bool], str]] = {
    "constructed": (_is_flag, "true or false"),
    "command": (_is_name, "a text: how to make the document again"),
    "date": (_is_date, "a date as 2026-01-31"),
    "driver": (_is_name, "a text"),
    "versions": (_is_dict, "an object: package to version"),
    "cpu": (_is_name, "a text"),
    "card": (_is_dict, "an object"),
    "empty_ms": (_is_positive, "a positive number"),
    "rows": (_is_dict, "an object: kind to list of rows"),
}
