"""A document that fills as a notebook's device cells run, or is read where there is no device.

`Record.measure` is what a device cell calls. On a card it measures and keeps the rows; anywhere
else it says in one line that there is no CUDA device and whose rows the document holds. The two
are never mixed: on a card the document starts without a row.
"""

from __future__ import annotations

import datetime
import platform
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from proflab.lesson.cuda.device import Gpu, MissingTool, NoDevice, driver_version, find

_RECORDED = "recorded.json"  # a document of the student's own, beside the notebook
_PACKAGES = ("proflab", "numpy", "torch", "cupy", "cupy-cuda12x", "cupy-cuda13x", "nvidia-ml-py")


class Record:
    """Measurements of one card, by kind.

    path: the document that is read where there is no device; `recorded.json` beside it, which
    `save` writes, goes before. Nothing is read, imported or looked for before it is needed.
    form: the module that loads and saves documents of this lesson's kinds.
    """

    def __init__(
        self,
        path: str | Path,
        form: ModuleType,
        find: Callable[[], Gpu] = find,
        today: Callable[[], datetime.date] = datetime.date.today,
    ) -> None:
        self.path, self._form = Path(path), form
        self._find, self._today = find, today
        self._gpu: Gpu | None = None
        self._reason = ""  # why there is no device; empty while nobody has looked
        self._document: dict | None = None

    @property
    def document(self) -> dict:
        """Return what was measured here so far; without a device, the file's document."""
        if self._document is None:
            own = self.path.with_name(_RECORDED)
            self._document = self._form.load(own if own.exists() else self.path)
        return self._document

    def measure(self, kind: str, measure: Callable[[Gpu], Iterable[dict]]) -> None:
        """Measure all rows of a kind if there is a device; print one line either way.

        measure(gpu) yields them. A library that is missing is told in that line too.
        """
        gpu = self._device()
        if gpu is None:
            print(f"{self._reason}. The {len(self.rows(kind))} {kind} rows are {self._whose()}.")
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
        print(f"{len(rows)} {kind} rows measured on {gpu.card['name']}{_conditions(rows)}.")

    def rows(self, kind: str) -> list[dict]:
        """Return the rows of a kind. Raises ValueError, one sentence, if none were measured."""
        rows = self.document["rows"].get(kind)
        if not rows:
            raise ValueError(f"there are no {kind} rows yet: run the device cell that makes them")
        return rows

    def title(self, text: str) -> str:
        """Return a plot's title: `text`, the card, and the date, or "constructed"."""
        how = "constructed" if self.document["constructed"] else self.document["date"]
        return f"{text} · {self.document['card']['name']}, {how}"

    def save(self, path: str | Path = _RECORDED) -> None:
        """Write what was measured here; print one line. A constructed document is not copied."""
        if self._gpu is None:
            print("Nothing was measured here, so nothing is saved.")
            return
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
                self._document = self._empty_document(self._gpu)
        elif self._gpu is None:
            self._reason = "No CUDA device"
        return self._gpu

    def _empty_document(self, gpu: Gpu) -> dict:
        return {
            "constructed": False,
            "command": f"the device cells of {self._form.LESSON}",
            "date": self._today().isoformat(),
            "driver": driver_version(),
            "versions": {"python": platform.python_version()} | _versions(),
            "cpu": _processor(),
            "card": gpu.card,
            "empty_ms": max(gpu.empty_ms(), 1e-5),
            "rows": {},
        }

    def _whose(self) -> str:
        if self.document["constructed"]:
            return f"those of {self.path.name}: constructed, measured by nobody"
        name, date = self.document["card"]["name"], self.document["date"]
        return f"those of a document measured on {name}, {date}"


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """Return the name of the host's processor, as far as known, and how many it has."""
    import os

    name = platform.processor() or platform.machine()
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    return f"{name}, {os.cpu_count()} threads"


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
