"""The lessons' solutions for the benchmarks that time them, as one file that is made anew."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def assembled(through: int) -> dict:
    """Return the names of the file that `proflab assemble --through` makes of solved lessons."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profiler.py"
        command = [sys.executable, "-m", "proflab_course.cli", "assemble", str(ROOT / "modules")]
        command += ["-o", str(path), "--through", str(through)]
        subprocess.run(command, check=True, stdout=subprocess.PIPE)
        names: dict = {"__name__": "profiler"}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names
