"""Show how noisy a measurement is where its figures are shown: load, interval, warnings.

What may not enter: a rule that students write. Lesson 03's interval and warnings are arguments.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from proflab.lesson.hardware import load_and_processors
from proflab.lesson.words import many

_OWN_LOAD = 1.25  # a demo's own threads load a machine up to 1: more than this is others' work
TOO_NOISY = 2.0  # the ratio of an interval's ends above which a figure says nothing


class Measured(float):
    """A measured figure: a float that knows the interval in which it was found.

    low, high: the interval's ends. busy: True if the machine had other work meanwhile. Sums,
    differences, products and ratios are Measured, too, with the widest interval that may be.

    >>> time, bytes_moved = Measured(2.0, 1.0, 4.0), 8.0
    >>> rate = bytes_moved / time
    >>> float(rate), rate.low, rate.high
    (4.0, 2.0, 8.0)
    """

    low: float
    high: float
    busy: bool

    def __new__(cls, value: float, low: float, high: float, busy: bool = False) -> Measured:
        self = super().__new__(cls, value)
        self.low, self.high, self.busy = float(min(low, high)), float(max(low, high)), busy
        return self

    @property
    def spread(self) -> float:
        """Return how many times its low end the interval's high end is."""
        return self.high / self.low if self.low > 0 else math.inf

    def holds(self, guess: float) -> bool:
        """Return True if a guess lies in the interval, as the interval is shown."""
        return _rounded(self.low) <= guess <= _rounded(self.high)

    @property
    def trouble(self) -> str:
        """Return why no guess can be judged by this figure; empty if one can."""
        if self.spread > TOO_NOISY:
            return "too noisy, run again"
        return "the machine is busy, run again later" if self.busy else ""

    # Without digits, too, a figure: a float's own would be a whole number without an interval.
    def __round__(self, digits: int | None = None) -> Measured:  # type: ignore[override]
        value, low, high = (round(float(x), digits or 0) for x in (self, self.low, self.high))
        return Measured(value, low, high, self.busy)

    def __reduce__(self) -> tuple:
        return Measured, (float(self), self.low, self.high, self.busy)


def _arithmetic(name: str) -> Callable[[Measured, Any], Any]:
    work = getattr(float, name)

    def method(self: Measured, other: Any) -> Any:
        value = work(self, other)
        if value is NotImplemented:
            return value
        others = (other.low, other.high) if isinstance(other, Measured) else (other,)
        divisor = {"__truediv__": others, "__rtruediv__": (self.low, self.high)}.get(name)
        if divisor and min(divisor) <= 0 <= max(divisor):
            ends = [-math.inf, math.inf]
        else:
            ends = [work(own, end) for own in (self.low, self.high) for end in others]
        return Measured(value, min(ends), max(ends), self.busy or getattr(other, "busy", False))

    method.__name__ = name
    return method


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"):
    setattr(Measured, f"__{_name}__", _arithmetic(f"__{_name}__"))


def measured(
    samples: Sequence[float], interval: Callable[[list[float]], Sequence[float]] | None = None
) -> Measured:
    """Return the median of the samples, with its interval: from lowest to highest.

    interval: returns another one for a list of samples, such as lesson 03's confidence_interval;
    it is asked only where there are six samples or more.

    >>> found = measured([4.0, 6.0, 5.0])
    >>> float(found), found.low, found.high
    (5.0, 4.0, 6.0)
    """
    samples = list(samples)
    low, high = min(samples), max(samples)
    if interval is not None and len(samples) >= 6:
        low, high = interval(samples)
    return Measured(median(samples), low, high, is_busy())


def show_load() -> None:
    """Print the machine's load, and that the figures may be off where it is busy."""
    known = load_and_processors()
    if known is None:
        return
    load, processors = known
    line = f"load {load:.2g} on {many(processors, 'processor')}"
    if not is_busy():
        print(line)
        return
    off = "off by several times" if load >= 2 * processors else "off"
    print(f"busy: {line}; the figures may be {off}")


def is_busy() -> bool:
    """Return True if more work waits for the processors than a demo makes; False if not known."""
    known = load_and_processors()
    return known is not None and known[0] > _OWN_LOAD * known[1]


def tell(
    what: str,
    samples: Sequence[float] | Measured,
    unit: str = "",
    *,
    interval: Callable[[list[float]], Sequence[float]] | None = None,
    warn: Callable[[list[float], float], Sequence[str]] | None = None,
    ratio: bool = False,
) -> Measured:
    """Print a figure with its interval and what speaks against it; return it as Measured.

    samples: what was measured, in order, or a Measured already. interval: as for `measured`.
    warn: lesson 03's measurement_warnings, for samples in ms. ratio: True for one time over
    another, so that 1 means no difference.

    >>> _ = tell("one step", [4.0, 6.0, 5.0], "ms")
    one step: 5 ms (4 to 6)
    >>> _ = tell("recorder over plain", [0.98, 0.9, 1.2], "times", ratio=True)
    recorder over plain: 0.98 times (0.9 to 1.2); noise: 1 lies inside
    """
    found = samples if isinstance(samples, Measured) else measured(samples, interval)
    notes = []
    if warn is not None and not isinstance(samples, Measured):
        step = 1000 * time.get_clock_info("perf_counter").resolution
        codes = ", ".join(warn(list(samples), step))
        notes += [f"warnings: {codes}"] if codes else []
    if ratio and found.low <= 1 <= found.high:
        notes += ["noise: 1 lies inside"]
    if found.spread > TOO_NOISY:
        notes += ["too noisy, run again"]
    print("; ".join([f"{what}: {shown(found, unit)}", *notes]))
    return found


def shown(figure: Measured, unit: str = "") -> str:
    """Return a figure with its interval, in three digits: more were not measured.

    >>> shown(Measured(1234.5, 1190.0, 1312.25), "GB/s")
    '1,230 GB/s (1,190 to 1,310)'
    """
    after = f" {unit}" if unit else ""
    return f"{_digits(figure)}{after} ({_digits(figure.low)} to {_digits(figure.high)})"


def _rounded(value: float) -> float:
    return float(f"{float(value):.3g}")


def _digits(value: float) -> str:
    value = _rounded(value)
    return f"{value:,.0f}" if abs(value) >= 100 and math.isfinite(value) else f"{value:g}"
