"""Measure how long each demo cell takes, each lesson in a fresh kernel.

    python benchmarks/bench_demos.py --record   # all lessons, some minutes on a quiet machine
    python benchmarks/bench_demos.py 05 09      # these lessons, shown only

Each lesson's source is run once, solutions and all; demo cells of a second or more are shown.
`proflab build` writes the times above 5 s into the cells, rounded, so run it after recording.
"""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from record import recording

ROOT = Path(__file__).parents[1]
SHOWN = 1.0


def demo_seconds(path: Path) -> dict[str, float]:
    """Run a notebook; return the seconds of each demo cell that takes a second or more."""
    notebook = nbformat.read(path, as_version=4)
    options = {"timeout": None, "record_timing": True, "allow_errors": True}
    NotebookClient(notebook, resources={"metadata": {"path": path.parent}}, **options).execute()
    found = {}
    for cell in notebook.cells:
        if "demo" in cell.metadata.get("tags", []):
            times = cell.metadata.execution
            began, ended = (
                datetime.fromisoformat(times[key])
                for key in ("iopub.execute_input", "shell.execute_reply")
            )
            seconds = (ended - began).total_seconds()
            if seconds >= SHOWN:
                found[cell.metadata.nbgrader.grade_id] = seconds
    return found


def main() -> None:
    """Print a line for each demo cell: lesson, cell, seconds."""
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    print(f"{'lesson':<20}{'demo cell':<24}seconds")
    for path in sorted((ROOT / "source").glob("*/*.ipynb")):
        if not wanted or path.stem[:2] in wanted:
            for name, seconds in demo_seconds(path).items():
                print(f"{path.stem:<20}{name:<24}{seconds:>7.1f}", flush=True)


if __name__ == "__main__":
    with recording(__file__, "Demo cells: what students wait for"):
        main()
