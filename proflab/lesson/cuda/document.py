"""The document that holds all that was measured on a card: one JSON file, checked when read.

    constructed  false for a measurement; true where a model made the numbers and no card did
    command, date, driver, versions, cpu, card    how, when and on what
    empty_ms     what two events with nothing between them are apart
    rows         kind → list of rows; a row says what was run, its times, and the card's conditions

Which kinds there are, and what a row of each holds, is in a file beside each lesson. A document of
other people's measurements says in each row where it is from, under `source`: repository, commit,
path, licence, date and card; card, driver, cpu and empty_ms in its head are null.

What may not enter: FLOPs and bytes of a kernel; a row says how it was launched, and the reader
counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proflab.checks.diagnose import is_number, is_real
from proflab.lesson.words import shortened

CheckRow = Callable[[Any, str], None]  # a row and its place; raises ValueError with a sentence


def load(path: str | Path, kinds: dict[str, CheckRow]) -> dict:
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


def save(document: dict, path: str | Path, kinds: dict[str, CheckRow]) -> None:
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


def check(document: Any, kinds: dict[str, CheckRow]) -> None:
    """Raise ValueError, with one sentence that names the place, unless this is a document.

    kinds: the check for a row of each kind that may occur.
    """
    _require(isinstance(document, dict), "a document is a JSON object")
    for name, (kind, sentence) in _HEAD.items():
        _require(name in document, f"{name} is missing")
        good = kind(document[name]) or (name in _OWN and document[name] is None)
        _require(good, f"{name} must be {sentence}")
    if document["card"] is not None:
        _check_card(document["card"])
    for kind, rows in document["rows"].items():
        known = ", ".join(kinds)
        _require(kind in kinds, f"rows.{kind} is of no known kind: there are {known}")
        _require(isinstance(rows, list), f"rows.{kind} must be a list")
        for number, row in enumerate(rows):
            kinds[kind](row, f"rows.{kind}[{number}]")
            _check_source(row, document, f"rows.{kind}[{number}]")


def _check_card(card: dict) -> None:
    """Raise ValueError unless a card has a name and, if no processor, says how large it is."""
    _require(_is_name(card.get("name")), "card.name must be a text")
    if card["name"].startswith("CPU"):
        return
    for name in ("multiprocessors", "l2_bytes", "memory_bytes"):
        _require(_is_size(card.get(name)), f"card.{name} must be an int of at least 1")
    pair = card.get("compute_capability")
    good = isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair))
    _require(good, "card.compute_capability must be a pair of ints, such as [7, 5]")


def check_fields(row: Any, fields: dict[str, str], where: str) -> None:
    """Raise ValueError unless `row` is an object that has these fields, each of its sort."""
    _require(isinstance(row, dict), f"{where} must be an object")
    for name, sort in fields.items():
        _require(name in row, f"{where}: {name} is missing")
        good, sentence = SORTS[sort]
        said = shortened(repr(row[name]), 60)
        _require(good(row[name]), f"{where}: {name} must be {sentence}, not {said}")


def _check_source(row: dict, document: dict, where: str) -> None:
    """Raise ValueError unless the row says where it is from, if the document's head does not."""
    if "source" in row:
        check_fields(row["source"], dict.fromkeys(_SOURCE, "name"), f"{where}: source")
    else:
        unknown = [name for name in _OWN if document[name] is None]
        _require(not unknown, f"{where} needs a source, for {', '.join(unknown)} is null")


def _require(good: bool, sentence: str) -> None:
    if not good:
        raise ValueError(sentence)


def _is_number(value: Any) -> bool:
    return is_real(value) and is_number(value)  # JSON has no other


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
_SOURCE = ("repository", "commit", "path", "licence", "date", "card")
_OWN = ("card", "driver", "cpu", "empty_ms")  # known of a measurement of one's own alone
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
