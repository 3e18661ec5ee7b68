"""Measure a race on this machine, beside the count: in mirrored pairs, for no points.

How to measure is what lessons 03 and 08 have taught: their functions are the notebook's own, or
those of `built`. Before lesson 08 there is no `run_order`, `speedup_interval` or `gate`; then the
pairs are taken forwards and backwards here, lesson 03's `confidence_interval` is asked about their
ratios, and there is no verdict.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from proflab import Tensor, graph
from proflab.lesson.blas import on_threads
from proflab.lesson.demo import demo_size, progress_bar
from proflab.lesson.noise import is_busy
from proflab.lesson.race.check_log import TOLERANCE, methods_of
from proflab.lesson.race.known import Draws, draw
from proflab.lesson.race.show import counted
from proflab.lesson.race.steps import PAIRS
from proflab.lesson.race.tape import inputs_of
from proflab.lesson.race.trace import traced

_FEWEST = 6  # pairs that confidence_interval can say something about at 95 %
_SECONDS = 1.2  # after which no pair is begun, if there are enough
_SAMPLE_MS = 1.0  # the least ms of a sample
_LONG_MS = 20.0  # of a first call: a sample of one will do

# CPU time of one thread does not depend on what else the machine does. That of the process is told
# in steps of 4 ms where its CPU time is limited, as in the grader. Where that is coarse, too
# (Windows, the browser), the wall's is read.
_FINE = time.get_clock_info("thread_time").resolution <= 1e-5
_clock = time.thread_time if _FINE else time.perf_counter
_CLOCK_NAME = "CPU time of one thread" if _FINE else "by the clock"
# What glibc's own thresholds reach after it has freed an array of 32 MiB: mallopt's names for those
# of what is given back to the kernel, and the bytes.
_TRIM, _MAP = (-1, 64 * 1024**2), (-3, 32 * 1024**2)

Pairs = tuple[list[float], list[float]]


def measure(slow: Callable, fast: Callable, machine: str = "DESK", *,
            draws: Draws | None = None, model: Callable | None = None, training: bool = False,
            **shapes: Any) -> str:  # fmt: skip
    """Return, as text, how many times as fast a program is: counted, and measured on this machine.

    Twelve mirrored pairs are timed, fewer on a slow machine, on inputs drawn as `draws` says (see
    expect_faster); shapes, model and training: as in `traced`. Nothing depends on it. Raises
    RuntimeError before `count_with`.
    """
    made: dict[str, Any] = {"model": model, "training": training, **shapes}
    tapes = [traced(program, **made) for program in (slow, fast)]
    given, paid = (counted(tape, machine).ms for tape in tapes)
    methods = methods_of(fast)
    old, new = (calling(each, draws, **made) for each in (slow, fast))
    before, after = timed_pairs(old, new, methods, demo_size(PAIRS, _FEWEST), _SECONDS)
    found = speedup_of(before, after, methods)
    text = (
        f"counted on {machine}: {given / paid:,.3g} times as fast\n"
        f"measured here, {_CLOCK_NAME}: {found['speedup']:,.3g} times (95 % between "
        f"{found['low']:,.3g} and {found['high']:,.3g}; {len(before)} pairs, "
        f"{statistics.median(before):,.3g} → {statistics.median(after):,.3g} ms)"
    )
    if "gate" in methods:
        text += f": {methods['gate'](before, after, TOLERANCE)}"
    if is_busy():
        text += "\nthe machine is busy: what was measured may be off"
    return text


def calling(program: Callable, draws: Draws | None = None, *, model: Callable | None = None,
            training: bool = False, **shapes: Any) -> Callable[[], Any]:  # fmt: skip
    """Return a call of a program on drawn inputs, the same ones for each program."""
    tape = traced(lambda **inputs: list(inputs.values()), **shapes)
    known = draw(inputs_of(tape), 1, "normal", draws or {})
    inputs: dict[str, Any] = {name: Tensor(array) for name, array in known.items()}
    if model is not None:
        inputs["model"] = model() if training else model().eval()

    def call() -> Any:
        with graph.set_grad_enabled(training):
            return program(**inputs)

    return call


def timed_pairs(before: Callable, after: Callable, methods: Mapping[str, Callable],
                pairs: int = PAIRS, seconds: float | None = None) -> Pairs:  # fmt: skip
    """Return the ms of each call of two programs, in mirrored pairs, with a progress bar.

    Short calls are repeated, as calibrate says, and their mean is taken. seconds: after so many no
    pair is begun, if there are six. The ms are CPU time of one thread where that has a fine clock.
    """
    _keep_freed_memory()
    with on_threads(1):
        return _timed_pairs({"before": before, "after": after}, methods, pairs, seconds)


def _timed_pairs(programs: dict[str, Callable], methods: Mapping[str, Callable], pairs: int,
                 seconds: float | None) -> Pairs:  # fmt: skip
    began = time.perf_counter()
    counts = {name: _calls(program, methods) for name, program in programs.items()}
    if "run_order" in methods:
        order = list(methods["run_order"](list(programs), pairs))
    else:
        order = ["before", "after", "after", "before"] * (pairs // 2)
    found: dict[str, list[float]] = {name: [] for name in programs}
    for number, name in enumerate(progress_bar(order, unit="call")):
        enough = number % 4 == 0 and number >= 2 * _FEWEST
        if enough and seconds is not None and time.perf_counter() - began > seconds:
            break
        start = _clock()
        for _ in range(counts[name]):
            programs[name]()
        elapsed = 1e3 * (_clock() - start) / counts[name]
        found[name].append(max(elapsed, 1e-9))  # a coarse clock may not have moved
    return found["before"], found["after"]


def _keep_freed_memory() -> None:
    """Have glibc keep what is freed, as it does by itself when it has freed something large.

    Until then each new array is new pages, which cost more than many an op, and the program with
    the fewer, larger arrays is measured slower. Other libraries have no such setting.
    """
    with contextlib.suppress(ImportError, OSError, TypeError, AttributeError):
        from ctypes import CDLL

        for setting, size in (_TRIM, _MAP):
            CDLL(None).mallopt(setting, size)


def _calls(program: Callable, methods: Mapping[str, Callable]) -> int:
    """Return how many calls make a sample; the first call, which is cold, is made here."""
    start = time.perf_counter()
    program()
    if 1e3 * (time.perf_counter() - start) > _LONG_MS or "calibrate" not in methods:
        return 1
    return methods["calibrate"](program, _SAMPLE_MS)


def speedup_of(
    before: list[float], after: list[float], methods: Mapping[str, Callable]
) -> dict[str, float]:
    """Return what speedup_interval says of pairs, or, before lesson 08, the same in other words."""
    if "speedup_interval" in methods:
        return methods["speedup_interval"](before, after)
    ratios = [old / new for old, new in zip(before, after, strict=True)]
    ends = (min(ratios), max(ratios))
    if "confidence_interval" in methods and len(ratios) >= _FEWEST:
        ends = methods["confidence_interval"](ratios)
    return {"speedup": statistics.median(ratios), "low": ends[0], "high": ends[1]}
