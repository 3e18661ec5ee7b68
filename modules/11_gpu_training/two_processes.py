"""Two processes on this machine that add their arrays: what an all-reduce takes here.

With torch its gloo does it, without torch two ends of two pipes. `python two_processes.py` is how
a process of the two is started.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from proflab.lesson import machine


def measure(sizes: Sequence[int], repeats: int = 7) -> list[dict]:
    """Return rows of an all-reduce between two processes on this machine, by bytes.

    A row has backend, ranks, bytes and ms, a list. Where torch is installed its gloo adds the
    arrays; elsewhere two processes do it by pipes, as a ring of two.
    """
    machine.need("processes", "what adding arrays takes between two of them")
    if importlib.util.find_spec("torch"):
        found = _by_gloo(sizes, repeats)
        if found:
            return _rows("gloo", sizes, found)
    other = _start("pipes", 1, "", sizes, repeats)
    try:
        found = _ring_of_two(0, other.stdout, other.stdin, sizes, repeats)
    finally:
        other.stdin.close()
        other.wait(timeout=60)
    return _rows("pipes", sizes, found)


def _by_gloo(sizes: Sequence[int], repeats: int, limit: float = 120) -> list | None:
    """Return the ms of each all-reduce, by size; None where torch's processes do not meet."""
    with tempfile.TemporaryDirectory() as folder:
        both = [_start("gloo", rank, folder, sizes, repeats) for rank in (0, 1)]
        try:
            answers = [process.communicate(timeout=limit)[0] for process in both]
        except subprocess.TimeoutExpired:
            return None
        finally:
            for process in both:
                process.kill()  # nothing happens to one that has ended
                process.communicate()
    return None if any(process.returncode for process in both) else json.loads(answers[0])


def _start(backend: str, rank: int, folder: str, sizes: Sequence[int], repeats: int) -> Any:
    what = json.dumps([backend, rank, folder, list(sizes), repeats])
    local = {"PYTHONPATH": os.pathsep.join(sys.path)}
    if sys.platform == "linux":
        local["GLOO_SOCKET_IFNAME"] = "lo"  # nothing outside this machine can listen
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    command = [sys.executable, str(Path(__file__).resolve()), what]
    return subprocess.Popen(command, env={**os.environ, **local}, **pipes)


def _rows(backend: str, sizes: Sequence[int], times: list[list[float]]) -> list[dict]:
    same = {"backend": backend, "ranks": 2}
    return [{**same, "bytes": n, "ms": ms} for n, ms in zip(sizes, times, strict=True)]


def _ring_of_two(rank: int, source: Any, target: Any, sizes: Sequence[int], repeats: int) -> list:
    """Return the ms of each all-reduce, by size, with the other rank at the pipes' other ends."""

    def send(data: bytes) -> None:
        target.write(data)
        target.flush()

    def exchange(given: np.ndarray) -> np.ndarray:
        sender = threading.Thread(target=send, args=(given.tobytes(),))
        sender.start()  # or both would wait for the other to read
        answer = np.frombuffer(source.read(given.nbytes), given.dtype)
        sender.join()
        return answer

    times: list[list[float]] = []
    for size in sizes:
        own = np.full((2, max(size // 8, 1)), rank + 1.0, np.float32)
        times.append([])
        for _ in range(repeats):
            exchange(np.zeros(1, np.uint8))  # both are ready
            begin = time.perf_counter()
            total = own[1 - rank] + exchange(own[rank])
            other = exchange(total)
            times[-1].append(1e3 * (time.perf_counter() - begin))
            if total[0] != 3 or other[-1] != 3:
                raise RuntimeError("the two processes did not add their arrays")
    return times


def _gloo(rank: int, folder: str, sizes: Sequence[int], repeats: int) -> list:
    import torch
    import torch.distributed as group

    group.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
    times: list[list[float]] = []
    for size in sizes:
        times.append([])
        for _ in range(repeats):
            array = torch.full((max(size // 4, 1),), rank + 1.0)
            group.barrier()
            begin = time.perf_counter()
            group.all_reduce(array)
            times[-1].append(1e3 * (time.perf_counter() - begin))
            if array[0] != 3:
                raise RuntimeError("gloo did not add the arrays")
    group.destroy_process_group()
    return times


if __name__ == "__main__":  # one of the two
    _backend, _rank, _folder, *_rest = json.loads(sys.argv[1])
    if _backend == "gloo":
        print(json.dumps(_gloo(_rank, _folder, *_rest)))
    else:
        _ring_of_two(_rank, sys.stdin.buffer, sys.stdout.buffer, *_rest)
