"""What lesson 03's demo cells measure and draw: services on a script, drawn and described."""

from __future__ import annotations

import cProfile
import statistics
import time

import pytest
from lesson_demos import demos_of

demos = demos_of("03_latency")


class Exact:
    """A timer that says how long the scripted calls took, in ms."""

    def __enter__(self):
        self.began = time.perf_counter_ns()

    def __exit__(self, *error):
        self.elapsed_ms = (time.perf_counter_ns() - self.began) / 1e6


def test_models_take_their_inputs():
    for model, x in (*demos.small_models().values(), demos.tiny_layer()):
        assert model(x).shape[0] == x.shape[0]
    assert demos.lenet(3)[1].shape == (3, 1, 32, 32)


def test_a_fresh_python_times_its_first_calls():
    times = demos.first_calls(3)
    assert len(times) == 3 and min(times) > 0


@pytest.mark.whole
def test_a_coarse_clock_shows_whole_steps():
    assert demos.on_clock(Exact(), 1_000, calls=5) == pytest.approx([0.4] * 5)
    assert set(demos.on_clock(Exact(), 1_000_000)) == {0.0, 1.0}


@pytest.mark.whole
def test_a_service_is_cold_first_and_is_called_in_a_row():
    def call(model):
        with (timer := Exact()):
            model(0)
        return timer.elapsed_ms

    said = demos.on_service(call, times=14)
    assert said == pytest.approx([*demos.COLD_MS, *demos.SERVICE_MS])
    assert demos.on_service(demos.by_wall_clock, times=1) == pytest.approx([95.0 - 1500.0])


def test_intervals_are_tried_on_what_they_promise():
    rules = {
        "all": (lambda times: (0.0, 1e9), "median"),
        "none": (lambda times: (0.0, 0.0), "mean"),
        "at the median": (lambda times: (0.69, 1.0), "median"),
        "at the mean": (lambda times: (1.0, 1.0), "mean"),
        "half": (lambda times: (statistics.median(times), 1e9), "median"),
    }
    held = demos.coverage(rules, [5], 400)
    assert held["all", "exponential"] == held["all", "log-normal"] == {5: 1.0}
    assert held["none", "exponential"] == held["none", "log-normal"] == {5: 0.0}
    assert held["at the median", "exponential"] == held["at the median", "log-normal"] == {5: 1.0}
    assert held["at the mean", "exponential"] == {5: 1.0}
    assert held["at the mean", "log-normal"] == {5: 0.0}
    assert all(0.4 < held["half", name][5] < 0.6 for name in demos.DRAWS)


def test_the_textbooks_interval_is_1_96_standard_errors_around_the_mean():
    low, high = demos.textbook([1.0, 2.0, 3.0, 6.0])
    assert (low + high) / 2 == pytest.approx(3.0)
    assert high - low == pytest.approx(2 * 1.96 * (14 / 3) ** 0.5 / 2)


def test_made_up_times_are_lists_with_their_clocks_step():
    series = demos.faulty()
    assert {name for name, (_, step) in series.items() if step == 1.0} == {"clock of 1 ms"}
    assert all(len(times) == 60 and min(times) > 0 for times, _ in series.values())


def test_the_recorded_calls_are_in_milliseconds():
    recorded = demos.recorded()
    assert len(recorded) == 6000 and 0.01 < statistics.median(recorded) < 10


def test_ten_calls_are_measured_one_by_one():
    asked = []

    def latency(model, x, **options):
        asked.append((model, x, options))
        return float(len(asked))

    assert demos.ten(latency, "m") == [float(n) for n in range(1, 11)]
    assert asked[0] == ("m", 0, {"warmup": 0, "iterations": 1})


def test_shares_of_own_time_are_of_the_whole():
    profile = cProfile.Profile()
    model, x = demos.lenet()
    profile.runcall(model, x)
    shares = demos.own_time(profile, most=3)
    assert len(shares) == 4 and list(shares)[-1] == "all others"
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.values())[:3] == sorted(list(shares.values())[:3], reverse=True)


