"""Run and draw loaders, formats, numpy in pieces and fixes for the demo cells of lesson 09.

Nothing here does what an exercise asks for.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from slow_training import Images, attend, batches, begin, load, slow_step

from proflab import Tensor
from proflab.lesson import machine, noise
from proflab.lesson.demo import demo_size, progress_bar
from proflab.lesson.hardware import Hardware
from proflab.lesson.measuring import best_time, on_threads
from proflab.lesson.plot import COLOURS, INK, QUIET, Picture, bars, canvas


def roofs() -> Hardware:
    """Return the roofs of this machine on one thread, measured in a moment."""
    size = demo_size(768, 128)
    a, source = np.ones((size, size), np.float32), np.ones(demo_size(2**24, 2**20), np.float32)
    target = np.empty_like(source)
    with on_threads(1):
        product = best_time(lambda: a @ a, 5)
        copy = best_time(lambda: np.copyto(target, source), 5)
    return Hardware(
        2 * size**3 / product, 2 * source.nbytes / copy, source="measured on one thread"
    )


def slow_runs(rows_of: Callable) -> list[list[dict]]:
    """Return the rows of several runs of the slow step, each over the same batches."""
    model, state = begin()
    todo = list(batches(state["images"].names, 32, seed=1))[: demo_size(8, 3)]
    runs = []
    with on_threads(1):
        slow_step(model, todo[0], state)  # once, to warm up
        for _ in range(demo_size(5, 2)):
            runs.append(rows_of(lambda: [slow_step(model, batch, state) for batch in todo[1:]]))
            state["losses"].clear()
    return runs


def diagnosed(
    diagnose: Callable, runs: Sequence[Sequence[dict]], hardware: Hardware
) -> list[dict[str, Any]]:
    """Return diagnose's rows for several runs of the same program, with an interval for each.

    Their keys: name, and share and best, noise.Measured; the largest best comes first.
    """
    found = [{row["name"]: row for row in diagnose(rows, hardware)} for rows in runs]
    rows = [
        {"name": name}
        | {key: noise.measured([each[name][key] for each in found]) for key in ("share", "best")}
        for name in found[0]
        if all(name in each for each in found)
    ]
    return sorted(rows, key=lambda row: -row["best"])


# ── loaders ──────────────────────────────────────────────────────────────────────────────────


def _loading(kind: str, count: int) -> Callable[[int], object]:
    """Return a function that loads batch number i: PNG files, or blocks that zlib unpacks."""
    images = Images()
    if kind == "png":
        todo = [images.names[at % 10 * 32 : at % 10 * 32 + 32] for at in range(count)]
        return lambda at: load(images, todo[at])
    pixels = np.stack([images.read(name) for name in images.names[:64]])
    block = zlib.compress(np.tile(pixels, (120, 1, 1)).tobytes(), 6)
    return lambda at: zlib.decompress(block)


def load_times(count: int, kind: str = "png") -> list[float]:
    """Return the ms that each of so many batches takes to load, one after the other.

    kind: "png", the script's own images, decoded in Python; or "zlib", large compressed blocks,
    unpacked in C, where other threads may run meanwhile.
    """
    loading, found = _loading(kind, count), []
    for at in range(count):
        start = time.perf_counter()
        loading(at)
        found.append((time.perf_counter() - start) * 1e3)
    return found


def run_loader(
    workers: int, step_ms: float, count: int, kind: str = "png", prefetch: int = 2
) -> dict[str, Any]:
    """Load so many batches in threads, and return what was waited for, as a dict.

    A step after each batch takes step_ms, in which the main program sleeps, as one that waits for a
    GPU. kind: as for load_times. The dict's keys: total_ms, wait_ms, and spans: for each load, wait
    and step its lane, the batch, and the ms at which it began and ended.
    """
    if workers:
        machine.need("threads", "how much sooner an epoch ends when one or two threads load")
    loading, spans, began = _loading(kind, count), [], time.perf_counter()

    def timed(lane: str, at: int, work: Callable[[], object]) -> None:
        start = time.perf_counter()
        work()
        ends = [(moment - began) * 1e3 for moment in (start, time.perf_counter())]
        spans.append((lane, at, *ends))

    def ask(at: int) -> Any:
        lane = at % workers
        return threads[lane].submit(timed, f"worker {lane}", at, lambda: loading(at))

    with contextlib.ExitStack() as stack:
        threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(workers)]
        asked = [ask(at) for at in range(min(count, workers * prefetch))]
        for at in range(count):
            take = asked[at].result if workers else lambda at=at: loading(at)
            timed("wait", at, take)
            if workers and len(asked) < count:
                asked.append(ask(len(asked)))
            timed("step", at, lambda: time.sleep(step_ms / 1e3))
        total = (time.perf_counter() - began) * 1e3
    waits = sum(end - start for lane, _, start, end in spans if lane == "wait")
    return {"total_ms": total, "wait_ms": waits, "spans": sorted(spans, key=lambda s: s[2])}


def tell_on_one_processor(step_ms: float, count: int, **how: Any) -> None:
    """Print how long run_loader takes with two threads of zlib that share one processor.

    how: as for noise.tell. Where the system pins no thread, the line says so.
    """
    what, free = "zlib, threads: 2, pinned to one processor (as by taskset or numactl)", set[int]()
    try:
        free = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(free)})  # the threads that begin here inherit it
    except (AttributeError, OSError):
        print(f"{what}: this system pins no thread")
        return
    try:
        found = [run_loader(2, step_ms, count, "zlib") for _ in range(demo_size(5, 2))]
    finally:
        os.sched_setaffinity(0, free)
    noise.tell(f"{what}; measured", [run["total_ms"] for run in found], "ms", **how)


def planned(
    owners: Sequence[int], load_ms: Sequence[float], room: int, step_ms: float
) -> list[tuple[str, int, float, float]]:
    """Return the spans of an epoch by a plan, as run_loader has them; owners: of each batch."""
    spans: list[tuple[str, int, float, float]] = []
    free, taken, now = dict.fromkeys(owners, 0.0), [0.0] * len(owners), 0.0
    for at, (owner, ms) in enumerate(zip(owners, load_ms, strict=True)):
        begun = max(free[owner], taken[at - room] if at >= room else 0.0)
        free[owner] = begun + ms
        spans.append((f"worker {owner}", at, begun, free[owner]))
        taken[at] = max(now, free[owner])
        spans.append(("wait", at, now, taken[at]))
        now = taken[at] + step_ms
        spans.append(("step", at, taken[at], now))
    return spans


def timeline(spans: Sequence[tuple[str, int, float, float]], title: str) -> Picture:
    """Draw the spans of run_loader: a lane for each worker, and one for the main program."""
    workers = sorted({lane for lane, *_ in spans if lane.startswith("worker")})
    lanes = [*workers, "main program"]
    waits = sum(end - start for lane, _, start, end in spans if lane == "wait")
    said = f"{len(workers)} workers; the main program waits {waits:.0f} of {spans[-1][3]:.0f} ms"
    with canvas(8.5, 1.1 + 0.5 * len(lanes), f"{title}: {said}") as (picture, axes):
        for lane, at, start, end in spans:
            row = lanes.index(lane) if lane in lanes else len(lanes) - 1
            colour = {"step": COLOURS[0], "wait": "white"}.get(lane, COLOURS[1])
            axes.barh(row, end - start, 0.7, start, color=colour, edgecolor=INK, lw=0.6)
            if lane != "wait" and end - start > spans[-1][3] / 45:
                middle, ink = (start + end) / 2, "white" if lane == "step" else INK
                axes.text(middle, row, str(at), ha="center", va="center", fontsize=8, color=ink)
        for label, colour in (("load", COLOURS[1]), ("step", COLOURS[0]), ("wait", "white")):
            axes.plot([], [], "s", color=colour, mec=INK, mew=0.6, ms=9, label=label)
        axes.legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1, 1), fontsize=9)
        axes.set_yticks(range(len(lanes)), lanes)
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.set(xlabel="ms; numbers are batches", xlim=(0, None))
        axes.set_title(title)
    return picture


# ── formats ──────────────────────────────────────────────────────────────────────────────────


def digit_images() -> np.ndarray:
    """Return the script's images as colours from 0 to 255, in float32."""
    images = Images()
    pixels = np.stack([images.read(name) for name in images.names])
    return (pixels * (255 / pixels.max())).astype(np.float32)


