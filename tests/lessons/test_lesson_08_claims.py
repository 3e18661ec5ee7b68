"""What lesson 08 says is so: its text against simulation, arithmetic and what was recorded."""

from __future__ import annotations

import json
import re
import runpy

import numpy as np
import pytest
from cohort.run import ROOT
from lesson_cells import diagnoses, named
from lesson_checks import check_mark_scheme, check_small_cells, run_busy
from lesson_demos import demos_of

from proflab.lesson.noise import Measured

FOLDER = ROOT / "modules" / "08_benchmarking"
PICTURES = ROOT / "docs" / "pictures"


@pytest.fixture(scope="module")
def busy(lesson):
    return run_busy(lesson)


# ── cells ────────────────────────────────────────────────────────────────────────────────────


def test_cells_are_small():
    check_small_cells("lesson_08")


def test_timed_demos_tell_a_busy_machine(lesson, busy):
    timed = [cell.name for cell in lesson.named("demo") if "noise.show_load()" in cell.source]
    assert timed == ["demo_alarms", "demo_coverage", "demo_days", "demo_suite"]
    assert busy.printed.count("busy: load 9 on 2 processors; the figures may be off") == len(timed)


def test_measured_answers_have_an_interval(busy):
    measured = {what for what, answer in busy.answers.items() if isinstance(answer, Measured)}
    assert measured == {"windows of 300 that hold the median", "the cache on new images"}


def test_arguments_stay_and_tuples_stand_for_lists(text):
    assert "arguments stay as they are, and a tuple may stand for a list" in text


def test_each_point_of_the_essay_is_one_statement(lesson):
    [essay] = lesson.named("manual")
    check_mark_scheme(essay.source, words=250)


def test_the_picture_names_its_machine_and_load():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PICTURES))
        suite = runpy.run_path(str(PICTURES / "lesson_08.py"))["suite"]()
    assert re.search(r"Measured on .*: \d+ processors?, load \d", suite.alt)


# ── order ────────────────────────────────────────────────────────────────────────────────────


def false_alarms(scope, period, order, rounds, trials=200):
    """Return the share of experiments on one program in which pairs in this order alarm.

    Calls spread by 3 %, and every `period`-th takes 5 % longer.
    """
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(trials):
        times = np.exp(rng.normal(0, 0.03, 2 * rounds))
        times[rng.integers(period) :: period] *= 1.05
        drawn = [rng.permutation(["A", "B"]) for _ in range(rounds)]
        turns = {"ABAB": ["A", "B"] * rounds, "drawn": np.concatenate(drawn)}
        names = np.array(turns.get(order, scope["run_order"](["A", "B"], rounds)))
        found = scope["speedup_interval"](
            times[names == "A"].tolist(), times[names == "B"].tolist()
        )
        alarms += found["low"] > 1 or found["high"] < 1
    return alarms / trials


def test_mirrored_order_cancels_a_period_of_two_and_not_one_of_four(scope, text):
    assert "cancels a steady drift and a period of two calls" in text
    assert false_alarms(scope, 2, "ABAB", 20) > 0.8
    assert false_alarms(scope, 2, "mirrored", 20) < 0.05
    assert "against a period of four" in text and "draw the order of each round at random" in text
    assert false_alarms(scope, 4, "mirrored", 20) > 0.2
    assert false_alarms(scope, 4, "drawn", 20) < 0.1


def test_the_alarms_of_abab_and_of_a_drawn_order_are_shown(busy):
    alt = busy.shown["demo_alarms"][1].alt
    assert all(f"pairs, {order} " in alt for order in ("ABAB", "mirrored", "drawn"))
    assert "How often each rule finds a difference between equal programs" in alt


def test_two_blocks_are_said_to_prove_nothing(text):
    assert "these calls came in two blocks: section 3 says why you may not conclude it" in text
    assert "if they run one right after the other" in text
    assert "No formula that ignores their order repairs that" in text


# ── gates ────────────────────────────────────────────────────────────────────────────────────


def test_the_price_of_many_comparisons_is_computed(busy, text):
    told = busy.shown["demo_nights"][0]
    rows = re.findall(r"(\d+) rounds, +(\d+) .* unclear (\d+)%, a gain of 5 % seen (\d+)%", told)
    found = {(int(rounds), int(many)): (int(a), int(b)) for rounds, many, a, b in rows}
    assert found[12, 1][1] > 70
    assert found[12, 40][0] > 90 and found[12, 40][1] < 35  # most gains are missed
    assert found[40, 40][0] < 10 and found[40, 40][1] > 90
    assert "are enough for an interval to *exist*" in text and "buy quiet nights" not in text


def test_unclear_is_not_blamed_on_too_few_rounds(text):
    assert 'Otherwise "unclear": more rounds may decide.' in text
    assert "there were too few rounds" not in text


