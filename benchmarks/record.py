"""Record what a benchmark prints, for the site's page of figures: `--record`.

    python benchmarks/bench_meta.py --record

A record, docs/figures/NAME.json, holds the table with the date, the machine, its load and the
command. What is recorded is what was printed; no number enters a record in another way.
"""

from __future__ import annotations

import ast
import io
import json
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path

FLAG = "--record"
FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"


@contextmanager
def recording(script: str, title: str, folder: Path = FIGURES) -> Iterator[None]:
    """Run a benchmark's main inside; with --record, what it prints becomes folder/NAME.json.

    script: the benchmark's file; title: what it measures, as a heading. A benchmark that fails
    leaves the former record as it was.
    """
    if FLAG not in sys.argv:
        yield
        return
    sys.argv.remove(FLAG)
    path = Path(script)
    command = " ".join(["python", f"benchmarks/{path.name}", *sys.argv[1:]])
    printed, load = io.StringIO(), _load()
    with redirect_stdout(_Both(sys.stdout, printed)):
        yield
    record = {
        "title": title,
        "about": about(path),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": machine(),
        "load": f"{load} at the start, {_load()} at the end",
        "command": command,
        "table": printed.getvalue().strip("\n"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{path.stem.removeprefix('bench_')}.json"
    target.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"recorded in {target}")


def about(script: Path) -> str:
    """Return the docstring of a benchmark without its commands."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    return "\n\n".join(p for p in re.split(r"\n\n+", text) if not p.startswith("    "))


def machine() -> str:
    """Return the machine in a line: its processor, its system and its Python."""
    from proflab.lesson.hardware import this_machine  # here, for numpy takes its threads on import

    here = this_machine()
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{here.name or 'unknown'}, {os.cpu_count()} processors, {system}"


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


class _Both(io.TextIOBase):
    """A stream that writes to two others."""

    def __init__(self, *streams: io.TextIOBase) -> None:
        self.streams = streams

    def write(self, text: str) -> int:
        for stream in self.streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        for stream in self.streams:
            stream.flush()
