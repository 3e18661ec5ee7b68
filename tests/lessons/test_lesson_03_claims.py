"""What lesson 03 says, against what can be computed; its sentences, fed with either outcome."""

from __future__ import annotations

import math
import re
import statistics
import sys
import time

import numpy as np
import pytest
from cohort.run import ROOT, solved
from lesson_cells import lesson_text, named, show
from lesson_demos import demos_of

from proflab.lesson import doubles
from proflab.models import GPT2
from proflab_course.course.notebook import read_module

TEXT = lesson_text(ROOT / "modules/03_latency/03_latency.py")
SCOPE = solved("lesson_03").scope

pytestmark = pytest.mark.usefixtures("quick_clocks")


@pytest.fixture
def lesson(monkeypatch):
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    monkeypatch.setitem(sys.modules, "demos", demos_of("03_latency"))
    return read_module(ROOT / "modules" / "03_latency" / "03_latency.py", "03_latency")


def coverage(n: int, rank: int) -> float:
    """How probably the rank-th smallest and largest of n times enclose the true median."""
    return 1 - 2 * sum(math.comb(n, k) for k in range(rank)) / 2**n


def ranks(n: int, confidence: float = 0.95) -> tuple[int, int]:
    """The ranks that the solution takes: of the times 1 to n, each is its own."""
    return SCOPE["confidence_interval"](list(range(1, n + 1)), confidence)


DRAWS = {  # how to draw n times, and their true median
    "exponential": (lambda rng, n: rng.exponential(1.0, n), math.log(2)),
    "log-normal": (lambda rng, n: rng.lognormal(0.0, 1.5, n), 1.0),
    "Pareto": (lambda rng, n: 1 + rng.pareto(1.5, n), 2 ** (1 / 1.5)),
    "a few slow calls": (
        lambda rng, n: 4 + rng.exponential(0.1, n) + 40 * (rng.random(n) < 0.05),
        4 + 0.1 * math.log(1 / (1 - 0.5 / 0.95)),
    ),
}


@pytest.mark.parametrize("n", [10, 30, 100])
@pytest.mark.parametrize("draw", DRAWS)
def test_the_interval_holds_as_often_as_the_binomial_distribution_says(draw, n):
    """Simulated on skewed times: within three standard errors of the exact coverage."""
    sample, true_median = DRAWS[draw]
    rng, trials = np.random.default_rng(20), 4000
    interval = SCOPE["confidence_interval"]
    held = 0
    for times in sample(rng, trials * n).reshape(trials, n).tolist():
        low, high = interval(times)
        held += low <= true_median <= high
    exact = coverage(n, ranks(n)[0])
    assert abs(held / trials - exact) <= 3 * math.sqrt(exact * (1 - exact) / trials)
    assert exact >= 0.95


def test_the_ranks_are_the_published_ones():
    """The table of Hollander and Wolfe's kind: n, ranks, coverage in percent."""
    table = {6: (1, 6, 96.9), 7: (1, 7, 98.4), 8: (1, 8, 99.2), 9: (2, 8, 96.1)}
    table |= {10: (2, 9, 97.9), 11: (2, 10, 98.8), 12: (3, 10, 96.1), 15: (4, 12, 96.5)}
    table |= {17: (5, 13, 95.1), 20: (6, 15, 95.9), 100: (40, 61, 96.5)}
    for n, (low, high, percent) in table.items():
        assert ranks(n) == (low, high)
        assert round(100 * coverage(n, low), 1) == percent


def test_the_figures_of_section_6():
    assert f"{coverage(10, 2):.1%}" == "97.9%" and "probability of 97.9 %" in TEXT
    assert f"{coverage(10, 3):.1%}" == "89.1%" and "it would be 89.1 %" in TEXT
    assert f"{coverage(5, 1):.1%}" == "93.8%" and "five times it is 93.8 %" in TEXT
    assert 2**10 == 1024 and math.comb(10, 1) == 10
    with pytest.raises(ValueError):
        ranks(5)


def test_the_counted_coverage_in_the_demo_cell_is_the_exact_one():
    typed = eval(re.search(r"counted = (\{.*?\})", TEXT)[1])
    assert typed == {n: round(coverage(n, ranks(n)[0]), 4) for n in (10, 30, 100)}


def test_the_percentile_of_section_5():
    assert SCOPE["latency_statistics"]([10.0, 20.0, 30.0, 40.0, 50.0])["p95"] == 48.0
    assert (
        "the 95th percentile is at position 3.8, four fifths of the way from 40 to 50: 48" in TEXT
    )


def test_the_service_of_section_4(lesson):
    printed, _ = show(named(lesson, "demo_mistakes"), dict(SCOPE))
    rows = {line[:26].strip(): line[26:].split() for line in printed.splitlines()}
    assert rows["median of ten after two"] == ["4.1", "to", "4.1", "ms"]
    assert rows["fastest of ten"] == ["4.0", "to", "4.0", "ms"]
    assert rows["one call"] == ["4.0", "to", "95.0", "ms"]
    assert printed.count("-1,496.0") == 1
    times = demos_of("03_latency").SERVICE_MS
    assert len(times) == 12 and times.count(38.0) == 1 and statistics.median(times) == 4.1
    assert sum(time > 4.0 for time in times) / 12 == 0.75  # three users in four


