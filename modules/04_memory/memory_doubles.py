"""Double a step that leaks, and models of unusual form.

What they allocate is allocated, in blocks that are never touched: tracemalloc counts them in full,
and no machine has to have them. Sizes are MB of 1024² bytes. What may not enter: what should come
out.
"""

from __future__ import annotations

import itertools
import linecache
import struct
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import proflab
from proflab import Tensor, nn

MB = 1024**2

# What is left of 1,024 bytes for those of an object in a list: 983 where pointers have 64 bits.
_BYTES = 1024 - sys.getsizeof(b"") - struct.calcsize("P")
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
    f"    pieces.extend(bytes({_BYTES}) for _ in range(size // 1024))",
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


class Tracker:
    """Stands for a MemoryTracker that is right, in tests of what uses one: for one block at a time.

    It starts tracing afresh, so what another tracker has counted until then is lost; afterwards
    tracing is on if it was.

    >>> with Tracker() as tracker:
    ...     kept = bytearray(2 * MB)
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


def held_mb(function: Callable, *arguments: Any) -> float:
    """Return the MB allocated after a call, over those before, while its result is held.

    >>> round(held_mb(bytearray, 2 * MB), 1)
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

    >>> round(traced_mb(lambda: bytearray(2 * MB) is bytearray(3 * MB)), 1)
    5.0
    """
    tracemalloc.stop()
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1] / MB
    finally:
        tracemalloc.stop()


def gradients(function: Callable, x: Tensor, parameters: Sequence[Tensor]) -> list:
    """Return the gradients of the sum of function(x)², of x and of the parameters, as arrays.

    None for those that get none. Every `.grad` is replaced.

    >>> layer = nn.Linear(1, 1, bias=False)
    >>> layer.weight.data = Tensor([[3.0]])
    >>> [g.tolist() for g in gradients(layer, Tensor([[2.0]], requires_grad=True), [layer.weight])]
    [[[36.0]], [[24.0]]]
    """
    for tensor in (x, *parameters):
        tensor.grad = None
    (function(x) ** 2).sum().backward()
    return [None if t.grad is None else t.grad.numpy().copy() for t in (x, *parameters)]


def furthest(function: Callable, layers: Sequence[nn.Module], x: Tensor) -> float:
    """Return the largest difference of gradients, x's too: a function against layers in a row.

    Raises TypeError where one of the two has no gradient and the other has.

    >>> layers, x = [nn.Linear(2, 2), nn.ReLU()], Tensor([[1.0, -2.0]], requires_grad=True)
    >>> furthest(lambda x: layers[1](layers[0](x)), layers, x)
    0.0
    """
    plain = nn.Sequential(*layers)
    parameters = [p for p in plain.parameters() if p.requires_grad]
    right = gradients(plain, x, parameters)
    pairs = zip(right, gradients(function, x, parameters), strict=True)
    return max(0.0 if a is None and b is None else float(np.abs(a - b).max()) for a, b in pairs)


class Parts(nn.Module):
    """Keeps two parts of one result, and meets a buffer: x of (n, m, 4) and y of (n, 2) to (n, 2).

    Of the m rows of x, what comes of the first alone is used.

    >>> Parts()(proflab.ones(5, 3, 4), proflab.ones(5, 2)).shape
    (5, 2)
    """

    def __init__(self) -> None:
        self.wide, self.narrow = nn.Linear(4, 12), nn.Linear(4, 2)
        self.register_buffer("scale", proflab.ones(2))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the first and the last third of a layer's result, multiplied."""
        left, _, right = self.wide(x).chunk(3, -1)
        return self.narrow((left * right)[:, 0]) * self.scale * y


class SumOfTwo(nn.Module):
    """A layer from x of (n, inputs) to (n, outputs), plus y: {"sum": the Tensor, …}.

    >>> SumOfTwo(3, 2)(proflab.ones(4, 3), proflab.ones(4, 2))["sum"].shape
    (4, 2)
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        self.inner = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor, y: Tensor) -> dict:
        """Return the sum, beside something that is no Tensor."""
        return {"sum": self.inner(x) + y, "tracing": tracemalloc.is_tracing()}