TIMES = [0.2, 0.21, 0.2, 0.25, 0.2, 7.5]
HELD = {("ranks", "skewed"): {10: 0.98, 30: 0.95}, ("textbook", "skewed"): {10: 0.9, 30: 0.92}}
BATCHES = [("1", (5.0, 6.0, 4.0), (200.0, 166.7, 250.0)), ("8", (12.0,) * 3, (666.7,) * 3)]
PICTURES = {
    "In order (ms, in order; dashed: the median). one: 6 calls from 0.2 to 7.5, median 0.205; "
    "two: 2 calls from 3 to 4, median 3.5": (
        lambda: demos.runs({"one": TIMES, "two": [3.0, 4.0]}, title="In order")
    ),
    "Often: 6 times from 0.2 to 7.5 ms. median 0.2, p99 7.1": (
        lambda: demos.histogram(TIMES, {"median": 0.2, "p99": 7.1}, title="Often")
    ),
    "Same: 2 times from 0.2 to 0.2 ms. median 0.2": (
        lambda: demos.histogram([0.2, 0.2], {"median": 0.2}, title="Same")
    ),
    "Lines: ms against call. a rises from 5 at 1 to 6 at 2": (
        lambda: demos.intervals(
            {"a": [(1, 5.0, 4.0, 9.0), (2, 6.0, 6.0, 6.0)]}, x="call", y="ms", title="Lines"
        )
    ),
    "Sizes: ns against n. median, fastest and slowest of 3 samples falls from 6 at 1 to 3 at 4": (
        lambda: demos.spans(
            {1: [5.0, 6.0, 9.0], 4: [3.0, 3.0, 2.0]},
            "3 samples",
            x="n",
            y="ns",
            log="xy",
            title="Sizes",
        )
    ),
    "ranks, skewed stays between 95% and 98% from 10 to 30; textbook, skewed stays between 90%": (
        lambda: demos.promises(HELD, {10: 0.979, 30: 0.957}, 100, title="Promised")
    ),
    "Batches: a second against ms. 1: 5, 200; 8: 12, 667": (
        lambda: demos.trade_off(BATCHES, x="ms", y="a second", title="Batches")
    ),
    "Ways (ms), true value 4. right 4 to 4.1; far -1,495 to 90": (
        lambda: demos.estimates(
            {"right": [4.0, 4.1], "far": [-1495.0, 90.0]}, truth=4.0, limits=(-5, 45), title="Ways"
        )
    ),
    "first token, with 4 to 5; further token, with -1 to 2": (
        lambda: demos.tokens({"with": [4.0, 5.0]}, {"with": [2.0, -1.0]}, title="Tokens")
    ),
}


@pytest.mark.parametrize("said", PICTURES)
def test_a_picture_says_what_it_shows(said):
    picture = PICTURES[said]()
    assert said in picture.alt and picture.png(dpi=50).startswith(b"\x89PNG")


def test_what_lies_outside_is_written_at_the_edge():
    (ways,) = [draw for said, draw in PICTURES.items() if said.startswith("Ways")]
    axes = ways().figure.axes[0]
    assert {text.get_text().strip() for text in axes.texts} == {"true: 4", "◀ -1,495", "90 ▶"}


def test_promises_are_drawn_with_three_standard_errors():
    axes = demos.promises({("r", "d"): {10: 0.5}}, {10: 0.5}, 100, title="T").figure.axes[0]
    (bar,) = axes.collections[0].get_segments()
    assert bar[:, 1] == pytest.approx([0.35, 0.65])


def drawn(guess):
    """A picture of one sample size, with this guess."""
    return demos.spans({1: [5.0], 4: [3.0]}, "1", x="n", y="ns", title="T", guess=guess)


def test_a_guess_is_a_dashed_line_across():
    axes = drawn(2).figure.axes[0]
    (line,) = [each for each in axes.lines if each.get_label() == "your guess"]
    assert list(line.get_xdata()) == [2, 2] and drawn(2).alt.endswith("your guess: 2")


@pytest.mark.parametrize("guess", [None, ..., 0, -3, "many", True, float("nan"), float("inf")])
def test_what_is_no_guess_draws_nothing(guess):
    assert "guess" not in drawn(guess).alt
    assert not [each for each in drawn(guess).figure.axes[0].lines if "guess" in each.get_label()]


@pytest.mark.parametrize("high, marked", [(90.0, [1, 2, 5, 10, 20, 50]), (9e4, [1, 10, 100, 1e3])])
def test_a_short_logarithmic_axis_is_marked_between_the_powers(high, marked):
    points = [(1, 1.0, 1.0, 1.0), (2, high, high, high)]
    figure = demos.intervals({"a": points}, x="n", y="ms", log="y", title="T").figure
    figure.draw_without_rendering()
    assert set(marked) <= set(figure.axes[0].get_yticks())


@pytest.mark.parametrize("time, text", [(0.17134, "0.171"), (35.0, "35"), (-1495.5, "-1,496")])
def test_short_times(time, text):
    assert demos.ms(time) == text
