"""A loader with real worker processes, by the rule of torch's DataLoader; loading is sleeping."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Epoch:
    """What was measured: ms in total and waiting, each batch's loading, and who loaded it."""

    total_ms: float
    wait_ms: float
    load_ms: list[float]
    worker: list[int]


def run_epoch(load_ms: list[float], step_ms: float, workers: int, prefetch: int) -> Epoch:
    """Load batches in so many processes, take each in order, and sleep for a step on each."""
    context = multiprocessing.get_context("fork")
    done = context.SimpleQueue()
    asked = [context.SimpleQueue() for _ in range(workers)]
    processes = [
        context.Process(target=_work, args=(n, asked[n], done, load_ms), daemon=True)
        for n in range(workers)
    ]
    for process in processes:
        process.start()
    for _ in processes:
        done.get()  # each has begun
    try:
        return _train(len(load_ms), step_ms, asked, done, prefetch)
    finally:
        for queue in asked:
            queue.put(None)
        for process in processes:
            process.join()


def _train(count: int, step_ms: float, asked: list, done: Any, prefetch: int) -> Epoch:
    numbers = iter(range(count))
    arrived: dict[int, tuple[int, float]] = {}
    wait = 0.0

    def ask() -> None:
        number = next(numbers, None)
        if number is not None:
            asked[number % len(asked)].put(number)

    start = time.monotonic()
    for _ in range(len(asked) * prefetch):
        ask()
    for number in range(count):
        ready = time.monotonic()
        while number not in arrived:
            batch, worker, ms = done.get()
            arrived[batch] = worker, ms
        wait += time.monotonic() - ready
        ask()
        time.sleep(step_ms / 1000)
    total = 1000 * (time.monotonic() - start)
    return Epoch(
        total,
        1000 * wait,
        [arrived[n][1] for n in range(count)],
        [arrived[n][0] for n in range(count)],
    )


def _work(worker: int, asked: Any, done: Any, load_ms: list[float]) -> None:
    done.put(None)
    while (number := asked.get()) is not None:
        start = time.monotonic()
        time.sleep(load_ms[number] / 1000)
        done.put((number, worker, 1000 * (time.monotonic() - start)))