def test_coarse_clocks_are_right_in_the_mean_only(lesson):
    printed, picture = show(named(lesson, "demo_ticks"), dict(SCOPE))
    means = [float(mean) for mean in re.findall(r"mean ([\d.]+) ms", printed)]
    assert len(means) == 4 and all(abs(mean - 0.4) < 0.05 for mean in means)
    assert "steps of 15.6 ms    from 0 to 15.62 ms" in printed and "true value 0.4" in picture.alt


def test_pages_that_ask_often(lesson):
    printed, _ = show(named(lesson, "demo_pages"), dict(SCOPE))
    assert f"{1 - 0.95**20:.1%}" == "64.2%" and "64.2%" in printed


def test_each_made_up_series_shows_its_one_fault(lesson):
    printed, _ = show(named(lesson, "demo_warnings"), dict(SCOPE))
    assert [line.split("  ")[-1].strip() for line in printed.splitlines()] == [
        "no warning",
        "spread",
        "outliers",
        "drift",
        "too_short",
    ]


FAST, SLOW = [4.0 + 0.01 * n for n in range(20)], [5.0 + 0.01 * n for n in range(20)]


def test_a_time_of_0_is_told_apart_without_a_factor():
    said = SCOPE["told_apart"]("a", [0.0] * 9, "b", SLOW)
    assert said == "a 0 ms, b 5.09 ms: a is faster, by a factor that a time of 0 does not give"


def test_two_series_are_told_apart_either_way_or_not_at_all():
    told_apart = SCOPE["told_apart"]
    assert told_apart("a", FAST, "b", SLOW) == "a 4.09 ms, b 5.09 ms: a is 1.24 times as fast"
    assert told_apart("b", SLOW, "a", FAST) == "b 5.09 ms, a 4.09 ms: a is 1.24 times as fast"
    mixed = [*FAST[:10], *SLOW[:10]]
    for pair in (("a", FAST, "m", mixed), ("m", mixed, "a", FAST), ("a", FAST, "a", FAST)):
        assert told_apart(*pair).endswith("overlap, so this rule cannot tell them apart")


def test_models_are_measured_in_turns():
    clock, calls = doubles.Clock(), []
    slow, fast = doubles.Model(clock, ms=[9.0, 3.0]), doubles.Model(clock, ms=[7.0, 1.0])
    cases = {
        "slow": (lambda x: (calls.append(x), slow(x)), "s"),
        "fast": (lambda x: (calls.append(x), fast(x)), "f"),
    }
    times = clock.run(SCOPE["in_turns"], cases, range(3))
    assert calls == list("ssff" * 3)
    assert times["slow"] == pytest.approx([3.0] * 3) and times["fast"] == pytest.approx([1.0] * 3)


def test_latencies_are_single_calls_in_order():
    clock = doubles.Clock()
    model = doubles.Model(clock, ms=[1.0, 5.0, 2.0], cold_ms=[50.0, 20.0])
    times = clock.run(SCOPE["latencies"], model, None, 4, warmup=2)
    assert times == pytest.approx([1.0, 5.0, 2.0, 1.0]) and model.calls == 6


def test_the_coverage_cell_shows_when_an_interval_does_not_hold(lesson):
    def shares(scope):
        printed, _ = show(named(lesson, "demo_coverage"), scope)
        rows = {line[:30].strip(): re.findall(r"([\d.]+)%", line) for line in printed.splitlines()}
        return {name: [float(share) for share in row] for name, row in rows.items()}

    right = shares(dict(SCOPE))
    assert right["ranks, counted"] == [97.9, 95.7, 96.5] and len(right) == 5
    wrong = {"confidence_interval": lambda times: (sorted(times)[3], sorted(times)[-4])}
    for name in ("ranks, exponential", "ranks, log-normal"):
        assert right[name] == pytest.approx(right["ranks, counted"], abs=5)  # 200 tries
        assert shares(SCOPE | wrong)[name][0] < 80


def test_the_token_cell_says_whether_both_ways_write_the_same(lesson, monkeypatch):
    printed, _ = show(named(lesson, "demo_tokens"), dict(SCOPE))
    assert "with and without a cache are the same" in printed
    right = GPT2.generate

    def forgetful(self, tokens, new_tokens, use_cache=True):
        return right(self, tokens, new_tokens, use_cache) * (0 if use_cache else 1)

    monkeypatch.setattr(GPT2, "generate", forgetful)
    printed, _ = show(named(lesson, "demo_tokens"), dict(SCOPE))
    assert "with and without a cache are NOT the same" in printed


