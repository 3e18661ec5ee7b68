"""Lesson 07 as a text: its form, its points, its demo cells, its claims, its pictures."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from statistics import median

import numpy as np
import pytest
from cohort.run import ROOT, solved
from lesson_cells import diagnoses, named, show_all
from lesson_demos import demos_of

from proflab.lesson.hardware import Hardware
from proflab.lesson.plot import Picture

FOLDER = ROOT / "modules" / "07_scaling"


@pytest.fixture(scope="module")
def demos():
    """The lesson's demos, as its cells import them."""
    return demos_of("07_scaling")


@pytest.fixture(scope="module")
def shown(lesson):
    """Each demo cell's text and picture, in the solved lesson, with guesses made."""
    return show_all(lesson)[0]


# ── form ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.whole
def test_demo_cells_end_on_a_picture_or_print(lesson, shown):
    for name, (text, value) in shown.items():
        said = text or "guesses.compare" in named(lesson, name).source
        assert isinstance(value, Picture) or (value is None and said), name


# ── the syllabus's numbers ───────────────────────────────────────────────────────────────────


@pytest.mark.proves
def test_exponents_of_a_block(scope, shown):
    tokens = [2**k for k in range(7, 16)]
    flops = [24 * s * 768**2 + 4 * s**2 * 768 for s in tokens]
    found = scope["local_exponents"](tokens, flops)
    expected = [1.038, 1.074, 1.138, 1.241, 1.387, 1.556, 1.714, 1.832]
    assert found == pytest.approx(expected, abs=5e-4)
    assert (
        "FLOPs rises from 1.04 at 256 to 1.83" in shown["demo_block"][1].alt
    )  # the model's own, counted


def test_extrapolations_are_as_far_off_as_the_text_says(shown):
    text = shown["demo_extrapolate"][0]
    assert "powers (0, 1): 0.394" in text and "powers (0, 1, 2): 1.000" in text
    near = [64, 128, 256, 512]
    flops = [24 * s * 768**2 + 4 * s**2 * 768 for s in near]
    fitted = solved("lesson_07").scope["fit_cost"](near, flops, (0, 1))
    for size, true in zip(near, flops, strict=True):
        assert fitted[0] + fitted[1] * size == pytest.approx(true, rel=0.03)


def test_batches_of_lesson_03(scope):
    cost = scope["batch_cost"]([1, 8, 32, 64], [5, 12, 35, 65])
    expected = [4.069, 0.9646, 1036.7, 4.218]
    assert list(cost.values()) == pytest.approx(expected, rel=2e-4)
    assert cost["overhead_ms"] + 128 * cost["per_sample_ms"] == pytest.approx(127.5, abs=0.05)
    assert 985 / cost["most_per_second"] == pytest.approx(0.95, abs=0.01)


def test_gpt2_xl_on_a_t4(scope, shown):
    t4 = Hardware(8.1e12, 320e9)
    rows = scope["rows_on_meta"](lambda: scope["models"].gpt2("xl"), (1, 1))
    paid = [row for row in rows if scope["predict_ms"]([row], t4, 1.0)]
    assert (len(paid), len(rows)) == (629, 1109)
    text = shown["demo_xl"][0]
    for said in ("22.632 ms", "0.384 ms", "551.571 ms", "432.926 ms", "19.470 ms"):
        assert said in text


def test_misses_by_order_and_tile(scope):
    def misses(order, tile=None):
        return scope["cache_misses"](scope["matmul_addresses"](32, order, tile), 8, 32)

    expected = {"ikj": 4352, "kij": 5248, "ijk": 33_024, "jik": 37_888, "kji": 65_664}
    assert {order: misses(order) for order in expected} == expected
    assert misses("jki") == 66_560
    assert [misses("ijk", tile) for tile in (4, 8, 16)] == [3200, 1152, 4608]
    bound = scope["traffic_bound"](32, 256) / 8
    assert bound == 448 and 1152 / bound < 2.6


def test_orders_in_c_rank_as_the_misses_do_but_for_one_pair(shown):
    lines = shown["demo_orders"][0].splitlines()[:6]
    rows = [re.match(r"(...): +([\d,]+) misses, +([\d,]+) s in C", line).groups() for line in lines]
    seconds = [int(row[2].replace(",", "")) for row in rows]
    falls = [rows[at][0] for at, (a, b) in enumerate(pairwise(seconds)) if b < a]
    assert falls == ["ijk"] and seconds[-1] / seconds[0] == pytest.approx(17.2, abs=0.1)


def test_mits_ladder(shown):
    text, picture = shown["demo_mit"]
    assert text.startswith("30,060 times as fast")
    listed = picture.alt.partition(", divide and conquer: 1.38 times. ")[2]
    steps = [float(step) for step in re.findall(r": ([\d.]+) times", listed)]
    assert steps == [8.81, 2.07, 6.50, 3.25, 17.97, 1.70, 1.38, 1.86]
    assert (
        "parallel loops: 17.97 times 28%" in picture.alt and "Java: 8.81 times 21%" in picture.alt
    )


def test_the_table_of_distances_shows_what_each_line_costs(shown):
    text = shown["demo_distances"][0]
    assert "given: 13.51 ms on DESK, 3 ops" in text and "yours: 0.5819 ms on DESK, 8 ops" in text
    assert " 75%  bytes " in text and " 86%  bytes " in text


def test_crossovers_and_the_claim_on_128000_tokens(scope):
    cross = scope["reflect_crossover_tokens"]
    assert [cross(768), cross(768, 0.1), cross(12_288)] == [4608, pytest.approx(512), 73_728]
    assert 128_000 > cross(12_288)


