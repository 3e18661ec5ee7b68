"""Time and memory of an assembled profiler's `trace` for a trace of 100,000 events.

    python benchmarks/bench_trace.py

The trace is made up: ops that nest two deep, each with shapes, a launch and a kernel. Another
process reads it, with the lessons' solutions, as a student would; its CPU time and its largest
memory are those that the system has noted of it, less what a run on a trace of twelve takes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from record import recording
from solutions import assemble


def made_up(events: int) -> dict:
    """Return a trace of so many events: an op around another, its launch, and its kernel."""
    found = []
    for number in range(events // 4):
        at, call = number * 100.0, {"correlation": number}
        shapes = {"Input Dims": [[64, 512], [512, 2048]], "Concrete Inputs": ["", ""]}
        place = {"ph": "X", "pid": 1, "tid": 1}
        for name, start, dur in ("aten::linear", 0, 80), ("aten::mm", 10, 60):
            timed = {"cat": "cpu_op", "name": name, "ts": at + start, "dur": dur}
            found.append(place | timed | {"args": shapes})
        launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 20, "dur": 5}
        found.append(place | launch | {"args": call})
        kernel = {"cat": "kernel", "name": "gemm", "ts": at + 40, "dur": 50, "args": call}
        found.append(place | kernel | {"pid": 0, "tid": 7})
    return {"schemaVersion": 1, "traceEvents": found}


def read_by(profiler: Path, trace: Path) -> tuple[float, float]:
    """Return CPU s and the largest MiB of a process that reads a trace.

    A process in between starts it, for the system notes the largest of all that one has started.
    """
    command = [sys.executable, str(profiler), "trace", str(trace)]
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *command], check=True, capture_output=True, text=True
    )
    seconds, kib = map(float, ran.stdout.split())
    return seconds, kib / 1024


def main() -> None:
    """Print a row for each size of trace."""
    with tempfile.TemporaryDirectory() as folder:
        profiler = Path(folder) / "my_profiler.py"
        assemble(profiler, "--standalone")
        print(f"{'events':>10}{'file, MiB':>12}{'CPU, s':>10}{'memory, MiB':>14}")
        least = (0.0, 0.0)
        for events in 12, 10_000, 100_000:
            trace = Path(folder) / "trace.json"
            trace.write_text(json.dumps(made_up(events)), encoding="utf-8")
            seconds, mib = read_by(profiler, trace)
            cells = f"{seconds - least[0]:>10.2f}{mib - least[1]:>14.0f}"
            print(f"{events:>10,}{trace.stat().st_size / 2**20:>12.1f}{cells}")
            least = least if any(least) else (seconds, mib)


if __name__ == "__main__":
    with recording(__file__, "Reading a trace of 100,000 events"):
        main()
