"""The behaviour of doubles as pure state: no clock, no tensors, no calling convention.

In a visible test cell a script lives in its double, in a hidden one with the grader. `ASKED` are
the methods that a double calls, each with plain data; `LOOKUPS` are the attributes that a test may
look up afterwards. Times are whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, cycle
from typing import Literal

_MOST_READINGS = 10_000
_MOST_CALLS = 5_000
_STARTED_NS = 1_000 * 10**9
_WALL_NS = 1_750_000_000 * 10**9  # since 1970: in June 2025
_STEP_BACK_NS = 1_500_000_000
_Reading = Literal["monotonic", "wall", "cpu"]


class ClockScript:
    """Time that passes only when told, read by three kinds of clock.

    "monotonic" shows whole ticks of tick_ns. "wall" is set back by 1.5 s at every reading, and
    "cpu" stands still: each gives a wrong latency of its own. A reading of any of them takes
    read_ns, and the first of "monotonic" shows start_ns. Raises ValueError for a tick below 1 or a
    negative read_ns or start_ns.

    >>> script = ClockScript(tick_ns=100)
    >>> before = script.read("monotonic")
    >>> script.advance(250)
    >>> script.read("monotonic") - before, script.readings
    (200, 2)
    """

    ASKED = ("read", "advance")
    LOOKUPS = ("readings",)

    def __init__(self, tick_ns: int = 1, read_ns: int = 0, start_ns: int = _STARTED_NS) -> None:
        if tick_ns < 1 or min(read_ns, start_ns) < 0:
            raise ValueError(f"no clock has a tick of {tick_ns} ns read in {read_ns} ns")
        self._tick, self._read = tick_ns, read_ns
        self._now, self._still = start_ns, 0
        self.readings = 0

    def read(self, kind: _Reading) -> int:
        """Return what a clock of this kind shows, in ns.

        Raises RuntimeError after 10,000 readings in a row, rather than let a loop go on for ever.
        """
        self.readings += 1
        self._still += 1
        if self._still > _MOST_READINGS:
            raise RuntimeError(
                f"a clock was read {_MOST_READINGS:,} times while nothing else happened:"
                " what is waited for does not come"
            )
        shown = {
            "monotonic": self._now // self._tick * self._tick,
            "wall": _WALL_NS + self._now - _STEP_BACK_NS * self.readings,
            "cpu": _STARTED_NS,
        }[kind]
        self._now += self._read
        return shown

    def advance(self, ns: int) -> None:
        """Let time pass. Raises ValueError for less than nothing."""
        if type(ns) is not int or not 0 <= ns < 10**18:
            raise ValueError(f"time cannot pass by {ns!r} ns")
        self._now += ns
        self._still = 0


def _check_clock(clock: ClockScript) -> None:
    if not isinstance(clock, ClockScript):
        raise ValueError("the first argument is a doubles.Clock")


class ModelScript:
    """Durations of a model's calls: first each of cold_ms, then those of ms in turn.

    Raises ValueError when ms is empty or a time is negative.

    >>> clock = ClockScript()
    >>> script, before = ModelScript(clock, ms=[2.0], cold_ms=[9.0]), clock.read("monotonic")
    >>> script.call(), script.call(), clock.read("monotonic") - before
    (None, None, 11000000)
    """

    ASKED = ("call",)
    LOOKUPS = ("calls",)

    def __init__(
        self, clock: ClockScript, ms: Sequence[float], cold_ms: Sequence[float] = ()
    ) -> None:
        _check_clock(clock)
        if not len(ms) or min((*ms, *cold_ms)) < 0:
            raise ValueError("a model needs times in ms, none of them negative")
        self._clock, self._times = clock, chain(cold_ms, cycle(ms))
        self.calls = 0

    def call(self) -> None:
        """Let the time of one call pass.

        Raises RuntimeError after 5,000 calls, rather than let a loop go on for ever.
        """
        self.calls += 1
        if self.calls > _MOST_CALLS:
            raise RuntimeError(
                f"a model was called {_MOST_CALLS:,} times: what is waited for does not come"
            )
        self._clock.advance(round(next(self._times) * 1e6))


class RateScript:
    """Speeds of a workload's calls, in turn: `per_second` units of work.

    Raises ValueError when per_second is empty or a rate is not positive.

    >>> clock = ClockScript()
    >>> script, before = RateScript(clock, per_second=[1e9]), clock.read("monotonic")
    >>> script.work(300), clock.read("monotonic") - before
    (None, 300)
    """

    ASKED = ("work",)
    LOOKUPS = ("calls", "amounts")

    def __init__(self, clock: ClockScript, per_second: Sequence[float]) -> None:
        _check_clock(clock)
        if not len(per_second) or min(per_second) <= 0:
            raise ValueError("rates are positive, and there is at least one")
        self._clock, self._rates = clock, cycle(per_second)
        self.amounts: list[int] = []

    @property
    def calls(self) -> int:
        """Return how often work was done."""
        return len(self.amounts)

    def work(self, amount: int) -> None:
        """Let the time pass that this amount takes. Raises ValueError for a negative amount."""
        if type(amount) is not int or amount < 0:
            raise ValueError(f"nobody can do {amount!r} of work")
        self.amounts.append(amount)
        self._clock.advance(round(amount / next(self._rates) * 1e9))
