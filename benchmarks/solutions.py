"""The lessons' solutions for the benchmarks that time them, as one file that is made anew."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def assemble(path: Path, *options: str) -> None:
    """Write the solved lessons as one file; options: of `proflab assemble`."""
    command = [sys.executable, "-m", "proflab_course.cli", "assemble", str(ROOT / "modules")]
    subprocess.run([*command, "-o", str(path), *options], check=True, stdout=subprocess.DEVNULL)


def names_of(path: Path) -> dict:
    """Return the names that such a file defines."""
    names: dict = {"__name__": "profiler"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


def assembled(through: int) -> dict:
    """Return the names of the lessons' solutions, up to the one with this number."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profiler.py"
        assemble(path, "--through", str(through))
        return names_of(path)
