"""Lesson 09 as a text: its form, its points, its demo cells, its claims."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from cohort.run import ROOT, earned, solved
from lesson_cells import diagnoses, show_all

import proflab
from proflab.lesson import doubles
from proflab.lesson.plot import Picture
from proflab.lesson.race.plans import RULES

FOLDER = ROOT / "modules" / "09_optimization"


@pytest.fixture(scope="module")
def shown(lesson):
    """Each demo cell's text and picture, in the solved lesson."""
    return show_all(lesson)[0]


# ── form ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.whole
def test_demo_cells_end_on_a_picture_or_print(shown):
    for name, (printed, value) in shown.items():
        assert isinstance(value, Picture) or (value is None and printed), name


def test_each_cure_names_the_section_where_it_was_measured(text):
    rows = re.findall(r"^\| ([^|]+)(?:\|[^|]+){3}\| ([\d, ]+) \|$", text, re.M)
    assert len(rows) >= 7
    sections = set(re.findall(r"^## (\d+) · ", text, re.M))
    for symptom, where in rows:
        assert where.split(", ") and set(where.split(", ")) <= sections, symptom


# ── what the text says ───────────────────────────────────────────────────────────────────────


@pytest.mark.whole
def test_the_slow_script_shows_its_bottlenecks(shown):
    rows = re.findall(r"^(.+?) +([\d.]+)% of the time", shown["demo_slow"][0], re.M)
    shares = {name: float(share) for name, share in rows}
    assert shares["data loading"] > 5 and max(shares.values()) < 100
    mb, function = re.search(
        r"leaves ([\d.]+) MB, allocated in (\w+)", shown["demo_slow"][0]
    ).groups()
    assert float(mb) > 1 and function != "None"


def test_loaders_of_the_text(scope):
    simulate = scope["simulate_loader"]
    totals = [simulate([30] * 8, 10, workers)["total_ms"] for workers in range(5)]
    assert totals == [320, 250, 140, 110, 110]


def test_float16_of_the_text():
    half = np.finfo(np.float16)
    assert float(half.max) == 65_504 and f"{half.smallest_normal:.2e}" == "6.10e-05"
    assert f"{half.smallest_subnormal:.2e}" == "5.96e-08" == f"{2.0**-24:.2e}"
    assert float(np.float16(1) + half.eps) == pytest.approx(1.00098, abs=1e-5)
    assert np.float16(2.0**-25) == 0 and np.float16(2.0**-15) * np.float32(1) / 1024 == 2.0**-25


@pytest.mark.whole
def test_sums_in_sixteen_bits(shown):
    said = shown["demo_halves"][0]
    assert "stops after 2,798 terms" in said
    assert np.float16(32) + np.float16(0.01) == 32 > np.float16(31.98)
    sums = re.findall(r"^ +([\d.]+) and ([\d.]+), terms of float", said, re.M)
    assert sums == [("10", "1.01"), ("9.9531", "1"), ("10.002", "1.01")]


@pytest.mark.whole
def test_saved_bytes_of_small_batches(shown):
    assert re.findall(r"([\d.]+) MB are saved", shown["demo_accumulate"][0]) == ["153.9", "38.5"]


def test_bytes_of_the_chain(scope):
    parts = 804, 800, 900, 1200, 800
    assert sum(parts) == 4504 and round(4504 / 2104, 2) == 2.14
    sizes = dict.fromkeys("x y bias gelu drop add norm".split(), 400) | {"b": 4, "mask": 100}
    chain = scope["chain"]
    for (name, *_), size in zip(chain, parts, strict=True):
        alone = [[name]] + [[other] for other, *_ in chain if other != name]
        assert scope["graph_bytes"](chain, sizes, alone) == 4504 and size > 0
    assert scope["graph_bytes"](chain, sizes, scope["fuse"](chain)) == 2104


def test_two_partial_softmaxes_of_the_text(scope):
    parts = [
        [np.array(item) for item in part]
        for part in (([2.0], [1.5], [[1.0]]), ([5.0], [1.0], [[4.0]]))
    ]
    highest, total, values = scope["merge"](*map(tuple, parts))
    assert (highest[0], round(total[0], 4), round(values[0, 0], 4)) == (5, 1.0747, 4.0498)
    assert round(values[0, 0] / total[0], 3) == 3.768