def test_a_gate_may_find_a_gain_that_reaches_into_the_tolerance(scope, text):
    assert "This one need not: once 1 is excluded there is a gain" in text
    assert scope["gate"]([4.0] * 6, [3.9, 3.0, 3.0, 3.0, 3.0, 3.0], 0.1) == "faster"


# ── windows, users ───────────────────────────────────────────────────────────────────────────


def test_the_recorded_calls_lie_in_the_range_that_is_said(scope, text):
    calls = np.array(json.loads((ROOT / "modules/03_latency/calls.json").read_text("utf-8")))
    shares = {}
    for count in (30, 300):
        windows = calls[: len(calls) // count * count].reshape(-1, count).tolist()
        ends = [scope["confidence_interval"](window) for window in windows]
        shares[count] = np.mean([low <= np.median(calls) <= high for low, high in ends])
    assert "windows of 30 calls held the median in 22 to 57 %, windows of 300 in 5 to 35 %" in text
    assert 0.215 <= shares[30] <= 0.57 and 0.05 <= shares[300] <= 0.35


def test_lesson_03s_calls_are_read_where_they_are(tmp_path):
    demos = demos_of("08_benchmarking")
    assert demos.recorded_calls(tmp_path / "calls.json") is None
    calls = demos.recorded_calls(ROOT / "modules" / "03_latency" / "calls.json")
    assert len(calls) == 6000 and np.median(calls) == 154


def test_p99_of_services_is_10_ms_by_every_definition(busy, text):
    service = [1000 if number == 400 else 10 for number in range(1000)]
    methods = ("linear", "lower", "higher", "nearest", "hazen", "weibull", "median_unbiased")
    assert {float(np.percentile(service, 99, method=method)) for method in methods} == {10.0}
    assert "one every 20 ms" in text and "*service* times is 10 ms" in text
    assert busy.answers["p99 of what users wait"] == 900.1


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def test_two_stories_fit_the_printed_minutes(busy, text):
    lines = [line.split(":", 1) for line in busy.shown["demo_slip"][0].splitlines()[:4]]
    told = {key: [round(float(n)) for n in numbers.split(",")] for key, numbers in lines}
    assert told["with one slip"] == told["over the second row"] == told["printed"]
    assert "31 of 120 min is 3.87 times as fast, 74% less time" in busy.shown["demo_slip"][0]
    assert "The table cannot decide" in text and "63 or 45 minutes" in text
    assert "One slip explains all four minutes" not in text


def test_the_unit_decides_which_memory_holds(busy, scope, text):
    told = busy.shown["demo_units"][0]
    assert "GB of 10⁹ bytes, float32: at least 53.9, does not hold" in told
    assert "GB of 1024³ bytes, float32: at least 50.2, holds" in told
    assert "GB of 1024³ bytes, checkpointing: at least 25.1, does not hold" in told
    assert "LLaMA-13B: 52.1 and 26.0 GB" in told
    assert "Ordinary full fine-tuning holds weights and gradients" in text
    assert scope["audit_memory"](10**9, [("a", 2, 2)]) == scope["audit_memory"](
        10**9, [("a", 2, 2)], 10**9
    )


def test_invented_reports_are_called_that(text):
    assert "two tables made up after published reports" in text
    assert "training ResNet-50 (made up after such reports)" in text
    assert "A second report (made up, too)" in text


def test_sources_and_names(text):
    assert "10.1145/1508244.1508275" in text and "10.1145/2464157.2464160" in text
    assert "many libraries round half away from zero" in text
    assert "my_profiler.py" not in text and "python my_profiler_alone.py compare" in text


# ── power ────────────────────────────────────────────────────────────────────────────────────


def test_without_a_sensor_an_example_is_drawn_and_called_one(lesson):
    demos = demos_of("08_benchmarking")
    example = [(0, 50), (1, 250)]
    assert f"example={example}"[:-1] in named(lesson, "demo_energy").source
    picture = demos.power(demos.PowerRecord("no sensor"), example)
    assert picture.alt.startswith("An example, made up") and "1 s 250 W" in picture.alt
    record = demos.PowerRecord("Power by a sensor", 5.0, 7, [(0.1, 20.0), (0.2, 30.0)])
    picture = demos.power(record, example)
    assert picture.alt == "Power by a sensor. 0.1 s 20 W, 0.2 s 30 W"


# ── what a wrong solution is told ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        ("rank_test", "one-sided, twice", "twice the smaller tail"),
        ("speedup_interval", "the lower of two medians", "the lower of the two in the middle"),
        ("speedup_interval", "the upper of two medians", "the upper of the two in the middle"),
        ("audit_memory", "the unit is ignored", "the unit is ignored"),
    ],
)
def test_a_wrong_solution_is_told_why(exercise, mutant, diagnosis):
    assert diagnosis in diagnoses("lesson_08", exercise, mutant)
