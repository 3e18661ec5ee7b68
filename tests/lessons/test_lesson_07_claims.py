"""What lesson 07 says is so: its text against counts, its demos and what was recorded."""

from __future__ import annotations

import json
import re
import runpy
import sys

import numpy as np
import pytest
from cohort.run import ROOT, solved
from lesson_cells import lesson_text, named, show
from lesson_checks import check_mark_scheme, check_small_cells, run_busy
from lesson_demos import demos_of

from proflab.lesson.noise import Measured

FOLDER = ROOT / "modules" / "07_scaling"
PICTURES = ROOT / "docs" / "pictures"


@pytest.fixture(scope="module")
def busy(lesson):
    return run_busy(lesson)


@pytest.fixture(scope="module")
def script():
    """The script that draws the lesson's pictures, as names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PICTURES))
        return runpy.run_path(str(PICTURES / "lesson_07.py"))


# ── cells ────────────────────────────────────────────────────────────────────────────────────


def test_cells_are_small():
    check_small_cells("lesson_07")


@pytest.mark.whole
def test_timed_demos_tell_a_busy_machine(lesson, busy):
    timed = [cell.name for cell in lesson.named("demo") if "noise.show_load()" in cell.source]
    assert timed == [
        "demo_growth",
        "demo_holdout",
        "demo_batches",
        "demo_predicted",
        "demo_orders",
        "demo_chase",
        "demo_sets",
        "demo_ladder",
    ]
    assert busy.printed.count("busy: load 9 on 2 processors; the figures may be off") == len(timed)


@pytest.mark.proves
def test_measured_answers_have_an_interval(busy):
    measured = {what for what, answer in busy.answers.items() if isinstance(answer, Measured)}
    assert measured == {
        "half batch of LeNet-5",
        "what main memory adds to a step",
        "BLAS over three Python loops",
    }


def test_arguments_stay_and_tuples_stand_for_lists(text):
    assert "Arguments stay as they are, and a tuple may stand for a list" in text


def test_each_point_of_the_essay_is_one_statement(lesson):
    [essay] = lesson.named("manual")
    check_mark_scheme(essay.source, words=250)


# ── growth and prediction ────────────────────────────────────────────────────────────────────


def test_the_sizes_of_the_held_out_fit_are_timed_there_and_back(lesson):
    seen = []
    scope = dict(solved("lesson_07").scope)
    scope["measure_latency"] = lambda block, x, **_: seen.append(x.shape[1]) or float(x.shape[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFLAB_DEMO", "small")
        patch.setitem(sys.modules, "demos", demos_of("07_scaling"))
        show(named(lesson, "demo_holdout"), scope)
    assert seen == [8, 16, 32, 64, 64, 32, 16, 8]


def test_32_users_pay_for_what_stands_behind_them(busy, text):
    kept = 2 * 48 * 1600 * 1024 * 4 / 320e9 * 1000
    assert round(32 * kept, 1) == 62.9 and "takes 62.9 ms more" in text
    assert "2.0 ms for one user, 62.9 ms for 32" in busy.shown["demo_xl"][0]
    assert "or 32 users in one batch, cost hardly more" not in text


def test_a_model_of_6_gb_is_not_said_to_be_too_large(text):
    assert "does not fit" not in text and "Predict a model without loading it" in text


def test_the_errors_that_the_text_names_are_those_of_the_picture(lesson, script, text):
    points = json.loads((PICTURES / "lesson_07.json").read_text("utf-8"))["points"]
    sentence = demos_of("07_scaling").error_sentence(points)
    assert text.count(sentence) == 2  # below the picture, and in its description
    written = lesson_text(FOLDER / "07_scaling.py")
    assert script["described"](written) == written
    assert "drifts with the size" in text


def test_errors_are_listed_with_the_factor_at_each_size():
    points = [("a", 1.0, 2.0, 3.0), ("a", 2.0, 4.0, 3.0), ("b", 1.0, 1.0, 1.0)]
    first, factors, *_ = demos_of("07_scaling").error_lines(points)
    assert first.endswith("(from -33% to +33%)") and "median error 50% by the bound" in first
    assert factors.endswith(": 3.00, 1.50")
    sentence = demos_of("07_scaling").error_sentence(points)
    assert sentence.endswith("are a 33%, b 0%; at worst -33% and +33%.")


def test_the_picture_names_its_machine_and_load(script):
    assert re.search(r"Measured on .*: \d+ processors?, load \d", script["diagonal"]().alt)


def test_the_t4s_bandwidth_is_said_to_be_the_product_briefs(scope, text):
    assert scope["T4"].source == "NVIDIA's product brief"
    assert "320 GB/s (NVIDIA's product brief; its data sheet says 300)" in text


def test_the_file_with_a_command_line_has_one_name(text):
    assert "my_profiler.py" not in text and "python my_profiler_alone.py gpt2-small" in text


# ── locality ─────────────────────────────────────────────────────────────────────────────────


def test_seconds_of_orders_are_said_to_be_scaled_up(busy):
    text, picture = busy.shown["demo_orders"]
    assert "scaled up from 2 of 100 outer steps" in text
    assert "scaled up from 2 of 100 outer steps" in picture.alt
    [axes] = picture.figure.axes
    labels = [label.get_text() for label in axes.get_legend().get_texts()]
    assert any("scaled up from 2 of 100 outer steps" in label for label in labels)


def test_rounds_of_an_order_are_scaled_to_all_steps(monkeypatch):
    demos, now = demos_of("07_scaling"), [0.0]
    monkeypatch.setattr(demos.time, "perf_counter", lambda: now[0])

    def work(order, a, b, c, steps):
        now[0] += steps * 0.5

    monkeypatch.setattr(demos, "multiply_in_order", work)
    assert demos.rounds_of_order("ijk", 8, steps=2, rounds=3) == [4.0, 4.0, 4.0]
    assert demos.seconds_of_order("ijk", 8, steps=4) == 4.0


def test_more_lines_than_a_core_has_misses_are_explained(text):
    assert "no core has so many misses of its own under way" in text
    assert "*TLB*" in text and "*prefetched*" in text


def test_the_bound_is_called_a_lower_bound(scope, text):
    bound = scope["traffic_bound"]
    assert bound.__doc__.startswith("Return a lower bound ")
    assert bound(10, 1000) == 0.0 and "another bound, 3 n²; the larger one holds" in text
    tiles = scope["cache_misses"](scope["matmul_addresses"](10, "ikj"), 1, 1000)
    assert tiles == 3 * 10**2 > bound(10, 1000)


def test_the_share_at_128000_tokens_by_both_counts(busy, scope):
    text = busy.shown["demo_long_texts"][0]
    assert "all pairs of tokens: 63%" in text and "causal mask keeps: 46%" in text
    assert "also those that a causal mask hides" in scope["reflect_crossover_tokens"].__doc__
    assert scope["reflect_crossover_tokens"](12_288, 0.634535) == pytest.approx(128_000, rel=1e-3)


def test_lecture_and_slide_are_named(text):
    assert "resources/mit6_172f18_lec1/" in text and '"Performance of Different Orders"' in text


def test_sizes_as_an_array_of_ints_cannot_have_powers_below_0():
    """What the case on a power below 0 is about: numpy refuses, floats do not."""
    with pytest.raises(ValueError, match="negative integer powers"):
        np.array([1, 2, 4]) ** -1