def test_littles_law_in_the_text(lesson):
    text = "".join(cell.source for cell in lesson.named("text"))
    assert "A memory of 100 ns that is to deliver 20 GB/s must have 2,000 bytes, 31 lines" in text
    assert 100e-9 * 20e9 == pytest.approx(2000) and round(2000 / 64) == 31
    assert 64 / 100e-9 == pytest.approx(0.6e9, rel=0.07)


def test_worked_examples_of_the_text(scope):
    assert scope["local_exponents"]([128, 256], [2, 4.5])[0] == pytest.approx(1.17, abs=0.005)
    assert scope["fit_cost"]([10, 20], [9, 17], (0, 1)) == pytest.approx([1, 0.8])
    assert scope["holdout_error"]([10, 20, 40], [8, 13, 46], (0, 1)) == pytest.approx(-0.5)
    assert scope["traffic_bound"](100, 400) == pytest.approx(99_200)
    shares = [row["share"] for row in scope["speedup_steps"]({"a": 12, "b": 6, "c": 2})]
    assert shares == pytest.approx([0.39, 0.61], abs=0.005)
    row = {"matmul_flops": 10**6, "elementwise_flops": 0, "bytes_read": 2 * 10**6}
    assert scope["predict_ms"]([row | {"bytes_written": 0}], Hardware(1e9, 1e9), 0.5) == 2.5


# ── prediction from one recorded pass ────────────────────────────────────────────────────────


def test_factors_carry_a_recorded_pass_to_another_size(scope):
    """Ops at a half and at a tenth of their bound: so are they at ten times the size."""
    roof = Hardware(1e9, 1e9)

    def row(op, flops, ms):
        counts = {"matmul_flops": flops, "elementwise_flops": 0, "bytes_read": 0}
        return counts | {"bytes_written": 0, "op": op, "self_ms": ms}

    recorded = [row("linear", 10**6, 2.0), row("linear", 3 * 10**6, 6.0), row("gelu", 10**6, 10.0)]
    recorded.append(row("reshape", 0, 0.5))
    factors = scope["op_factors"](recorded, roof, 0.0)
    assert factors == pytest.approx({"linear": 2.0, "gelu": 10.0})
    larger = [row("linear", 10**7, 0.0), row("gelu", 10**7, 0.0), row("softmax", 10**6, 0.0)]
    found = scope["predict_corrected_ms"](larger, roof, 0.0, factors)
    assert found == pytest.approx(20 + 100 + 1)


def test_the_opening_picture_is_of_what_was_measured_and_says_what_it_shows():
    record = json.loads((ROOT / "docs" / "pictures" / "lesson_07.json").read_text("utf-8"))
    points = record["points"]
    assert {len([p for p in points if p[0] == model]) for model, *_ in points} == {5}
    assert len({model for model, *_ in points}) == 3
    for model in {p[0] for p in points}:
        own = [p for p in points if p[0] == model]
        bare, better = (median(abs(p[at] / p[3] - 1) for p in own) for at in (1, 2))
        assert better < bare, model
        assert all(bound < ms for _, bound, _, ms in own), model  # the bound is a bound


# ── demos ────────────────────────────────────────────────────────────────────────────────────


def test_a_chain_is_one_round_through_all_places(demos):
    following, place, seen = demos.chain(1000), 0, []
    for _ in range(1000):
        place = int(following[place])
        seen.append(place)
    assert sorted(seen) == list(range(1000)) and place == 0


@pytest.mark.parametrize("order", ["ijk", "ikj"])
def test_python_loops_multiply(demos, order):
    a, b = [[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]
    assert demos.python_loops(order, a, b) == [[19.0, 22.0], [43.0, 50.0]]


@pytest.mark.parametrize("order", ["ijk", "ikj", "jik", "jki", "kij", "kji"])
def test_every_order_of_the_demo_does_the_whole_product(demos, order):
    rng = np.random.default_rng(3)
    a, b, c = rng.random((6, 6)), rng.random((6, 6)), np.zeros((6, 6))
    demos.multiply_in_order(order, a, b, c, steps=6)
    assert np.allclose(c, a @ b)
    assert demos.seconds_of_order(order, 6, steps=2) > 0


def test_a_guess_is_drawn_where_it_is_a_number(demos):
    cost = {"overhead_ms": 3.0, "per_sample_ms": 0.5, "half_batch": 6.0}
    for guess, marks in ((None, 2), (4.0, 3), ("many", 2)):
        picture = demos.batches({1: 3.4, 8: 7.2}, cost, guess)
        [axes] = picture.figure.axes
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert len(labels) == marks + 1 and ("your guess of n½" in labels) == (marks == 3)


# ── what a wrong solution is told ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        ("local_exponents", "differences instead of logarithms", "slopes without logarithms"),
        ("fit_cost", "absolute errors", "errors in milliseconds, not relative ones"),
        ("holdout_error", "measured over promised", "measured over promised"),
        ("batch_cost", "the rate of the largest batch", "the rate of the largest batch"),
        ("predict_ms", "the sum of both times", "both times, one after the other"),
        ("predict_ms", "the longer time of the whole", "the longer time of the whole, not of each"),
        ("matmul_addresses", "B transposed", "B is walked as if it were transposed"),
        ("cache_misses", "first in, first out", "the line that came first goes first (FIFO)"),
        ("traffic_bound", "what is held is not taken off", "what is in the cache is not taken off"),
        ("speedup_steps", "shares of the seconds", "shares of the seconds"),
        ("reflect_crossover_tokens", "a share of the linear part", "a tenth of the linear part"),
    ],
)
def test_a_wrong_solution_is_told_why(exercise, mutant, diagnosis):
    assert diagnosis in diagnoses("lesson_07", exercise, mutant)
