"""Doubles for memory: a model of exactly so many bytes, a step that leaks, a scripted process.

What they allocate is allocated, in blocks that are never touched: tracemalloc counts them in full,
and no machine has to have them. Sizes are MB of 1024² bytes.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import linecache
import os
import re
import sys
import tracemalloc
from collections import namedtuple
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from proflab import Function, Tensor, nn

MB = 1024**2


def block(mb: float) -> np.ndarray:
    """Return a float32 array (n,) of so many MB whose elements are never looked at.

    >>> block(2).nbytes == 2 * MB
    True
    """
    return np.empty(int(mb * MB) // 4, np.float32)


class _Keep(Function):
    """Allocates three blocks: one for the graph, one for the output, one for a moment."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, graph: float, output: float, scratch: float):
        ctx.save_for_backward(Tensor(block(graph)))
        result = Tensor(block(output))
        block(scratch)
        return result


class Allocating(nn.Module):
    """A model of so many MB: its parameters, what a pass keeps for backward, its output, and what
    it needs in passing beside these. `shapes` lists its inputs' shapes, one for each call.

    >>> model = Allocating(parameters_mb=3, output_mb=2)
    >>> model.weight.nbytes / MB, model(Tensor([1.0])).nbytes / MB, model.shapes
    (3.0, 2.0, [(1,)])
    """

    def __init__(
        self,
        parameters_mb: float = 0.0,
        graph_mb: float = 0.0,
        output_mb: float = 0.0,
        scratch_mb: float = 0.0,
    ) -> None:
        self.weight = nn.Parameter(Tensor(block(parameters_mb)))
        self.sizes = graph_mb, output_mb, scratch_mb
        self.shapes: list[tuple[int, ...]] = []

    def forward(self, x: Tensor) -> Tensor:
        """Return the output, of output_mb; x is left alone."""
        self.shapes.append(x.shape)
        return _Keep.apply(x, self.weight, *self.sizes)


_BODIES = {
    "freed": "np.empty(size, np.uint8)",
    "replaced": "kept['{name}'] = np.empty(size, np.uint8)",
    "once": "kept['{name}'] = kept['{name}'] if '{name}' in kept else np.empty(size, np.uint8)",
    "kept": "kept.setdefault('{name}', []).append(np.empty(size, np.uint8))",
    "kept_by_halves": "kept.setdefault('{name}', []).append(np.empty(size // 2, np.uint8))\n"
    "    kept['{name}'].append(np.empty(size // 2, np.uint8))",
    "kept_by_lines": "pieces = kept.setdefault('{name}', [])\n"
    + "    pieces.append(np.empty(size // 40, np.uint8))\n" * 40,
    "kept_in_pieces": "pieces = kept.setdefault('{name}', [])\n"
    "    pieces.extend(bytes(983) for _ in range(size // 1024))",  # with header and place: 1,024
    "through_numpy": "kept.setdefault('{name}', []).append(np.full(size, 1, np.uint8))",
}
_numbers = itertools.count(1)


class LeakyStep:
    """A step that calls functions of the names given, each allocating so many MB at every call.

    kept: what it allocates stays; kept_by_halves: on two lines; kept_by_lines: on forty;
    kept_in_pieces: in Python objects of 1 KB; through_numpy: by Python code of numpy. replaced: it
    stays until the next step. once: only the first call allocates, and that stays. freed: it is
    gone when the function returns. `calls` counts the steps; that with the number `fails_at` raises
    a KeyError after all functions have run.

    >>> step = LeakyStep(kept={"keep": 0.25}, freed={"scratch": 8.0})
    >>> step(), step(), step.calls, [len(blocks) for blocks in step.kept.values()]
    (None, None, 2, [2])
    """

    def __init__(self, fails_at: int = 0, **functions: dict[str, float]) -> None:
        self.calls, self.fails_at = 0, fails_at
        self.kept: dict[str, Any] = {}
        self.functions = [
            (_function(name, kind), mb)
            for kind, sizes in functions.items()
            for name, mb in sizes.items()
        ]

    def __call__(self) -> None:
        self.calls += 1
        for function, mb in self.functions:
            function(self.kept, int(mb * MB))
        if self.calls == self.fails_at:
            raise KeyError(f"step {self.calls}")


def holding(name: str, function: Callable, *arguments: Any) -> Callable[[], None]:
    """Return a step, named `name`, that appends function(*arguments) to a list for good.

    >>> step = holding("keep_losses", print, "a loss")
    >>> step(), step.__name__
    a loss
    (None, 'keep_losses')
    """
    text = f"def {name}():\n    results.append(function(*arguments))\n"
    return _define(name, text, {"function": function, "arguments": arguments, "results": []})


def _function(name: str, kind: str) -> Callable[[dict, int], None]:
    text = f"def {name}(kept, size):\n    {_BODIES[kind].format(name=name)}\n"
    return _define(name, text, {"np": np})


def _define(name: str, text: str, scope: dict[str, Any]) -> Callable:
    """Return a function made from text, in a file of its own that tracebacks can show."""
    file = f"<step {next(_numbers)}, {name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), scope)
    return scope[name]


_Info = namedtuple("_Info", "rss vms shared text lib data dirty uss pss swap")


