"""Measured figures as demo cells show them: load, interval, warnings, and guesses beside them."""

import math
import os
import pickle

import pytest

from proflab.lesson import doubles, guesses
from proflab.lesson.noise import Measured, measured, show_load, tell

pytestmark = pytest.mark.usefixtures("quick_clocks")


@pytest.fixture
def machine(monkeypatch):
    """Return a function that sets the machine's load, on two processors; it is idle at first."""

    def set_load(load):
        monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)

    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    set_load(0.25)
    return set_load


def timed(ms):
    """Return the times of calls on a scripted clock, measured with the real one's functions."""
    import time

    clock = doubles.Clock()
    work = doubles.Model(clock, ms=ms)

    def call():
        began = time.perf_counter()
        work(0)
        return 1000 * (time.perf_counter() - began)

    return clock.run(lambda: [call() for _ in ms])


@pytest.mark.parametrize(
    ("load", "line"),
    [
        (0.25, "load 0.25 on 2 processors"),
        (2.0, "load 2 on 2 processors"),
        (3.0, "busy: load 3 on 2 processors; the figures may be off"),
        (9.0, "busy: load 9 on 2 processors; the figures may be off by several times"),
    ],
)
def test_a_demo_says_how_busy_the_machine_is(machine, capsys, load, line):
    machine(load)
    show_load()
    assert capsys.readouterr().out == line + "\n"


def test_a_machine_that_does_not_know_its_load_says_nothing(monkeypatch, capsys):
    monkeypatch.delattr(os, "getloadavg", raising=False)
    show_load()
    assert capsys.readouterr().out == ""
    assert not measured([1.0]).busy


@pytest.mark.parametrize(
    ("ms", "options", "line"),
    [
        ([4.0, 5.0, 4.5], {"unit": "ms"}, "one step: 4.5 ms (4 to 5)"),
        ([4.0, 9.0, 4.5], {"unit": "ms"}, "one step: 4.5 ms (4 to 9); too noisy, run again"),
        (
            [4.0, 5.0, 4.5],
            {"warn": lambda times, step: ["spread", "drift"]},
            "one step: 4.5 (4 to 5); warnings: spread, drift",
        ),
        ([4.0, 5.0], {"warn": lambda times, step: []}, "one step: 4.5 (4 to 5)"),
        (
            [4.0, 9.0, 5.0, 5.1, 5.2, 5.3],
            {"interval": lambda times: (5.0, 5.25)},
            "one step: 5.15 (5 to 5.25)",
        ),
    ],
)
def test_a_figure_is_told_with_its_interval_and_warnings(machine, capsys, ms, options, line):
    tell("one step", timed(ms), **options)
    assert capsys.readouterr().out == line + "\n"


@pytest.mark.parametrize(
    ("ratios", "line"),
    [
        ([0.9, 0.95, 1.3], "plain: 0.95 times (0.9 to 1.3); noise: 1 lies inside"),
        ([1.2, 1.25, 1.3], "plain: 1.25 times (1.2 to 1.3)"),
        ([0.5, 0.6, 0.7], "plain: 0.6 times (0.5 to 0.7)"),
        (
            [0.04, 1.96, 124.91],
            "plain: 1.96 times (0.04 to 125); noise: 1 lies inside; too noisy, run again",
        ),
    ],
)
def test_a_ratio_within_its_spread_of_1_is_called_noise(machine, capsys, ratios, line):
    tell("plain", ratios, "times", ratio=True)
    assert capsys.readouterr().out == line + "\n"


def test_arithmetic_keeps_the_interval_and_what_speaks_against_it(machine):
    time, other = Measured(2.0, 1.0, 4.0), Measured(3.0, 3.0, 6.0, busy=True)
    for made, ends in [
        (time * 2, (4.0, 2.0, 8.0)),
        (8 / time, (4.0, 2.0, 8.0)),
        (other / time, (1.5, 0.75, 6.0)),
        (other - time, (1.0, -1.0, 5.0)),
        (1 - time, (-1.0, -3.0, 0.0)),
        (round(time / 3, 1), (0.7, 0.3, 1.3)),
        (pickle.loads(pickle.dumps(time)), (2.0, 1.0, 4.0)),
    ]:
        assert (float(made), made.low, made.high) == ends
    assert (other / time).busy
    assert not (time * 2).busy
    for over_what_may_be_0 in (1 / Measured(1.0, 0.0, 2.0), time / Measured(1.0, -3.0, 2.0)):
        assert (over_what_may_be_0.low, over_what_may_be_0.high) == (-math.inf, math.inf)
        assert over_what_may_be_0.trouble == "too noisy, run again"


@pytest.mark.parametrize(
    ("load", "slowest", "guess", "said"),
    [
        (0, 5, 4.9, "4.5 ms (4 to 5); you guessed 4.9 ms, within what can be measured"),
        (0, 5, 5.0, "4.5 ms (4 to 5); you guessed 5 ms, within what can be measured"),
        (0, 5, 6.35, "4.5 ms (4 to 5); you guessed 6.35 ms, at least 27 % too high"),
        (0, 5, 1.5, "4.5 ms (4 to 5); you guessed 1.5 ms, at least 2.7 times too low"),
        (0, 9, 6, "4.5 ms (4 to 9); you guessed 6 ms: too noisy, run again"),
        (9, 5, 30, "4.5 ms (4 to 5); you guessed 30 ms: the machine is busy, run again later"),
        (0, 5, None, "4.5 ms (4 to 5) (you made no guess)"),
    ],
)
def test_a_guess_is_judged_no_more_exactly_than_was_measured(
    machine, capsys, load, slowest, guess, said
):
    machine(load)
    answer = measured(timed([4.0, slowest, 4.5]))
    guesses.compare("one step", guess, answer, "ms")
    assert capsys.readouterr().out == f"one step: {said}\n"
    record = {"what": "one step", "guess": guess, "answer": float(answer), "unit": "ms"}
    record |= {"low": answer.low, "high": answer.high, "busy": answer.busy}
    assert guesses.told(record) == f"one step: {said}"