def losses(pixels: np.ndarray) -> dict[str, tuple[list[tuple[str, Callable]], np.ndarray]]:
    """Return losses as (name, function) pairs of their ops, and what they are computed of."""
    error = [("square", np.square), ("sum", lambda e: e.reshape(len(e), -1).sum(1))]
    error.append(("mean", np.mean))
    scores = pixels.reshape(len(pixels), -1)[:, :10] / 8  # as a classifier's scores, up to 32
    return {
        "squared error, colours to 255": (error, pixels),
        "the same, colours to 1": (error, pixels / 255),
        "log of the sum of exp": (
            [("exp", np.exp), ("sum", lambda e: e.sum(1)), ("log", np.log), ("mean", np.mean)],
            scores,
        ),
        "the same, less the largest": (
            [
                ("less", lambda s: s - s.max(1, keepdims=True)),
                ("exp", np.exp),
                ("sum", lambda e: e.sum(1)),
                ("log", np.log),
                ("mean", np.mean),
            ],
            scores,
        ),
    }


def run_in(kind: type, ops: Sequence[tuple[str, Callable]], x: np.ndarray) -> float:
    """Return a loss with all of its ops in one type."""
    with np.errstate(all="ignore"):
        return float(functools.reduce(lambda value, op: op[1](value), ops, x.astype(kind)))


