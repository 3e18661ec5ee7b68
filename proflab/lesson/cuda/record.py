"""Documents that are read where there is no device; where there is one, device cells fill one.

`Record.measure` is what a device cell calls. On a card it measures and keeps the rows; anywhere
else it says in one line that there is no CUDA device and whose rows the documents hold. The two
are never mixed: on a card there is one document, and it starts without a row.
"""

from __future__ import annotations

import datetime
import platform
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from proflab.lesson.cuda.device import (
    Gpu,
    MissingTool,
    NoDevice,
    driver_version,
    find,
    find_any,
    processor,
)

# Documents of the student's own, beside the notebook: of a card; of a card or a processor.
_RECORDED, _RECORDED_ANYWHERE = "recorded.json", "recorded_anywhere.json"
_PACKAGES = ("proflab", "numpy", "torch", "cupy", "cupy-cuda12x", "cupy-cuda13x", "nvidia-ml-py")


class Record:
    """Measurements of cards, by kind.

    paths: the documents that are read where there is no device; `recorded.json` beside them, which
    `save` writes, goes before. Nothing is read, imported or looked for before it is needed.
    form: the module that loads and saves documents of this lesson's kinds.
    own: False for measurements of others, which stay beside one's own: `recorded.json` is not read.
    processor: whether torch measures on the processor where there is no card. What it measured is
        called "CPU", and saved as `recorded_anywhere.json`.
    """

    def __init__(
        self,
        *paths: str | Path,
        form: ModuleType,
        own: bool = True,
        find: Callable[[], Gpu] | None = None,
        processor: bool = False,
        today: Callable[[], datetime.date] = datetime.date.today,
    ) -> None:
        self.paths, self._form, self._own = tuple(map(Path, paths)), form, own
        self._find, self._today = find or _finder(processor), today
        self._name = _RECORDED_ANYWHERE if processor else _RECORDED
        self._gpu: Gpu | None = None
        self._reason = ""  # why there is no device; empty while nobody has looked
        self._documents: list[dict] = []

    @property
    def documents(self) -> list[dict]:
        """Return what was measured here so far, alone; without a device, the files' documents."""
        if not self._documents:
            own = self.paths[0].with_name(self._name)
            paths = [own] if self._own and own.exists() else self.paths
            self._documents = [self._form.load(path) for path in paths]
        return self._documents

    @property
    def document(self) -> dict:
        """Return the only document. Raises ValueError where several are read."""
        if len(self.documents) > 1:
            raise ValueError("there are several documents: ask for one row's, `source(row)`")
        return self.documents[0]

    def measure(self, kind: str, measure: Callable[[Gpu], Iterable[dict]]) -> None:
        """Measure all rows of a kind if there is a device; print one line either way.

        measure(gpu) yields them. A library that is missing is told in that line too.
        """
        gpu = self._device()
        if gpu is None:
            try:
                rows = self.rows(kind)
            except ValueError:
                print(f"{self._reason}. No document here has {kind} rows.")
            else:
                print(f"{self._reason}. The {len(rows)} {kind} rows are {self._whose(rows)}.")
            return
        from tqdm import tqdm

        try:
            rows = list(tqdm(measure(gpu), desc=kind, unit="row", disable=None, leave=False))
        except MissingTool as error:
            print(f"No {kind} rows: {error}.")
            return
        finally:
            gpu.free()
        self.document["rows"][kind] = rows
        how = "" if gpu.card["name"].startswith("CPU") else _conditions(rows)
        print(f"{len(rows)} {kind} rows measured on {gpu.card['name']}{how}.")

    def rows(self, kind: str) -> list[dict]:
        """Return the rows of a kind. Raises ValueError, one sentence, if none were measured."""
        rows = [row for document in self.documents for row in document["rows"].get(kind, [])]
        if not rows:
            raise ValueError(f"there are no {kind} rows yet: run the device cell that makes them")
        return rows

    def source(self, row: dict) -> dict:
        """Return where a row is from: constructed, card (a name), date; of others', source too.

        A document of other people's measurements says it in each row, under `source`; any other
        in its head. Raises ValueError for a row of no document.
        """
        for document in self.documents:
            if any(row is each for rows in document["rows"].values() for each in rows):
                head = {"constructed": document["constructed"], "date": document["date"]}
                card = {"card": document["card"]["name"]} if document["card"] else {}
                return head | card | row.get("source", {})
        raise ValueError("this row is of none of the documents")

    def title(self, text: str, *rows: dict) -> str:
        """Return a plot's title: `text`, and of each card its name and the date, or "constructed".

        rows: those that are shown; none for all. Of other people's measurements it says whose.
        """
        every = (row for each in self.documents for kind in each["rows"].values() for row in kind)
        return f"{text} · {_words([self.source(row) for row in rows or every])}"

    def save(self, path: str | Path | None = None) -> None:
        """Write what was measured here; print one line. A constructed document is not copied."""
        if self._gpu is None:
            print("Nothing was measured here, so nothing is saved.")
            return
        path = path or self._name
        self._form.save(self.document, path)
        count = sum(map(len, self.document["rows"].values()))
        print(f"{count} rows of {self.document['card']['name']} are in {path}.")

    def _device(self) -> Gpu | None:
        if self._gpu is None and not self._reason:
            try:
                self._gpu = self._find()
            except NoDevice as error:
                self._reason = f"No CUDA device: {error}"
            else:
                self._documents = [self._empty_document(self._gpu)]
        elif self._gpu is None:
            self._reason = "No CUDA device"  # why, the first line has said
        return self._gpu

    def _empty_document(self, gpu: Gpu) -> dict:
        return {
            "constructed": False,
            "command": f"the device cells of {self._form.LESSON}",
            "date": self._today().isoformat(),
            "driver": driver_version(),
            "versions": {"python": platform.python_version()} | _versions(),
            "cpu": processor(),
            "card": gpu.card,
            "empty_ms": max(gpu.empty_ms(), 1e-5),  # above 0, as document.py asks
            "rows": {},
        }

    def _whose(self, rows: list[dict]) -> str:
        sources = [self.source(row) for row in rows]
        whose = _words(sources)
        if any(source["constructed"] for source in sources):
            return f"those of a document about {whose}: measured by nobody"
        return f"measured on {whose}"


def _finder(processor: bool) -> Callable[[], Gpu]:
    return find_any if processor else find


def _words(sources: Iterable[dict]) -> str:
    """Return sources as a title says them: cards, then when and by whom they were measured."""
    cards: dict[str, list[str]] = {}
    for source in sources:
        whose = "constructed" if source["constructed"] else source["date"]
        if "repository" in source:
            name = source["repository"].removeprefix("https://github.com/")
            whose += f", {name}@{source['commit']} ({source['licence']})"
        cards.setdefault(whose, []).append(source["card"])
    return "; ".join(f"{', '.join(dict.fromkeys(c))}, {whose}" for whose, c in cards.items())


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def _conditions(rows: list[dict]) -> str:
    """Return the clock, power and temperature that the rows were measured at, in brackets."""
    parts = []
    for name, unit in (("sm_mhz", "MHz"), ("watts", "W"), ("celsius", "°C")):
        values: list[Any] = [row[name] for row in rows if row.get(name) is not None]
        if values:
            parts.append(f"{min(values):.0f} to {max(values):.0f} {unit}")
    return (
        f" ({', '.join(parts)})" if parts else " (its sensors are not read: install nvidia-ml-py)"
    )
