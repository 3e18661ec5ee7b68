"""The scripted clock: read in whatever way, true to its script, and gone afterwards."""

from __future__ import annotations

import functools
import gc
import statistics
import threading
import time
import timeit
from pathlib import Path
from time import perf_counter

import clock_users
import numpy as np
import pytest
from lesson_demos import module_at

from proflab.lesson import doubles

REAL = {name: vars(time)[name] for name in ("perf_counter", "monotonic", "time", "sleep")}


@pytest.fixture(scope="module")
def users(quick_clocks):
    """Return code that reads clocks, made when all else is frozen."""
    return module_at(Path(clock_users.__file__))


@pytest.fixture(autouse=True)
def _no_collections(users):
    """hypothesis times Python's garbage collections: readings that are not the test's."""
    gc.disable()
    yield
    gc.enable()


def latency(read, model, calls=1):
    start = read()
    for _ in range(calls):
        model(1)
    return (read() - start) * 1000


@pytest.mark.parametrize("how", clock_users.SECONDS)
def test_every_way_to_reach_a_clock_reads_the_script(how, users):
    read = users.SECONDS[how]
    clock = doubles.Clock()
    model = doubles.Model(clock, ms=[4.0, 5.5])
    assert clock.run(latency, read, model, 2) == pytest.approx(9.5, rel=1e-9)
    assert clock.readings == 2
    assert read() == pytest.approx(REAL["perf_counter"](), abs=60)  # real again
    assert {name: vars(time)[name] for name in REAL} == REAL


def test_timeit_measures_the_script():
    clock = doubles.Clock()
    model = doubles.Model(clock, ms=[2.0], cold_ms=[50.0])
    times = clock.run(timeit.repeat, lambda: model(0), number=4, repeat=3)
    assert times == pytest.approx([0.056, 0.008, 0.008])
    timer = timeit.Timer(lambda: model(0))
    assert clock.run(lambda: timer.timeit(number=1)) < 1  # made outside, it keeps a real clock
    assert clock.run(lambda: timeit.Timer(lambda: model(0)).timeit(10)) == pytest.approx(0.02)


def test_wall_clocks_step_back_and_cpu_clocks_stand_still():
    clock = doubles.Clock()
    model = doubles.Model(clock, ms=[4.0])
    assert clock.run(latency, lambda: time.time(), model) == pytest.approx(-1496)
    assert clock.run(latency, lambda: time.time_ns() / 1e9, model) == pytest.approx(-1496)
    for still in (lambda: time.process_time(), lambda: time.thread_time()):
        assert clock.run(latency, still, model) == 0


def test_a_tick_is_the_smallest_difference_and_a_reading_takes_time():
    clock = doubles.Clock(tick_ns=100, read_ns=30)
    shown = clock.run(lambda: [time.perf_counter_ns() for _ in range(50)])
    steps = np.diff(shown)
    assert set(steps) == {0, 100}
    assert shown[-1] - shown[0] == 49 * 30 // 100 * 100


def test_a_clock_may_start_at_0():
    clock = doubles.Clock(start_ns=0)
    shown = clock.run(lambda: (time.perf_counter(), time.sleep(2), time.monotonic_ns()))
    assert shown == (0.0, None, 2_000_000_000)


def test_sleep_takes_no_time_of_ours():
    clock, began = doubles.Clock(), time.monotonic()
    assert clock.run(latency, lambda: perf_counter(), lambda _: time.sleep(3600)) == 3_600_000
    assert time.monotonic() - began < 600


def test_waiting_for_time_that_does_not_pass_ends_with_a_sentence():
    def wait(read):
        start = read()
        while read() <= start:
            pass

    for name in ("perf_counter", "process_time", "time"):
        with pytest.raises(RuntimeError, match="10,000 times while nothing else happened"):
            doubles.Clock().run(wait, lambda name=name: vars(time)[name]())


def test_calling_a_model_without_end_ends_with_a_sentence():
    model = doubles.Model(doubles.Clock(), ms=[0.0])
    with pytest.raises(RuntimeError, match="called 5,000 times: what is waited for does not come"):
        while True:
            model(0)
    assert model.calls == 5001