@pytest.mark.whole
def test_bytes_that_tiles_move(shown, lesson):
    printed, picture = shown["demo_tiles"]
    assert re.findall(r"(given|yours): ([\d,]+) bytes between", printed) == [
        ("given", "1,114,112"),
        ("yours", "262,144"),
    ]
    assert 278_528 * 4 == 1_114_112 and "278_528" in _demo(lesson, "demo_tiles")
    assert "floor 131,072" in picture.alt and 32_768 * 4 == 131_072


def _demo(lesson, name):
    return next(cell.source for cell in lesson.cells if cell.name == name)


@pytest.mark.whole
def test_steps_and_memory_of_the_text(shown, text):
    found = re.findall(r": ([\d.]+) ms on DESK.* ([\d,]+) of 5,000,000", shown["demo_recompute"][0])
    assert found == [("7.766", "3,043,844"), ("6.495", "4,940,036")]
    assert "holds 3.0 MB at its peak and costs 7.77 ms" in text
    assert "it costs 5.73 ms and holds 6.7 MB" in text  # tests/lesson/test_race_memory.py


def test_held_bytes_is_right_to_a_percent(scope):
    with proflab.meta():
        model, x = scope["blocks"](8, 64)(), proflab.zeros(256, 64)
    held = [scope["held_bytes"](model, x, again) for again in (0, 3)]
    assert held == [pytest.approx(live, rel=0.01) for live in (6_715_652, 4_940_036)]


@pytest.mark.whole
def test_an_epoch_by_a_plan(shown, scope, text):
    printed, picture = shown["demo_plan"]
    assert "turn by turn: 768 ms" in printed and "your plan: 617 ms" in printed
    loads = scope["images48"]
    assert (len(loads), min(loads), max(loads), sum(loads) / 4) == (48, 20, 120, 507.5)
    assert "Turn by turn takes 768 ms; no plan can beat 507.5 ms, a quarter of the sum." in text
    rule, parameters = RULES["loader"], {"workers": 4, "room": 8, "step_ms": 9}
    given = scope["turn_by_turn"](loads, **parameters)
    assert list(rule.given(load_ms=loads, **parameters)) == given
    assert picture.alt.endswith("of 617 ms")


@pytest.mark.whole
def test_the_slow_attentions_cost(shown):
    prices = re.findall(r": ([\d.]+) ms on T4, (\d+) op", shown["demo_attend"][0])
    assert prices == [("0.2554", "13"), ("0.02189", "1")]


def test_floors_are_products_and_ops_by_hand():
    products = 2 * 2 * 2 * 4 * 256 * 256 * 64  # scores and mixing: two texts of four heads
    found = _floor("attend")
    assert found == pytest.approx(1e3 * products / 8.1e12 + 0.005, rel=1e-3)
    products = 8 * 6 * 2 * 256 * 64 * 256  # of eight blocks, each with six
    found = _floor("recompute")
    assert found == pytest.approx(1e3 * products / 100e9 + 8 * (6 + 2) * 0.005, rel=1e-3)


def _floor(race):
    """Return the floor that a race's visible case says, which is below its full marks."""
    _, answer = solved("lesson_09").tests[race][0].answers[0]
    assert answer.held.options["floor"] < answer.held.full
    return answer.held.options["floor"]


def test_what_decoded_images_take(text):
    images = 32 * 32 * 360 / 1e6
    assert round(images, 1) == 0.4 and round(1_281_167 * 224 * 224 * 3 / 1e9) == 193
    assert "here 0.4 MB, for ImageNet some 190 GB" in text


def test_no_plan_is_better_than_the_plan(scope):
    rng = np.random.default_rng(4)
    for _ in range(20):
        inputs = rng.integers(1, 6, 7).tolist()
        kept = [size + int(more) for size, more in zip(inputs, rng.integers(0, 9, 7), strict=True)]
        found = scope["checkpoint_plan"](kept, inputs)
        assert found["peak"] == min(_peak(kept, inputs, choice) for choice in range(2**6))
        chosen = sum(2 ** (start - 1) for start in found["starts"][1:])
        assert found["starts"][0] == 0 and _peak(kept, inputs, chosen) == found["peak"]


def _peak(kept, inputs, choice):
    """The peak of a plan; bit n of `choice` says that layer n + 1 begins a segment."""
    starts = [0, *(n + 1 for n in range(len(kept) - 1) if choice >> n & 1)]
    ends = [*starts[1:], len(kept)]
    largest = max(sum(kept[a:b]) - inputs[a] for a, b in zip(starts, ends, strict=True))
    return sum(inputs[start] for start in starts) + largest


