"""Doubles that take time on a scripted clock: exact, and over at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from proflab.lesson.doubles.clocks import clocks_replaced
from proflab.lesson.doubles.double import Double
from proflab.lesson.doubles.scripts import ClockScript, ModelScript, RateScript

T = TypeVar("T")


class Clock(Double):
    """A scripted clock, `Clock(tick_ns=1, read_ns=0)`: nobody waits while its time passes.

    Under `run`, every clock of `time` and `timeit` reads the script, wherever it was imported to.
    `perf_counter` and `monotonic` are right, to a tick of tick_ns; each reading takes read_ns. They
    begin at 1,000 s, or at start_ns: a clock may show 0.
    `time.time` is set back by 1.5 s at every reading; `process_time` and `thread_time` stand still;
    `sleep` lets its time pass.

    >>> clock, read = Clock(), lambda: time.perf_counter()
    >>> before, _ = clock.run(read), clock.run(lambda: time.sleep(2))
    >>> clock.run(read) - before
    2.0
    """

    Script = ClockScript

    def run(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Call function(*args, **options) under this clock; time is back to real afterwards."""
        with clocks_replaced(_clocks(self._script), function):
            return function(*args, **options)

    def advance(self, ms: float) -> None:
        """Let `ms` milliseconds pass. Raises ValueError for a negative number.

        >>> clock, read = Clock(), lambda: time.monotonic()
        >>> before, _ = clock.run(read), clock.advance(250)
        >>> clock.run(read) - before
        0.25
        """
        self._script.advance(round(ms * 1e6))

    @property
    def readings(self) -> int:
        """Return how often it was read."""
        return self._script.readings


class Model(Double):
    """A model that takes the times of its script: `Model(clock, ms=[4.0, 5.0], cold_ms=[90.0])`.

    Call i takes cold_ms[i] milliseconds, later ones those of ms in turns. It returns its input.

    >>> clock = Clock()
    >>> model = Model(clock, ms=[250.0], cold_ms=[1000.0])
    >>> clock.run(lambda: [(model("x"), time.perf_counter())[1] for _ in range(3)])
    [1001.0, 1001.25, 1001.5]
    """

    Script = ModelScript

    def __call__(self, x: Any = None) -> Any:
        """Return x; the time of one call passes."""
        self._script.call()
        return x

    forward = __call__

    @property
    def calls(self) -> int:
        """Return how often it was called."""
        return self._script.calls

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Yield nothing: it has no weights."""
        return iter(())

    def train(self, mode: bool = True) -> Model:
        """Return itself, as a Module does: there is no mode."""
        return self

    def eval(self) -> Model:
        """Return itself, as a Module does: there is no mode."""
        return self


class _Worker(Double):
    """A double that does so much work a call, at scripted rates."""

    Script = RateScript

    @property
    def calls(self) -> int:
        """Return how often it was called."""
        return self._script.calls

    @property
    def amounts(self) -> list[int]:
        """Return how much work each call was."""
        return list(self._script.amounts)


class Matmul(_Worker):
    """A matmul of scripted speed: `Matmul(clock, per_second=[2e11, 1e11])`, in FLOP/s, in turns.

    `matmul(a, b, out=None)` is (m, k) times (k, n), returns zeros, and takes 2 · m · k · n FLOPs.

    >>> clock = Clock()
    >>> matmul = Matmul(clock, per_second=[64.0])
    >>> clock.run(lambda: (matmul(np.ones((2, 4)), np.ones((4, 8))).shape, time.perf_counter()))
    ((2, 8), 1002.0)
    """

    def __call__(self, a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return zeros (m, n); a product's time passes. Raises ValueError for other shapes."""
        if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
            raise ValueError(f"no matrix product of {a.shape} and {b.shape}")
        (m, k), n = a.shape, b.shape[1]
        self._script.work(2 * m * k * n)
        return np.zeros((m, n), np.result_type(a, b)) if out is None else out


class Copy(_Worker):
    """A copy of scripted speed: `Copy(clock, per_second=[5e10])`, in bytes/s, in turns.

    `copy(dst, src)`, as numpy's copyto, reads each byte of src and writes as many.

    >>> clock = Clock()
    >>> copy = Copy(clock, per_second=[16.0])
    >>> clock.run(lambda: (copy(np.empty(3), np.ones(3)), time.perf_counter()))
    (None, 1003.0)
    """

    def __call__(self, dst: np.ndarray, src: np.ndarray) -> None:
        """Let the time of one copy pass. Raises ValueError when the sizes differ."""
        if dst.nbytes != src.nbytes:
            raise ValueError(f"{src.nbytes} bytes do not fill {dst.nbytes}")
        self._script.work(2 * src.nbytes)


def _clocks(script: Any) -> dict[str, Callable]:
    """Return what stands in for each function of `time`."""

    def seconds(kind: str) -> Callable[[], float]:
        return lambda: script.read(kind) / 1e9

    def nanoseconds(kind: str) -> Callable[[], int]:
        return lambda: script.read(kind)

    kinds = {
        "perf_counter": "monotonic",
        "monotonic": "monotonic",
        "time": "wall",
        "process_time": "cpu",
        "thread_time": "cpu",
    }
    clocks: dict[str, Callable] = {name: seconds(kind) for name, kind in kinds.items()}
    clocks |= {f"{name}_ns": nanoseconds(kind) for name, kind in kinds.items()}
    clocks["clock_gettime"] = lambda number: script.read(_kind_of(number)) / 1e9
    clocks["clock_gettime_ns"] = lambda number: script.read(_kind_of(number))
    clocks["sleep"] = lambda seconds: script.advance(round(seconds * 1e9))
    return clocks


def _kind_of(number: int) -> str:
    if number == time.CLOCK_REALTIME:
        return "wall"
    names = ("CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID")
    return "cpu" if number in [getattr(time, name, None) for name in names] else "monotonic"
