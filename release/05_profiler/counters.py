"""Read the counters of whole programs, recorded ones and some that run here, for a demo cell.

What may not enter: a verdict. runs.json has a row for each recorded run, with who measured it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proflab.lesson import machine

# bytes/s: `dd iflag=direct` of 1 GB read three times, the median, on the machine that recorded
# the runs of 29 November 2026, beside other programs
DISK_RATE = 193e6
HEAD = f"{'real s':>8}{'user s':>8}{'sys s':>8}{'MB':>7}{'card':>7}"


def recorded_runs() -> dict[str, dict[str, Any]]:
    """Return the recorded runs, {what the program did: its counters}."""
    return json.loads(Path("runs.json").read_text("utf-8"))


def runs_here(**programs: str) -> dict[str, dict[str, Any]]:
    """Run each program, a statement of Python, as `time` would; return its counters.

    bytes_read is known on Linux only, where the system counts blocks of 512 bytes. Raises NotHere
    where this Python cannot start processes or the system does not tell their counters.
    """
    machine.need("processes", "what limits two short programs")
    if not hasattr(os, "wait4"):
        raise machine.NotHere("This system does not tell a process's counters, as Linux does.")
    return {f"{name}, here": _counted(f"import time\n{code}") for name, code in programs.items()}


def _counted(code: str) -> dict[str, Any]:
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code])
    usage = os.wait4(process.pid, 0)[2]
    real = time.perf_counter() - start
    process.returncode = 0  # it has been waited for
    read = usage.ru_inblock * 512 if sys.platform == "linux" else None
    times = {"real_s": real, "user_s": usage.ru_utime, "sys_s": usage.ru_stime}
    return times | {"bytes_read": read, "gpu_busy": None}


def line(run: Mapping[str, Any]) -> str:
    """Return the counters of a run in a line below HEAD; `?` stands for what nobody measured."""
    parts = [_known(run[key], "{:8.3f}") for key in ("real_s", "user_s", "sys_s")]
    read = run["bytes_read"]
    parts.append(_known(read and read / 1e6, "{:7.0f}"))
    parts.append(_known(run["gpu_busy"], "{:7.0%}") if run["gpu_busy"] else f"{'none':>7}")
    return "".join(parts)


def _known(value: float | None, form: str) -> str:
    shown = form.format(value or 0)
    return shown if value is not None else "?".rjust(len(shown))
