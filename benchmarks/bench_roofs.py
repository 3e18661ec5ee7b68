"""Lesson 06's roofs beside what else this machine reaches, in the same run.

    python benchmarks/bench_roofs.py peak     # products of matrices: a long run of numpy's BLAS
    python benchmarks/bench_roofs.py memory   # copies: STREAM's copy, compiled here
    python benchmarks/bench_roofs.py sweep    # 64 KB to main memory: is the drop seen?
    python benchmarks/bench_roofs.py          # all three

What is measured are the lesson's solutions, taken by `proflab assemble`. In each round all take
turns; the best of all rounds is compared, and the spread of the rounds' bests stands beside it.
STREAM is stream.c beside this file, built with the machine's compiler; without one it is left out,
and the table says so.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from record import recording
from solutions import assembled

from proflab.lesson.blas import blas_threads, on_threads
from proflab.lesson.hardware import in_bytes, this_machine
from proflab.lesson.measuring import beyond_caches, copy_on, drops, thread_counts

ROOT = Path(__file__).parents[1]
ROUNDS = int(os.environ.get("ROUNDS", 12))


def in_turns(measurements: dict[str, Callable[[], float]], rounds: int = ROUNDS) -> dict:
    """Take each measurement once a round; return name → its values, one a round."""
    found: dict[str, list[float]] = {name: [] for name in measurements}
    for _ in range(rounds):
        for name, measure in measurements.items():
            found[name].append(measure())
    return found


def print_row(name: str, values: list[float], reference: float, promise: str = "") -> None:
    """Print the best, where the rounds' bests lie, and the best against the reference's."""
    low, middle, best = (f(values) / 1e9 for f in (min, median, max))
    ratio = f"{best * 1e9 / reference:>8.3f}" if reference else " " * 8
    print(f"  {name:<34}{best:>9.1f}{middle:>9.1f}{low:>9.1f}{ratio}   {promise}")


def head(what: str) -> None:
    print(f"{what:<36}{'best':>9}{'median':>9}{'lowest':>9}{'ratio':>8}   of the rounds' bests")


# ── products ─────────────────────────────────────────────────────────────────────────────────


def long_run(threads: int, seconds: float = 1.5) -> float:
    """Return FLOP/s of the best product in so many seconds, of random numbers, in many sizes."""
    rng, best = np.random.default_rng(0), 0.0
    sizes = (384, 512, 640, 768, 1024, 1280, 1536, 2048)
    made = [[rng.random((n, n), np.float32) for _ in "abc"] for n in sizes]
    with on_threads(threads):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for a, b, c in made:
                start = time.perf_counter()
                np.matmul(a, b, out=c)
                best = max(best, 2 * len(a) ** 3 / (time.perf_counter() - start))
    return best


def print_peak(profiler: dict) -> None:
    """Print the lesson's ceiling beside the best of a long run, on one thread and on all."""
    if blas_threads() is None:
        print("numpy's library for matrices is not known here, so its threads cannot be set")
        return

    def ours(threads: int) -> float:
        with on_threads(threads):
            return profiler["measure_peak_flops"]()

    head("float32 products, GFLOP/s")
    for threads in thread_counts():
        ways = {"a long run": lambda n=threads: long_run(n), "ours": lambda n=threads: ours(n)}
        found = in_turns(ways)
        best = max(found["a long run"])
        print_row(f"a long run of np.matmul, threads {threads}", found["a long run"], best)
        print_row(f"measure_peak_flops, threads {threads}", found["ours"], best, "0.90 to 1.10")


# ── copies ───────────────────────────────────────────────────────────────────────────────────


def compiled(folder: str) -> Path | None:
    """Return stream.c as a program; None, with a sentence, where it cannot be built."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        print("no C compiler here (cc, gcc, clang): STREAM is left out")
        return None
    program = Path(folder) / "stream"
    source = str(Path(__file__).with_name("stream.c"))
    for options in (["-march=native", "-fopenmp"], ["-fopenmp"], []):
        command = [compiler, "-O3", *options, source, "-o", str(program)]
        if subprocess.run(command, capture_output=True).returncode == 0:
            print(f"STREAM's copy: {Path(compiler).name} -O3 {' '.join(options)}")
            return program
    print(f"{compiler} cannot build stream.c: STREAM is left out")
    return None


def print_memory(profiler: dict, folder: str) -> None:
    """Print the lesson's slope beside STREAM's copy, on one thread and on as many as BLAS has."""
    size = beyond_caches(this_machine().caches, 2**29)
    stream = compiled(folder)
    head(f"copies, {size // 2**20} MB, GB/s")
    for threads in thread_counts():
        copy = copy_on(threads)
        found: dict[str, list[float]] = {"ours": []}
        for _ in range(ROUNDS):
            found["ours"].append(profiler["measure_bandwidth"](size, copy, repeats=10))
            for line in _stream(stream, size, threads):
                kernel, speed = line.split()
                found.setdefault(kernel, []).append(float(speed))
        reference = max(found.get("plain", [0.0]))
        for kernel in list(found)[1:]:
            print_row(f"STREAM, {kernel}, threads {threads}", found[kernel], reference)
        print_row(f"measure_bandwidth, threads {threads}", found["ours"], reference, "0.85 to 1.15")


def _stream(program: Path | None, size: int, threads: int) -> list[str]:
    if program is None:
        return []
    command = [str(program), str(size), "10", str(threads)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true"}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return ran.stdout.splitlines()


def print_sweep(profiler: dict) -> None:
    """Print copies on one thread from 64 KB to main memory, and the drop at each cache."""
    measure, caches = profiler["measure_bandwidth"], this_machine().caches
    sizes = [2**k for k in range(16, 30)]
    repeats = {size: max(3, min(2000, 2**28 // size)) for size in sizes}
    found = in_turns({s: lambda s=s: measure(s, repeats=repeats[s]) for s in sizes})
    head("copies on one thread, GB/s")
    for size, values in found.items():
        print_row(in_bytes(size), values, 0.0)
    points = [(s, min(v), median(v), max(v)) for s, v in found.items()]
    for cache, inside, outside, drop in drops(points, caches):
        kind = "a drop" if drop else "no drop beyond the spread"
        print(
            f"  L{cache.level} of {in_bytes(cache.size)}: in it {inside / 1e9:.1f}, "
            f"beyond {outside / 1e9:.1f} GB/s: {kind}"
        )


def main(wanted: list[str]) -> None:
    """Print the parts that are named, or all."""
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        profiler = assembled(through=6)
        print(
            f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
            f"numpy {np.__version__}"
        )
        print(this_machine().sentences())
        if not wanted or "peak" in wanted:
            print_peak(profiler)
        if not wanted or "memory" in wanted:
            print_memory(profiler, folder)
        if not wanted or "sweep" in wanted:
            print_sweep(profiler)
        print(f"load at the end: {this_machine().load}")


if __name__ == "__main__":
    with recording(__file__, "Roofs: of this machine"):
        main(sys.argv[1:])
