"""Records the runs of whole programs that lesson 05's `triage` judges, on this machine.

    sudo .venv/bin/python docs/record_runs.py

Five programs run one after the other, with the counters of the lesson's own cell (counters.py).
For the first it has to be allowed to go before other programs (chrt), and the file of 1 GB has to
lie on a disk: it is written into the folder in which this is started. The runs on a card stay: they
are published traces, and tests/lessons/test_lesson_11.py compares them with these.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from proflab.lesson.hardware import this_machine

FOLDER = Path(__file__).resolve().parents[1] / "modules" / "05_profiler"
sys.path.insert(0, str(FOLDER))
import counters  # noqa: E402

DISK = "dd of 1 GB that is not in memory, three times, the median"
FIRST = ("chrt", "-f", "10")


def main(target: Path = FOLDER / "runs.json", **sizes: Any) -> None:
    """Record the programs, and write them before the runs of the file that have a card."""
    kept = json.loads((FOLDER / "runs.json").read_text("utf-8"))["runs"]
    found, rate = record(**sizes)
    here = f"{os.cpu_count()} processors of {this_machine().name or 'an unknown kind'}"
    source = f"this course's, on {here}, {date.today():%-d %B %Y}"
    runs = {name: _rounded(run) | {"source": source} for name, run in found.items()}
    runs |= {name: run for name, run in kept.items() if run["gpu_busy"] is not None}
    written = {"disk_rate": rate, "disk": DISK, "runs": runs}
    target.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _rounded(run: dict[str, Any]) -> dict[str, Any]:
    return {key: round(x, 3) if isinstance(x, float) else x for key, x in run.items()}


def record(
    turns: int = 6_000_000,
    others: int = 8,
    size: int = 10**9,
    answers: int = 6,
    delay: float = 0.6,
    first: tuple[str, ...] = FIRST,
    rate: Callable[[Path], float] | None = None,
) -> tuple[dict[str, dict[str, Any]], float]:
    """Return the counters of each program, and the disk's bytes/s.

    turns: of the loop. others: programs beside it. size: bytes of the file. answers: asked of a
    server that takes delay s for each. first: words that start a program before others. rate: says
    what the disk gives, from the file.
    """
    loop = f"sum(i * i for i in range({turns}))"
    runs = {f"a loop, before other programs ({' '.join(first)})": counters.counted(loop, first)}
    with _busy(others):
        runs[f"the same, beside {others} other programs"] = counters.counted(loop)
    with tempfile.NamedTemporaryFile(dir=".", prefix=".record-") as file:
        _fill(file.fileno(), size)
        read = f"f = open({file.name!r}, 'rb', buffering=0)\nwhile f.read(2**20): pass"
        _forget(file.fileno())
        large = f"{size / 1e9:g} GB"
        runs[f"reads {large} that is not in memory"] = counters.counted(read)
        runs["reads it again, from memory"] = counters.counted(read)
        disk_rate = (rate or read_past_memory)(Path(file.name))
    with _server(delay) as port:
        ask = f"import socket\nfor _ in range({answers}):\n    "
        ask += f"socket.create_connection(('127.0.0.1', {port})).recv(1)"
        runs[f"asks a server {answers} times"] = counters.counted(ask)
    return runs, disk_rate


def read_past_memory(file: Path) -> float:
    """Return the bytes/s of reading a file that is not in memory, the median of three.

    The system reads ahead, as it does for a program: with O_DIRECT the disk would wait between two
    reads, and give less than the program gets.
    """
    times = []
    for _ in range(3):
        with file.open("rb") as kept:
            _forget(kept.fileno())
        start = time.perf_counter()
        words = ["dd", f"if={file}", "of=/dev/null", "bs=1M"]
        subprocess.run(words, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return float(f"{file.stat().st_size / median(times):.3g}")


def _fill(file: int, size: int) -> None:
    """Write bytes that no disk can store in fewer."""
    while size > 0:
        size -= os.write(file, os.urandom(min(size, 2**24)))
    os.fsync(file)


def _forget(file: int) -> None:
    """Have the system drop a file's pages, so that the next reader waits for the disk."""
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


@contextlib.contextmanager
def _busy(number: int) -> Iterator[None]:
    """Run so many programs that only work."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


@contextlib.contextmanager
def _server(delay: float) -> Iterator[int]:
    """Run a server that answers each caller after so many s; give its port."""

    def answer() -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                caller = listening.accept()[0]
                time.sleep(delay)
                caller.sendall(b".")
                caller.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, daemon=True).start()
        yield listening.getsockname()[1]


if __name__ == "__main__":
    main()
