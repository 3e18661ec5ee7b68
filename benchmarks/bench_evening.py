"""How long a first evening takes: `docs/first-evening.md`, from a clone to grades for Canvas.

    python benchmarks/bench_evening.py             # clones this repository into a temporary folder
    python benchmarks/bench_evening.py --record    # and keeps the table for the site

The table that it prints stands at the end of the page. Every command of the page is run as it is
printed, in order; the clone is of this repository. The minutes for reading are those of the page's
headings. Packages are fetched as `make setup` does.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from record import recording

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "first-evening.md"
_STEP = re.compile(r"^## (\d+ · .*?) · (\d+) min\n(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```sh(?: by-\w+)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CLONE = re.compile(r"git clone \S+")


@dataclass(frozen=True)
class Step:
    """One step of the page: its heading, the minutes for its reader, and its commands."""

    title: str
    reading: int
    commands: tuple[str, ...]


def steps(page: str) -> Iterator[Step]:
    """Yield the steps of the page."""
    for title, minutes, text in _STEP.findall(page):
        yield Step(title, int(minutes), tuple(_BLOCK.findall(text)))


def main() -> int:
    """Run the page in a temporary folder and print the clock; returns the exit status."""
    found = list(steps(PAGE.read_text(encoding="utf-8")))
    rows: list[tuple[str, float, int]] = []
    with tempfile.TemporaryDirectory() as place:
        for step in found:
            began = time.monotonic()
            if failed := _run(step, Path(place)):
                print(failed, file=sys.stderr)
                return 1
            rows.append((step.title, time.monotonic() - began, step.reading))
    print(clock(rows))
    return 0


def clock(rows: list[tuple[str, float, int]]) -> str:
    """Return the page's table: of each step the computer's seconds, the reader's minutes, the sum.

    rows: title, seconds, minutes
    """
    width = max(len(title) for title, *_ in rows)
    lines = [f"| {'step':<{width}} | computer | reading | clock |"]
    lines += [f"|{'-' * (width + 2)}|---------:|--------:|------:|"]
    passed = 0.0
    for title, seconds, reading in rows:
        passed += seconds / 60 + reading
        lines += [f"| {title:<{width}} | {seconds:5.0f} s | {reading:3} min | {passed:2.0f} min |"]
    seconds, reading = sum(row[1] for row in rows), sum(row[2] for row in rows)
    lines += [f"| {'in all':<{width}} | {seconds:5.0f} s | {reading:3} min | {passed:2.0f} min |"]
    return "\n".join(lines)


def _run(step: Step, place: Path) -> str:
    """Run a step's commands as a reader would; returns what went wrong, or nothing."""
    for block in step.commands:
        script = _CLONE.sub(f"git clone --quiet {ROOT} proflab", block)
        course = place / "proflab"
        if course.exists():
            script = f"source .venv/bin/activate\n{script}"
        env = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=course if course.exists() else place,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            status = f"{step.title}: exit status {done.returncode}"
            return "\n".join([status, script, done.stdout, done.stderr])
    return ""


if __name__ == "__main__":
    with recording(__file__, "Your first evening"):
        status = main()
    sys.exit(status)
