"""What lesson 03's cells try functions on, and the pictures of what came out."""

from __future__ import annotations

import cProfile
import time
from statistics import median

import pytest

from proflab.lesson import latency_trials as trials
from proflab.lesson import plot_latency as plot


class Exact:
    """A timer that says how long the scripted calls took, in ms."""

    def __enter__(self):
        self.began = time.perf_counter_ns()

    def __exit__(self, *error):
        self.elapsed_ms = (time.perf_counter_ns() - self.began) / 1e6


def test_models_take_their_inputs():
    for model, x in (*trials.small_models().values(), trials.tiny_layer()):
        assert model(x).shape[0] == x.shape[0]
    assert trials.lenet(3)[1].shape == (3, 1, 32, 32)


def test_a_fresh_python_times_its_first_calls():
    times = trials.first_calls(3)
    assert len(times) == 3 and min(times) > 0


def test_a_coarse_clock_shows_whole_steps():
    assert trials.on_clock(Exact(), 1_000, calls=5) == pytest.approx([0.4] * 5)
    assert set(trials.on_clock(Exact(), 1_000_000)) == {0.0, 1.0}


def test_a_service_is_cold_first_and_is_called_in_a_row():
    def call(model):
        with (timer := Exact()):
            model(0)
        return timer.elapsed_ms

    said = trials.on_service(call, times=14)
    assert said == pytest.approx([*trials.COLD_MS, *trials.SERVICE_MS])
    assert trials.on_service(trials.by_wall_clock, times=1) == pytest.approx([95.0 - 1500.0])


def test_intervals_are_tried_on_what_they_promise():
    rules = {
        "all": (lambda times: (0.0, 1e9), "median"),
        "none": (lambda times: (0.0, 0.0), "mean"),
        "at the median": (lambda times: (0.69, 1.0), "median"),
        "at the mean": (lambda times: (1.0, 1.0), "mean"),
        "half": (lambda times: (median(times), 1e9), "median"),
    }
    held = trials.coverage(rules, [5], 400)
    assert held["all", "exponential"] == held["all", "log-normal"] == {5: 1.0}
    assert held["none", "exponential"] == held["none", "log-normal"] == {5: 0.0}
    assert held["at the median", "exponential"] == held["at the median", "log-normal"] == {5: 1.0}
    assert held["at the mean", "exponential"] == {5: 1.0}
    assert held["at the mean", "log-normal"] == {5: 0.0}
    assert all(0.4 < held["half", name][5] < 0.6 for name in trials.DRAWS)


def test_the_textbooks_interval_is_1_96_standard_errors_around_the_mean():
    low, high = trials.textbook([1.0, 2.0, 3.0, 6.0])
    assert (low + high) / 2 == pytest.approx(3.0)
    assert high - low == pytest.approx(2 * 1.96 * (14 / 3) ** 0.5 / 2)


def test_made_up_times_are_lists_with_their_clocks_step():
    series = trials.faulty()
    assert {name for name, (_, step) in series.items() if step == 1.0} == {"clock of 1 ms"}
    assert all(len(times) == 60 and min(times) > 0 for times, _ in series.values())


def test_ten_calls_are_measured_one_by_one():
    asked = []

    def latency(model, x, **options):
        asked.append((model, x, options))
        return float(len(asked))

    assert trials.ten(latency, "m") == [float(n) for n in range(1, 11)]
    assert asked[0] == ("m", 0, {"warmup": 0, "iterations": 1})


def test_shares_of_own_time_are_of_the_whole():
    profile = cProfile.Profile()
    model, x = trials.lenet()
    profile.runcall(model, x)
    shares = trials.own_time(profile, most=3)
    assert len(shares) == 4 and list(shares)[-1] == "all others"
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.values())[:3] == sorted(list(shares.values())[:3], reverse=True)


HELD = {("ranks", "skewed"): {10: 0.98, 30: 0.95}, ("textbook", "skewed"): {10: 0.9, 30: 0.92}}
PICTURES = {
    "ns a call against calls a sample. median, fastest and slowest of 3 samples from 6 at 1 to 3": (
        lambda: plot.sample_sizes({1: [5.0, 6.0, 9.0], 4: [3.0, 3.0, 2.0]}, title="Sizes")
    ),
    "ms against call. median, fastest and slowest of 2 starts from 10 at 1 to 2 at 2": (
        lambda: plot.starts([[9.0, 1.0], [11.0, 3.0]], title="Starts")
    ),
    "median and 95 % interval from 3 at 10 to 2 at 20": (
        lambda: plot.medians([(10, 3.0, 1.0, 5.0), (20, 2.0, 2.0, 3.0)], title="First calls")
    ),
    "ranks, skewed from 98% at 10 to 95% at 30; textbook, skewed from 90% at 10 to 92% at 30": (
        lambda: plot.promises(HELD, {10: 0.979, 30: 0.957}, 100, title="Promised")
    ),
    "images a second against latency in ms. 1: 5, 200; 8: 12, 667": (
        lambda: plot.batches(
            [(1, (5.0, 4.0, 6.0), (200.0, 250.0, 166.7)), (8, (12.0,) * 3, (666.7,) * 3)],
            title="Batches",
        )
    ),
    "to the first token, with 4 to 5; each further token, with -1 to 2": (
        lambda: plot.tokens({"with": [4.0, 5.0]}, {"with": [2.0, -1.0]}, title="Tokens")
    ),
}


@pytest.mark.parametrize("said", PICTURES)
def test_a_picture_says_what_it_shows(said):
    picture = PICTURES[said]()
    assert said in picture.alt and picture.png(dpi=50).startswith(b"\x89PNG")