def test_merging_blocks_gives_the_whole_softmax(scope):
    rng = np.random.default_rng(7)
    scores, values = rng.normal(0, 50, (6, 90)), rng.normal(0, 1, (90, 4))
    for cuts in ([30, 60], [1, 2, 89], [45]):
        whole = None
        for columns in np.split(np.arange(90), cuts):
            block = scores[:, columns]
            weights = np.exp(block - block.max(1, keepdims=True))
            part = block.max(1), weights.sum(1), weights @ values[columns]
            whole = part if whole is None else scope["merge"](whole, part)
        right = np.exp(scores - scores.max(1, keepdims=True))
        right = right @ values / right.sum(1, keepdims=True)
        assert np.abs(whole[2] / whole[1][:, None] - right).max() < 1e-12


def test_fusing_never_moves_more_and_can_always_be_computed(scope):
    rng = np.random.default_rng(5)
    for _ in range(60):
        graph = _random_graph(rng)
        groups = scope["fuse"](graph)
        sizes = {name: int(rng.integers(1, 50)) for node in graph for name in (node[0], *node[1])}
        alone = [[name] for name, _, _ in graph]
        fused, single = (scope["graph_bytes"](graph, sizes, way) for way in (groups, alone))
        assert fused <= single
        place = {
            name: (at, group)
            for at, (name, *_) in enumerate(graph)
            for group in groups
            if name in group
        }
        last = {id(group): max(place[name][0] for name in group) for group in groups}
        for name, inputs, _ in graph:  # what a group reads is there once its last node is due
            for tensor in set(inputs) & set(place):
                group, other = place[name][1], place[tensor][1]
                assert group is other or last[id(other)] < last[id(group)]


def _random_graph(rng):
    names, graph = ["x", "w"], []
    for number in range(int(rng.integers(2, 12))):
        inputs = [names[n] for n in rng.integers(0, len(names), int(rng.integers(1, 3)))]
        kind = ["elementwise", "elementwise", "product", "reduction"][int(rng.integers(4))]
        graph.append((f"n{number}", inputs, kind))
        names.append(f"n{number}")
    return graph


def test_scale_follows_torchs_rule(scope):
    """GradScaler's rule, written down from its documentation, over random overflows."""
    rng = np.random.default_rng(6)
    for interval in (1, 2, 5):
        overflows, scale, tracker, right = (rng.random(60) < 0.2).tolist(), 2.0**10, 0, []
        for overflow in overflows:
            if overflow:
                scale, tracker = scale * 0.5, 0
            elif tracker + 1 == interval:
                scale, tracker = scale * 2.0, 0
            else:
                tracker += 1
            right.append(scale)
        assert scope["scale_after"](overflows, 2.0**10, interval=interval) == right


def test_unequal_roofs_of_the_first_example():
    assert [round(100 / (100 - saved), 2) for saved in (5, 8.4, 40)] == [1.05, 1.09, 1.67]
    assert math.isclose(4.5e9 / 100e9, 0.045) and math.isclose(16e6 / 10e9, 0.0016)


# ── what nobody earns points with ────────────────────────────────────────────────────────────


def test_nothing_that_can_be_imported_earns_points(lesson):
    """Each callable of the helpers that lessons import, in the place of each exercise."""
    original = solved("lesson_09")
    helpers = [name for name in doubles.__all__ if callable(getattr(doubles, name))]
    attempts = [
        {exercise: f"from proflab.lesson import doubles\n{exercise} = doubles.{name}"}
        for exercise in original.solutions
        for name in helpers
    ]
    got = earned(original, attempts)
    assert [a for a, points in zip(attempts, got, strict=True) if points] == []


# ── what a wrong solution is told ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        ("diagnose", "the largest share first", "the largest share first"),
        ("diagnose", "bytes are ignored", "without the bytes"),
        ("diagnose", "as if the name took no time", "as if each name took no time"),
        ("simulate_loader", "only the first wait counts", "only the first wait"),
        ("half_gradients", "divided in float16", "divided in float16"),
        ("half_gradients", "not divided", "not divided"),
        (
            "scale_after",
            "an overflow does not restart the count",
            "counting goes on after an overflow",
        ),
        ("accumulate", "the mean of the means", "the mean of means"),
        ("accumulate", "one backward pass at the end", "one backward pass at the end"),
        ("graph_bytes", "only reads", "only read"),
        ("graph_bytes", "what nobody reads is not written", "the last output is missing"),
        ("merge", "the first is not rescaled", "the first is not rescaled"),
    ],
)
def test_a_wrong_solution_is_told_why(exercise, mutant, diagnosis):
    assert diagnosis in diagnoses("lesson_09", exercise, mutant)