def formats(count: int) -> list[dict[str, Any]]:
    """Write so many images in several formats to this disk, read them back, and return rows.

    The last two rows need h5py, and a folder that the system keeps in memory.
    The keys of a row: format; mb, in MB of 1024² bytes on the disk; cold_ms, to read all when no
    page of them is in memory, or None where the system cannot tell; warm_ms, to read all once more;
    one_ms, for one image, warm.
    """
    images = Images()
    pixels = np.stack([images.read(name) for name in images.names[: min(count, 360)]])
    pixels = np.resize(pixels, (count, *pixels.shape[1:]))
    ways = FORMATS | ({"HDF5": _hdf5} if importlib.util.find_spec("h5py") else {})
    with _folder() as folder:
        rows = [_measured(name, *way(folder, pixels), count) for name, way in ways.items()]
    if os.access(TMPFS, os.W_OK):
        with tempfile.TemporaryDirectory(prefix="formats-", dir=TMPFS) as memory:
            way = _a_file_each(Path(memory), pixels)
            rows.append(_measured("a file each, tmpfs", *way, count))
    return rows


def loaders(path: str = "loaders.json") -> Iterator[str]:
    """Give lines that say what options of a loader change, what was measured, and by whom.

    At the end, what persistent_workers saves of two processes here.
    """
    for row in json.loads(Path(path).read_text("utf-8")):
        yield "{option}: {changes}\n    {measured}\n    ({by})".format(**row)
        yield f"    licence: {row['licence']}"
        if row["link"]:
            yield f"    {row['link']}"
    yield from _told_of_workers()


_WORKER = "import sys, numpy\nfor path in sys.stdin: print(numpy.load(path[:-1]).sum(), flush=True)"


def worker_epochs(
    kept: bool, workers: int = 2, epochs: int = 3, images: int = 48
) -> tuple[list[float], set[float]]:
    """Return the ms of each epoch in worker processes, and the sums of all pixels that they read.

    kept: the processes stay for the next epoch, as with persistent_workers; else each epoch begins
    its own. Each imports numpy and reads its share of the images' files. Raises NotHere where this
    Python starts no process.
    """
    machine.need("processes", "what it saves to keep worker processes")
    times, sums = [], set()
    with _folder() as folder, contextlib.ExitStack() as stack:
        paths, _, _ = _a_file_each(folder, np.ones((images, 28, 28), np.uint8))
        shares = [[f"{path}\n" for path in paths[at::workers]] for at in range(workers)]
        processes: list[subprocess.Popen] = []
        for _ in range(epochs):
            start = time.perf_counter()
            processes = processes or [stack.enter_context(_begin_worker()) for _ in shares]
            for process, share in zip(processes, shares, strict=True):
                process.stdin.writelines(share)
                process.stdin.flush()
            read = [p.stdout.readline() for p, s in zip(processes, shares, strict=True) for _ in s]
            sums.add(sum(map(float, read)))
            if not kept:
                stack.close()
                processes = []
            times.append((time.perf_counter() - start) * 1e3)
    return times, sums