def test_the_batch_cell_says_what_was_measured(lesson, capsys):
    """Where an image in a batch takes as long as one alone, it does not say that batches help."""
    cell = named(lesson, "demo_batch")
    alike = {1: [1.0, 1.1] * 4, 8: [8.0, 8.8] * 4, 32: [32.0, 35.2] * 4}
    better = {1: [1.0, 1.1] * 4, 8: [4.0, 4.1] * 4, 32: [12.0, 12.5] * 4}
    worse = {1: [1.0, 1.1] * 4, 8: [16.0, 16.1] * 4, 32: [99.0, 98.0] * 4}
    said = []
    for times in (alike, better, worse):
        printed, picture = show(cell, SCOPE | {"in_turns": lambda *_, m=times: m})
        assert "LeNet-5" in picture.alt
        said.append(printed)
    assert "cannot tell" in said[0] and "warnings" not in capsys.readouterr().out
    disturbed = alike | {8: [8.0, 8.1, 8.0, 8.1, 8.0, 8.1, 8.0, 30.0]}
    show(cell, SCOPE | {"in_turns": lambda *_: disturbed})
    told = capsys.readouterr().out
    assert re.search(r"^a batch of 8: .*; warnings: spread, outliers", told, re.M)
    assert re.search("as one of 32 is .* as fast", said[1]) and re.search("alone is .* as", said[2])


def test_the_choosing_cell_counts_what_seven_measurements_chose(lesson):
    steady = {1: [2.0] * 14, 8: [4.0] * 14}
    printed, _ = show(
        named(lesson, "demo_best"),
        SCOPE | {"in_turns": lambda *_: {n: t for n, t in steady.items()}},
    )
    assert re.search(r"throughput +chooses a batch of 8 in 7 of 7 measurements$", printed, re.M)
    assert re.search(r"latency +chooses a batch of 1 in 7 of 7 measurements$", printed, re.M)
    moody = {1: [2.0] * 14, 8: [4.0] * 10 + [40.0] * 4}
    printed, _ = show(
        named(lesson, "demo_best"),
        SCOPE | {"in_turns": lambda *_: {n: t for n, t in moody.items()}},
    )
    assert re.search(
        r"throughput +chooses a batch of 1 in 4 of 7, a batch of 8 in 3 of 7 m", printed, re.M
    )


def test_the_essays_figures():
    before, after = SCOPE["before"], SCOPE["after"]
    assert (f"{statistics.mean(before):.1f}", f"{statistics.mean(after):.1f}") == ("49.5", "50.7")
    interval, median = SCOPE["confidence_interval"], statistics.median
    assert (median(before[1:]), interval(before[1:])) == (48.2, (47.9, 48.5))
    assert (median(after[1:]), interval(after[1:])) == (47.0, (46.8, 47.3))
    assert ranks(9) == (2, 8)
    assert f"{1 - 47.0 / 48.2:.1%}" == "2.5%"
    assert (round(median(before), 2), round(median(after), 2)) == (48.25, 47.05)


def test_a_demo_cell_stops_in_time_on_a_slow_machine(monkeypatch):
    from proflab.lesson.demo import rounds

    monkeypatch.delenv("PROFLAB_DEMO", raising=False)
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def took(seconds_each, **options):
        count = 0
        for _ in rounds(50, 3, **options):
            now[0] += seconds_each
            count += 1
        return count

    assert took(0.01) == 50
    assert took(1.0, seconds=10.0) == 11
    assert took(100.0, least=4) == 4
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    assert took(0.01) == 3


def rank_test_finds(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether Mann and Whitney's test at 5 % tells each row of `a` from that of `b`."""
    n = a.shape[1]
    order = np.argsort(np.argsort(np.concatenate([a, b], axis=1), axis=1), axis=1) + 1
    u = order[:, :n].sum(axis=1) - n * (n + 1) / 2
    return np.abs(u - n * n / 2) - 0.5 > 1.959964 * math.sqrt(n * n * (2 * n + 1) / 12)


@pytest.mark.parametrize("gain, overlap, rank", [(0.0, 0.004, 0.05), (0.03, 0.09, 0.455)])
def test_overlap_misses_what_a_rank_test_finds(gain, overlap, rank):
    """30 calls each, 6 % spread: the figures that section 6 quotes, to a percentage point."""
    a, b = np.random.default_rng(5).normal([[[1.0]], [[1.0 - gain]]], 0.06, (2, 20_000, 30))
    low, high = ranks(30)
    (a_low, a_high), (b_low, b_high) = (
        np.sort(each, axis=1)[:, [low - 1, high - 1]].T for each in (a, b)
    )
    assert np.mean((a_low > b_high) | (b_low > a_high)) == pytest.approx(overlap, abs=0.01)
    assert np.mean(rank_test_finds(a, b)) == pytest.approx(rank, abs=0.015)
    assert "The rule sees about 9 of 100 such gains. A *rank test*" in TEXT
    assert "sees about 45 in the same data" in TEXT


def test_calls_in_order_break_the_promise_and_shuffled_ones_keep_it(lesson):
    printed, _ = show(named(lesson, "demo_order"), dict(SCOPE))
    shares = [int(share) for share in re.findall(r"(\d+)% hold", printed)]
    assert max(shares[:3]) <= 25 and min(shares[3:]) >= 94 and "one interval in five" in TEXT
