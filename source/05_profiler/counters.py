"""Read the counters of whole programs, recorded ones and some that run here, for a demo cell.

What may not enter: a verdict. runs.json has a row for each recorded run, with who measured it;
docs/record_runs.py makes those of this course anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proflab.lesson import machine

HEAD = f"{'real s':>8}{'user s':>8}{'sys s':>8}{'MB':>7}{'card':>7}"


def recorded_runs() -> tuple[dict[str, dict[str, Any]], float]:
    """Return the recorded runs, {what the program did: its counters}, and their disk's bytes/s."""
    found = json.loads(Path("runs.json").read_text("utf-8"))
    return found["runs"], found["disk_rate"]


def runs_here(**programs: str) -> dict[str, dict[str, Any]]:
    """Run each program, a statement of Python, as `time` would; return its counters.

    bytes_read is known on Linux only, where the system counts blocks of 512 bytes. Raises NotHere
    where this Python cannot start processes or the system does not tell their counters.
    """
    machine.need("processes", "what limits two short programs")
    if not hasattr(os, "wait4"):
        raise machine.NotHere("This system does not tell a process's counters, as Linux does.")
    return {f"{name}, here": counted(f"import time\n{code}") for name, code in programs.items()}


def counted(code: str, by: Sequence[str] = ()) -> dict[str, Any]:
    """Return the counters of a program of Python, started by other words, such as chrt's."""
    start = time.perf_counter()
    process = subprocess.Popen([*by, sys.executable, "-c", code])
    usage = os.wait4(process.pid, 0)[2]
    real = time.perf_counter() - start
    process.returncode = 0  # it has been waited for
    read = usage.ru_inblock * 512 if sys.platform == "linux" else None
    times = {"real_s": real, "user_s": usage.ru_utime, "sys_s": usage.ru_stime}
    return times | {"bytes_read": read, "gpu_busy": None}


def line(run: Mapping[str, Any]) -> str:
    """Return the counters of a run in a line below HEAD; `–` stands for what nobody measured."""
    parts = [_known(run[key], "{:8.3f}") for key in ("real_s", "user_s", "sys_s")]
    read = run["bytes_read"]
    parts.append(_known(read and read / 1e6, "{:7.0f}"))
    parts.append(_known(run["gpu_busy"], "{:7.0%}"))
    return "".join(parts)


def _known(value: float | None, form: str) -> str:
    shown = form.format(value or 0)
    return shown if value is not None else "–".rjust(len(shown))
