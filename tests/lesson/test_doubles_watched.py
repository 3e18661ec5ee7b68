"""Stopwatches put to use: exact scripted times, errors passed on, inputs written down."""

from __future__ import annotations

import time

import pytest

from proflab.lesson import doubles


class Stopwatch:
    """A right one; `steps` lists what it was told."""

    def __init__(self):
        self.elapsed_ms, self.steps = 0.0, []

    def start(self):
        self.steps.append("start")
        self.began = time.perf_counter_ns()

    def stop(self):
        self.steps.append("stop")
        self.elapsed_ms = (time.perf_counter_ns() - self.began) / 1e6

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()


@pytest.fixture
def clock():
    return doubles.Clock()


@pytest.fixture
def work(clock):
    return doubles.Model(clock, ms=[1.0, 2.0, 4.0, 8.0])


@pytest.mark.whole
def test_calls_are_timed_and_one_more_is_not(clock, work):
    stopwatch = Stopwatch()
    assert clock.run(lambda: doubles.timed(stopwatch, work)) == 1.0
    assert clock.run(lambda: doubles.timed(stopwatch, work, calls=2)) == 12.0
    assert work.calls == 5


@pytest.mark.whole
def test_an_error_in_the_body_leaves_its_time(clock, work):
    stopwatch = Stopwatch()
    with pytest.raises(KeyError):
        clock.run(lambda: doubles.failing(stopwatch, work))
    assert stopwatch.elapsed_ms == 1.0 and work.calls == 1


@pytest.mark.whole
def test_one_timer_within_another(clock, work):
    assert clock.run(lambda: doubles.nested(Stopwatch, work)) == [7.0, 2.0]


@pytest.mark.whole
def test_a_timer_is_told_each_step_and_a_call_comes_after_each(clock, work):
    stopwatch = Stopwatch()
    took = clock.run(lambda: doubles.by_hand(stopwatch, work, "start", "start", "stop"))
    assert took == 2.0 and work.calls == 3 and stopwatch.steps == ["start", "start", "stop"]


def test_inputs_are_written_down_through_either_call(work):
    module = doubles.Logged(work)
    assert [module(3), module.forward(5)] == [3, 5] and module.seen == [3, 5]