def _begin_worker() -> subprocess.Popen:
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    return subprocess.Popen([sys.executable, "-c", _WORKER], text=True, **pipes)


def _told_of_workers() -> Iterator[str]:
    """Give a line on epochs whose processes begin anew, and on epochs whose processes stay."""
    yield "two worker processes, on this machine, ms of the first three epochs"
    if not machine.can("processes"):
        yield "    this Python starts no process"
        return
    for what, kept in {"begun anew each epoch": False, "kept for the next": True}.items():
        times, _ = worker_epochs(kept)
        yield f"    {what:<22}" + "".join(f"{ms:8.1f}" for ms in times)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Give a folder on the reader's disk: here, or where temporary files go.

    In a browser it is the second, for files beside a notebook cannot be mapped there.
    """
    here = "." if os.access(".", os.W_OK) and machine.can("processes") else None
    with tempfile.TemporaryDirectory(prefix=".formats-", dir=here) as folder:
        yield Path(folder)


def _a_file_each(folder: Path, pixels: np.ndarray) -> tuple:
    paths = [folder / f"{at}.npy" for at in range(len(pixels))]
    for path, image in zip(paths, pixels, strict=True):
        np.save(path, image)
    return paths, lambda: [np.load(path) for path in paths], lambda at: np.load(paths[at])


def _one_array(folder: Path, pixels: np.ndarray) -> tuple:
    np.save(path := folder / "all.npy", pixels)
    return [path], lambda: np.load(path), lambda at: np.load(path)[at]


def _mapped(folder: Path, pixels: np.ndarray) -> tuple:
    np.save(path := folder / "mapped.npy", pixels)
    lazily = lambda: np.load(path, mmap_mode="r")  # noqa: E731
    opened = functools.cache(lazily)  # a training maps the file once
    return [path], lambda: lazily().sum(), lambda at: np.array(opened()[at])


def _compressed(folder: Path, pixels: np.ndarray) -> tuple:
    np.savez_compressed(path := folder / "all.npz", pixels=pixels)
    return [path], lambda: np.load(path)["pixels"], lambda at: np.load(path)["pixels"][at]


def _hdf5(folder: Path, pixels: np.ndarray) -> tuple:
    import h5py

    with h5py.File(path := folder / "all.h5", "w") as file:
        file["pixels"] = pixels

    def read(which: Any) -> np.ndarray:
        with h5py.File(path) as file:
            return file["pixels"][which]

    return [path], lambda: read(slice(None)), read


FORMATS = {
    "a file each": _a_file_each,
    "one array": _one_array,
    "memory-mapped": _mapped,
    "compressed": _compressed,
}
TMPFS = "/dev/shm"  # files there are memory, on Linux


def _measured(name: str, paths: list[Path], whole: Callable, one: Callable, count: int) -> dict:
    cold = best_time(whole, 1) * 1e3 if _forgotten(paths) else None
    chosen = np.random.default_rng(0).integers(0, count, 5)
    return {
        "format": name,
        "mb": sum(_size(path.stat()) for path in paths) / 1024**2,
        "cold_ms": cold,
        "warm_ms": best_time(whole, 3) * 1e3,
        "one_ms": median(best_time(lambda at=at: one(at), 1) * 1e3 for at in chosen),
    }


def _size(stat: os.stat_result) -> int:
    return getattr(stat, "st_blocks", 0) * 512 or stat.st_size


def _forgotten(paths: Sequence[Path]) -> bool:
    """Ask the system to drop these files from memory; return True if it did so with the first."""
    if not all(hasattr(os, name) for name in ("posix_fadvise", "preadv", "RWF_NOWAIT")):
        return False
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    try:
        with open(paths[0], "rb", buffering=0) as file:
            os.preadv(file.fileno(), [bytearray(64)], 0, os.RWF_NOWAIT)
    except OSError as error:  # EAGAIN: not in memory; anything else: the system cannot tell
        return error.errno == errno.EAGAIN
    return False


# ── numpy in pieces ──────────────────────────────────────────────────────────────────────────


def in_blocks(pieces: Sequence[int | None]) -> dict[int | None, noise.Measured]:
    """Return the ms of four elementwise ops on a large array, whole (None) or in such pieces."""
    size = demo_size(2**24, 2**18)
    x, other = np.ones(size, np.float32), np.full(size, 0.5, np.float32)
    result = np.empty_like(x)

    def run(piece: int) -> None:
        for start in range(0, size, piece):
            part = slice(start, start + piece)
            shifted = x[part] + np.float32(0.1)
            positive = np.maximum(shifted, 0)
            scaled = positive * np.float32(1.25)
            np.add(scaled, other[part], out=result[part])

    found: dict[int | None, list[float]] = {piece: [] for piece in pieces}
    for _ in progress_bar(range(demo_size(5, 1))):
        for piece in pieces:
            found[piece].append(best_time(lambda: run(piece or size), 1) * 1e3)  # noqa: B023
    return {piece: noise.measured(times) for piece, times in found.items()}


def draw_pieces(ms: dict[int | None, noise.Measured]) -> Picture:
    """Draw what in_blocks measured."""
    named = {f"{piece:,} numbers" if piece else "whole arrays": t for piece, t in ms.items()}
    title = "Four elementwise ops, in pieces"
    return bars(named, unit="ms", title=title, show="{:.0f} ms".format)


# ── fixes ────────────────────────────────────────────────────────────────────────────────────

WAYS = {  # what is fixed: the faults that are put back into the step without any
    "loading": ("attention", "losses"),
    "attention": ("loading", "losses"),
    "losses": ("loading", "attention"),
    "loading, attention": ("losses",),
    "all three": (),
    "all, first epoch": ("loading",),  # nothing has been decoded yet
}


class _SlowAttention:
    """A model that uses the slow attention, whatever it is asked for, and may keep its scores."""

    def __init__(self, model: Any, slow: bool, kept: list | None) -> None:
        self._model, self._slow, self._kept = model, slow, kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def __call__(self, tokens: Tensor, *ways: Any, **named: Any) -> Tensor:
        scores = self._model(tokens, attend) if self._slow else self._model(tokens, *ways, **named)
        if self._kept is not None:
            self._kept.append(scores)
        return scores


def with_faults(step: Callable, faults: Sequence[str]) -> Callable:
    """Return a step that does what this one does, and has some of the three faults again."""
    kept: list | None = [] if "losses" in faults else None

    def faulty(model: Any, batch: list[str], state: dict[str, Any]) -> float:
        if "loading" in faults:
            load(state["images"], batch)
        with _keeping_graphs() if kept is not None else contextlib.nullcontext():
            return step(_SlowAttention(model, "attention" in faults, kept), batch, state)

    return faulty


@contextlib.contextmanager
def _keeping_graphs() -> Iterator[None]:
    """Let a backward pass free nothing."""
    honest = Tensor.backward
    Tensor.backward = lambda self, *given, **named: honest(
        self, *given, **(named | {"retain_graph": True})
    )
    try:
        yield
    finally:
        Tensor.backward = honest


def time_fixes(
    fixed_step: Callable,
    rounds: int,
    run_order: Callable,
    speedup_interval: Callable,
    clock: Callable[[], float] = time.perf_counter,
) -> list[dict[str, Any]]:
    """Return rows (name, speedup, low, high): each fix alone, two, and all, over slow_step.

    The last row is the first epoch of a step with all fixes: its images are still to be decoded.

    rounds: how often each step is timed, on three batches in turn, after it has met each of them
    once: so the images are known, as in each epoch but the first. The steps follow run_order, on
    one thread; what is compared is paired, by speedup_interval. Steps that keep their graphs keep
    them all this while: some 17 MB a round.
    """
    steps = {"slow": slow_step} | {n: with_faults(fixed_step, put) for n, put in WAYS.items()}
    times = _time_steps(steps, rounds, run_order, clock)
    slow = times.pop("slow")
    return [{"name": n, **speedup_interval(slow, found)} for n, found in times.items()]


def largest_difference(step: Callable, steps: int = 5) -> float:
    """Return the largest difference between the losses of slow_step and of a step."""
    runs = {each: begin() for each in (slow_step, step)}
    given = list(batches(Images().names, 32, seed=0))[:steps]
    losses = [[run(model, batch, state) for batch in given] for run, (model, state) in runs.items()]
    return max(abs(one - other) for one, other in zip(*losses, strict=True))


def speedup(
    fixed_step: Callable, run_order: Callable, speedup_interval: Callable
) -> noise.Measured:
    """Return how many times as fast as slow_step a step is: six rounds, as in time_fixes."""
    steps = {"slow": slow_step, "fixed": fixed_step}
    times = _time_steps(steps, 6, run_order, time.perf_counter)
    found = speedup_interval(times["slow"], times["fixed"])
    return noise.Measured(found["speedup"], found["low"], found["high"], noise.is_busy())


def _time_steps(
    steps: dict[str, Callable], rounds: int, run_order: Callable, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Return the ms of each step, round by round, on three batches that it has met before.

    By time.perf_counter where the clock's steps are coarse.
    """
    clock = machine.steady(clock)
    runs = {name: (step, *begin()) for name, step in steps.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    rounds = max(6, rounds) + max(6, rounds) % 2
    given = list(batches(Images().names, 32, seed=0))[:3]
    with on_threads(1):
        for name in [*runs] * len(given) + run_order(list(runs), rounds):
            step, model, state = runs[name]
            batch = given[len(times[name]) % len(given)]
            start = clock()
            step(model, batch, state)
            times[name].append((clock() - start) * 1e3)
    return {name: found[len(given) :] for name, found in times.items()}


def waterfall(rows: Sequence[dict[str, Any]], title: str, caption: str = "") -> Picture:
    """Draw how one fix after the other makes a step faster, with intervals; and each fix alone.

    rows: those of time_fixes. caption: a line below, such as the machine on which they were timed.
    """
    by = {row["name"]: row for row in rows}
    order = {"loading": "loading", "loading, attention": "+ attention", "all three": "+ losses"}
    said = "; ".join("{name} {speedup:.2f} ({low:.2f} to {high:.2f})".format(**row) for row in rows)
    with canvas(7.5, 3.2, f"{title}. {said}. {caption}".rstrip(" .")) as (picture, axes):
        before = 1.0
        for at, name in enumerate(order):
            row, alone = by[name], by[("loading", "attention", "losses")[at]]
            now = row["speedup"]
            axes.barh(at, now - before, 0.6, before, color=COLOURS[0], zorder=2)
            axes.plot([row["low"], row["high"]], [at, at], color=INK, lw=2, zorder=3)
            axes.plot([alone["speedup"]], [at], "D", mfc="white", mec=INK, ms=7, zorder=4)
            far = max(now, row["high"], alone["speedup"])
            axes.annotate(f"{now:.2f}×", (far, at), (8, 0), textcoords="offset points", va="center")
            if at + 1 < len(order):
                axes.plot([now, now], [at, at + 0.7], color=QUIET, lw=0.8, zorder=1)
            before = now
        axes.plot([], [], "D", mfc="white", mec=INK, ms=7, label="this fix alone")
        axes.plot([], [], color=INK, lw=2, label="interval")
        axes.legend(facecolor="white", edgecolor="none", framealpha=1, loc="upper right")
        axes.axvline(1, color=QUIET, lw=1.2, ls=(0, (4, 3)), zorder=0)
        ends = [row[end] for row in rows for end in ("low", "high")]
        axes.set_xlim(min(0.8, *ends), 1.12 * max(ends))
        axes.set_yticks(range(3), list(order.values()))
        axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()
        axes.set(xlabel="\n".join(filter(None, ("times as fast as the slow step", caption))))
        axes.set_title(title)
    return picture