class Resident:
    """This process, with a resident memory of `mb`, in whatever way psutil is asked for it.

    `resident.run(function, …)` calls it so; the function may set `resident.mb` meanwhile. Other
    figures (vms, uss, …) are others, and other processes are what they are. Hidden cases run in a
    fork of the notebook's process: the process in which this was made is this process, too, so that
    a psutil.Process may have been made before the fork.

    >>> import psutil
    >>> resident = Resident(mb=100)
    >>> resident.run(lambda: psutil.Process().memory_info().rss / MB)
    100.0
    """

    def __init__(self, mb: float = 0.0) -> None:
        self.mb, self.made_in = mb, os.getpid()

    def each(self, function: Callable, script: Iterable[tuple[str, float]]) -> None:
        """Call function(label) for each (label, mb) of the script, while it has so many MB.

        >>> import psutil
        >>> read = lambda label: print(label, psutil.Process().memory_info().rss / MB)
        >>> Resident().each(read, [("before", 10), ("after", 30)])
        before 10.0
        after 30.0
        """
        for label, self.mb in script:
            self.run(function, label)

    def run(self, function: Callable, *arguments: Any, **options: Any) -> Any:
        """Return function(*arguments, **options); psutil is as before afterwards."""
        import psutil

        # What every psutil.Process asks, also one that was made, or imported by name, before.
        system = type(psutil.Process()._proc)
        scripted = {
            (system, "memory_info"): self._memory_info,
            (system, "memory_full_info"): self._memory_info,
            (psutil.Process, "__init__"): self._init,
        }
        before = {(owner, name): getattr(owner, name) for owner, name in scripted}
        try:
            for place, stand_in in scripted.items():
                setattr(*place, stand_in(before[place]))
            return function(*arguments, **options)
        finally:
            for place, real in before.items():
                setattr(*place, real)

    def _memory_info(self, real: Callable) -> Callable:
        def memory_info(process: Any) -> Any:
            if process.pid not in (os.getpid(), self.made_in):
                return real(process)
            size = int(self.mb * MB)
            return _Info(size, 3 * size, size // 4, MB, 0, 2 * size, 0, size // 2, size // 2, 0)

        return memory_info

    def _init(self, real: Callable) -> Callable:
        """Take the pid of before the fork for this process's: it may be gone, or out of sight."""

        def init(process: Any, pid: int | None = None) -> None:
            real(process, os.getpid() if pid == self.made_in else pid)

        return init


class Tracker:
    """Stands for a MemoryTracker that is right, in tests of what uses one: for one block at a time.

    It starts tracing afresh, so what another tracker has counted until then is lost; afterwards
    tracing is on if it was.

    >>> with Tracker() as tracker:
    ...     kept = block(2)
    >>> round(tracker.peak_mb, 1), round(tracker.current_mb, 1)
    (2.0, 2.0)
    """

    def __init__(self, frames: int = 1) -> None:
        self.frames = frames
        self.peak_mb = self.current_mb = 0.0

    def start(self) -> None:
        """Trace from here on."""
        self._depth = tracemalloc.get_traceback_limit() if tracemalloc.is_tracing() else 0
        tracemalloc.stop()
        tracemalloc.start(self.frames)

    def stop(self) -> None:
        """Set current_mb and peak_mb; go on tracing if it was on at the start."""
        self.current_mb, self.peak_mb = (n / MB for n in tracemalloc.get_traced_memory())
        tracemalloc.stop()
        if self._depth:
            tracemalloc.start(self._depth)

    def __enter__(self) -> Tracker:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


def using(function: Callable, **names: Any) -> Callable:
    """Return the function as it is when the notebook's `names` are these, not the reader's own.

    So that a slip in one exercise does not show in the tests of the next.

    >>> scope = {"unit": 10}
    >>> exec("def scaled(n):\\n    return n * unit", scope)
    >>> using(scope["scaled"], unit=2)(3), scope["scaled"](3)
    (6, 30)
    """
    plain = inspect.unwrap(getattr(function, "func", function))
    scope = getattr(plain, "__globals__", vars(sys.modules["__main__"]))

    def replaced(*arguments: Any, **options: Any) -> Any:
        before = {name: scope[name] for name in names if name in scope}
        scope.update(names)
        try:
            return function(*arguments, **options)
        finally:
            for name in names:
                del scope[name]
            scope.update(before)

    return replaced


def printed(function: Callable, *arguments: Any) -> list[str]:
    """Return the lines that a call prints.

    >>> printed(print, "a", "b", "c")
    ['a b c']
    """
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        function(*arguments)
    return text.getvalue().splitlines()


def told(function: Callable, *labels: str) -> list[tuple[str, list[str]]]:
    """Return, of each printed line with a label and a number, the first label and the numbers.

    Numbers are those with a decimal point, as they are written, to the first decimal, without a
    sign and without commas between thousands. A headline has none, and does not count.

    >>> told(lambda: print("MB  peak\\nforward 1,012.34 MB, +2.0"), "forward", "backward")
    [('forward', ['1012.3', '2.0'])]
    """
    found = []
    for line in printed(function):
        held = [label for label in labels if label in line]
        numbers = re.findall(r"\d+\.\d", re.sub(r"(?<=\d),(?=\d{3})", "", line))
        found += [(held[0], numbers)] if held and numbers else []
    return found


def held_mb(function: Callable, *arguments: Any) -> float:
    """Return the MB allocated after a call, over those before, while its result is held.

    >>> round(held_mb(block, 2), 1)
    2.0
    """
    tracemalloc.stop()
    tracemalloc.start()
    try:
        result = function(*arguments)
        held = tracemalloc.get_traced_memory()[0] / MB
        del result
        return held
    finally:
        tracemalloc.stop()


def traced_mb(function: Callable, *arguments: Any) -> float:
    """Return the most MB that a call has allocated at one time, by tracemalloc alone.

    >>> round(traced_mb(lambda: block(2) is block(3)), 1)
    5.0
    """
    tracemalloc.stop()
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1] / MB
    finally:
        tracemalloc.stop()
