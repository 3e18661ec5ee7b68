"""A training step with a word said after each phase, and what can be read at such a moment.

What may not enter: what a student is to work out about a model's memory.
"""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

MB = 1024**2  # bytes
NO_OPS = 40  # readings that stand for a phase without operations: its name needs room


def training_step(
    model: Callable, x: Any, optimizer: Any, moment: Callable[[str], Any] = lambda label: None
) -> None:
    """Run one step; call moment("after_forward"), …("after_backward"), …("after_optimizer").

    model: gives a Tensor of x, the mean of whose squares is the loss.
    """
    optimizer.zero_grad()
    loss = (model(x) ** 2).mean()
    moment("after_forward")
    loss.backward()
    moment("after_backward")
    del loss
    optimizer.step()
    moment("after_optimizer")


def _traced_now() -> float:
    """Return what is allocated now, of all that tracemalloc sees, in MB of 1024² bytes."""
    return tracemalloc.get_traced_memory()[0] / MB


class Timeline:
    """The traced MB after each operation (`readings`), and where each phase ends (`phases`).

    >>> from proflab import Tensor, dispatch, nn, optim
    >>> model, timeline = nn.Linear(2, 1), Timeline()
    >>> optimizer = optim.SGD(model.parameters(), lr=0.1)
    >>> with dispatch.hook(timeline.read):
    ...     training_step(model, Tensor([[1.0, 2.0]]), optimizer, timeline.ends)
    >>> [name for name, _ in timeline.phases]
    ['forward 1', 'backward 1', 'optimizer 1']
    """

    def __init__(self) -> None:
        self.readings: list[float] = []
        self.phases: list[tuple[str, int]] = []
        self._seen: Counter[str] = Counter()

    def read(self, call: Callable[[], Any]) -> Any:
        """Run the operation, for dispatch.hook, then read the meter."""
        result = call()
        self.readings.append(_traced_now())
        return result

    def ends(self, moment: str) -> None:
        """End a phase: "after_forward" ends "forward 1", the next time "forward 2"."""
        phase = moment.removeprefix("after_")
        if len(self.readings) == (self.phases[-1][1] if self.phases else 0):
            self.readings += NO_OPS * [_traced_now()]
        self._seen[phase] += 1
        self.phases.append((f"{phase} {self._seen[phase]}", len(self.readings)))


class BothMeters:
    """Notes a process's memory in a profiler, and in `traced` what is traced, at the same moments.

    profiler: a MemoryProfiler; traced: MB of 1024² bytes.
    """

    def __init__(self, profiler: Any) -> None:
        self.profiler = profiler
        self.traced: list[float] = []

    def note(self, label: str) -> None:
        """Read both meters, the profiler's under this label."""
        self.traced.append(_traced_now())
        self.profiler.snapshot(label)


def state_bytes(optimizer: Any) -> int:
    """Return the bytes of the arrays that an optimizer of proflab holds for its parameters."""
    values = [value for state in optimizer.state.values() for value in state.values()]
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


def storages_mb(tensors: Iterable[Any]) -> float:
    """Return the MB of 1024² bytes of the storages behind tensors, each once and as a whole."""
    return sum(storage.nbytes for storage in {tensor.storage for tensor in tensors}) / MB
