"""Every way in which code may hold a clock, for the tests of the scripted one."""

from __future__ import annotations

import dataclasses
import time
import timeit
from time import perf_counter, perf_counter_ns


class Watch:
    """Holds clocks as attributes, of the class and its own."""

    clock = time.perf_counter

    def __init__(self):
        self.own = time.monotonic

    def by_class(self):
        return self.clock()

    def by_instance(self):
        return self.own()


@dataclasses.dataclass
class Started:
    at: float = dataclasses.field(default_factory=time.perf_counter)


def closed_over(clock=None):
    inner = time.perf_counter if clock is None else clock
    return lambda: inner()


def by_default(clock=time.perf_counter):
    return clock()


def by_keyword(*, clock=time.perf_counter):
    return clock()


WATCH, CLOSURE, LISTED, NAMED = Watch(), closed_over(), [time.perf_counter], {"now": perf_counter}
SECONDS = {
    "time.perf_counter": lambda: time.perf_counter(),
    "imported perf_counter": lambda: perf_counter(),
    "perf_counter_ns": lambda: perf_counter_ns() / 1e9,
    "time.monotonic": lambda: time.monotonic(),
    "time.monotonic_ns": lambda: time.monotonic_ns() / 1e9,
    "timeit.default_timer": lambda: timeit.default_timer(),
    "clock_gettime": lambda: time.clock_gettime(time.CLOCK_MONOTONIC),
    "clock_gettime_ns": lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC) / 1e9,
    "a default argument": by_default,
    "a keyword's default": by_keyword,
    "a closure": CLOSURE,
    "a class attribute": WATCH.by_class,
    "an instance's attribute": WATCH.by_instance,
    "a list": lambda: LISTED[0](),
    "a dict": lambda: NAMED["now"](),
    "a dataclass's factory": lambda: Started().at,
    "an import within": lambda: __import__("time").perf_counter(),
}