def test_time_is_real_again_after_an_exception_and_after_a_clock_within_a_clock(users):
    outer, inner = doubles.Clock(), doubles.Clock()

    def nested():
        start = perf_counter()
        outer.advance(5)
        assert inner.run(latency, lambda: perf_counter(), doubles.Model(inner, ms=[70])) > 69.9
        return perf_counter() - start

    assert outer.run(nested) == pytest.approx(0.005)
    with pytest.raises(ZeroDivisionError):
        outer.run(lambda: 1 / 0)
    assert perf_counter is REAL["perf_counter"]
    assert users.Watch.clock is REAL["perf_counter"]
    assert users.by_default.__defaults__ == (REAL["perf_counter"],)


def test_what_is_imported_within_is_real_afterwards():
    scope = {}
    doubles.Clock().run(exec, "from time import perf_counter as late", scope)
    assert scope["late"] is REAL["perf_counter"]


def test_other_threads_go_on_reading_real_clocks():
    clock, read = doubles.Clock(), []

    def measure():
        before = clock.readings
        thread = threading.Thread(target=lambda: read.append(time.monotonic()))
        thread.start()
        thread.join()
        return clock.readings - before

    clock.run(measure)
    assert read[0] == pytest.approx(time.monotonic(), abs=600)


def test_a_model_logs_calls_by_either_name_and_returns_its_input():
    clock = doubles.Clock()
    model = doubles.Model(clock, ms=[1.0], cold_ms=[9.0, 8.0])
    assert model("x") == "x" and model.forward("y") == "y"
    assert model.calls == 2
    assert list(model.eval().train().parameters()) == []
    assert clock.run(latency, lambda: perf_counter(), model) == pytest.approx(1.0)


def test_work_takes_its_amount_over_the_rate():
    clock = doubles.Clock()
    matmul = doubles.Matmul(clock, per_second=[1e9, 2e9])
    a, b = np.ones((10, 20), np.float32), np.ones((20, 50), np.float32)
    assert clock.run(latency, lambda: perf_counter(), lambda _: matmul(a, b)) == pytest.approx(0.02)
    assert clock.run(latency, lambda: perf_counter(), lambda _: matmul(a, b)) == pytest.approx(0.01)
    assert (matmul(a, b).shape, matmul(a, b).dtype) == ((10, 50), np.float32)
    assert matmul.amounts == [20_000] * 4
    copy = doubles.Copy(clock, per_second=[1e9])
    taken = clock.run(latency, lambda: perf_counter(), lambda _: copy(np.empty(500), np.ones(500)))
    assert taken == pytest.approx(0.008)
    assert copy.amounts == [8_000]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda clock: doubles.Clock(tick_ns=0),
        lambda clock: doubles.Clock(read_ns=-1),
        lambda clock: doubles.Clock(start_ns=-1),
        lambda clock: doubles.Model(clock, ms=[]),
        lambda clock: doubles.Model(clock, ms=[1], cold_ms=[-1]),
        lambda clock: doubles.Matmul(clock, per_second=[0]),
        lambda clock: clock.advance(-1),
        lambda clock: doubles.Copy(clock, per_second=[1])(np.empty(2), np.empty(3)),
        lambda clock: doubles.Matmul(clock, per_second=[1])(np.empty((2, 3)), np.empty((2, 3))),
    ],
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError):
        wrong(doubles.Clock())


def test_a_right_measurement_comes_out_to_the_microsecond():
    def measure(model, warmup, iterations):
        for _ in range(warmup):
            model(0)
        times = []
        for _ in range(iterations):
            start = functools.partial(perf_counter)()
            model(0)
            times.append(perf_counter() - start)
        return statistics.median(times) * 1000

    clock = doubles.Clock()
    model = doubles.Model(clock, ms=[4.0, 5.0, 40.0], cold_ms=[90.0, 20.0])
    assert clock.run(measure, model, 2, 5) == pytest.approx(5.0, abs=1e-6)
    assert model.calls == 7
