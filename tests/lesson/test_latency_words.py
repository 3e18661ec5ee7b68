"""What lesson 03's cells say of measured times: each sentence, with either outcome."""

from __future__ import annotations

import pytest

from proflab import Tensor
from proflab.lesson import latency_words as words


def test_a_clock_has_what_python_says_of_it_and_a_stopwatch_does_not():
    assert words.clock_row("time", 50.25).split()[:4] == ["time", "50.250", "ms", "yes"]
    assert words.clock_row("perf_counter", 50.0).split()[3] == "no"
    assert words.clock_row("your Timer", 50.0).split() == ["your", "Timer", "50.000", "ms"]


def test_the_slowest_call_is_given_in_fastest_ones():
    said = words.slowest_to_fastest("MLP", [2.0, 1.0, 3.0])
    assert said == "MLP: the slowest call took 3.00 times as long as the fastest"


@pytest.mark.parametrize("alone, said", [([9.0, 7.0, 8.0], "+3 ns"), ([4.0, 4.0], "-1 ns")])
def test_a_call_alone_takes_more_or_less_than_in_a_sample(alone, said):
    text = words.timed_alone({1: alone, 16: [6.0, 6.0], 4096: [5.0, 5.0]})
    assert text.startswith("5 ns a call in samples of 4,096; timed alone")
    assert text.splitlines()[1].startswith(f"{said}: the Timer's own work")


def test_the_first_call_is_compared_with_the_median_of_those_from_the_sixth_on():
    warm = [2.0, 2.0, 50.0]
    starts = [[8.0, 9.0, 9.0, 9.0, 9.0, *warm], [3.0, 1.0, 1.0, 1.0, 1.0, *warm]]
    said = words.cold_to_warm(starts)
    assert said == "2 starts: the first call took 1.50 to 4.00 times a later one"


def test_the_tail_counts_what_took_longer_than_the_mean():
    assert words.tail([1.0, 1.0, 1.0, 5.0], 2.0).splitlines() == [
        "the slowest of 4 calls took 5.0 times the median;",
        "25% of the calls took longer than the mean",
    ]


def test_the_first_interval_is_compared_with_the_last():
    said = words.narrower([(10, 2.0, 1.0, 3.0), (30, 2.0, 0.0, 9.0), (1000, 4.0, 3.9, 4.1)])
    assert said == "the interval of 10 calls is 100.0% of the median wide, that of 1,000 5.0%"


@pytest.mark.parametrize("codes, said", [([], "nothing"), (["spread", "drift"], "spread, drift")])
def test_a_measurement_has_something_against_it_or_nothing(codes, said):
    text = words.judged("LeNet-5", (1.23456, 2.0), codes)
    assert text == f"LeNet-5              1.235 to 2 ms, 95 %; to be said against it: {said}"


def test_an_interval_in_three_digits():
    assert words.interval((0.17134, 35.0)) == "0.171 to 35"


@pytest.mark.parametrize("other, said", [([[1, 2]], "are the same"), ([[1, 3]], "are NOT the")])
def test_tokens_are_the_same_or_not(other, said):
    assert said in words.same_tokens(2, Tensor([[1, 2]]), Tensor(other))


def test_votes_are_counted_by_batch():
    said = words.votes("latency", [8, 1, 8])
    assert said == "latency     chooses a batch of 1 in 1 of 3, a batch of 8 in 2 of 3 measurements"


@pytest.mark.parametrize(
    "share, said", [(0.5, "as counted"), (0.65, "as counted"), (0.66, "NOT as counted")]
)
def test_ranks_hold_as_often_as_counted_within_three_standard_errors(share, said):
    """Of 100 trials that succeed half of the time, three standard errors are 15 %."""
    assert words.sampling_error(0.5, 100) == pytest.approx(0.15)
    held = {("ranks", "skewed"): {10: share}, ("textbook", "skewed"): {10: 0.1}}
    (line,) = words.promises_kept(held, {10: 0.5}, 100).splitlines()
    assert line == f"skewed       n = 10   ranks {share:.1%}, {said} (50.0% ± 15.0%)"
