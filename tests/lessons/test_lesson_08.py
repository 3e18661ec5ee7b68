"""Lesson 08 as a text: its form, its points, its demo cells, its claims, its picture."""

from __future__ import annotations

import json
import re
import runpy

import pytest
from cohort.run import ROOT
from lesson_cells import diagnoses, show_all

from proflab.lesson.plot import Picture

FOLDER = ROOT / "modules" / "08_benchmarking"


@pytest.fixture(scope="module")
def shown(lesson):
    """Each demo cell's text and picture, in the solved lesson."""
    return show_all(lesson)[0]


# ── form ─────────────────────────────────────────────────────────────────────────────────────


def test_demo_cells_end_on_a_picture_or_print(shown):
    for name, (printed, value) in shown.items():
        assert isinstance(value, Picture) or (value is None and printed), name


# ── what the text says ───────────────────────────────────────────────────────────────────────


def test_drift_by_order(shown):
    found = [float(ms) for ms in re.findall(r"takes +(-?[\d.]+) ms", shown["demo_drift"][0])]
    drift, every_second, every_fourth = found[:3], found[3:6], found[6:]
    assert drift == [10.0, 1.0, 0.0]
    assert every_second == [0.0, -5.0, 0.0]  # mirrored order cancels it, ABAB does not
    assert every_fourth == [-0.5, -2.5, -2.5]  # neither does


def test_rounds_for_many_comparisons(shown):
    found = re.findall(
        r"(\d+) comparisons: each gate needs at least (\d+)", shown["demo_nights"][0]
    )
    assert found == [("1", "6"), ("3", "7"), ("40", "11"), ("1000", "16")]
    assert 1 - 0.95**40 == pytest.approx(0.87, abs=0.005)


def test_what_users_wait(shown):
    assert "10.0 ms; longer than 10 ms wait 99 of 1,000" in shown["demo_users"][0]


def test_carbon(shown):
    assert "0.093 g of CO2" in shown["demo_energy"][0]


def test_the_first_pairs_overlap_and_the_rank_test_cannot_tell(scope):
    before, after = [100, 110, 120, 130, 140, 150], [96, 105.6, 115.2, 124.8, 134.4, 144]
    assert scope["rank_test"](before, after)["p"] == pytest.approx(0.70, abs=0.005)
    intervals = [scope["confidence_interval"](times) for times in (before, after)]
    assert intervals == [(100, 150), (96, 144)]


def test_published_versions_by_two_goals(scope):
    rows = [(100, 400, 75.0), (25, 100, 74.5), (30, 40, 73.8), (20, 450, 75.0)]
    names = ["baseline", "quantized", "pruned", "cached"]
    rows = [
        {"name": name, "ms": row[0], "mb": row[1], "accuracy": row[2]}
        for name, row in zip(names, rows, strict=True)
    ]
    assert scope["pareto"](rows, ["ms", "mb"], ["accuracy"]) == names
    assert scope["pareto"](rows, ["ms"], ["accuracy"]) == ["cached"]


def test_energy_and_pruning_of_the_syllabus(scope):
    run = [(0, 50), (1, 250), (2, 250), (4, 50)]
    assert [scope["energy_joules"](run), scope["energy_joules"](run, 50)] == [700, 500]
    assert scope["sparse_bytes"]((1000, 1000), 50_000) == 404_004  # a tenth takes 95 % of zeros


def test_the_opening_picture_is_of_what_was_measured():
    record = json.loads((ROOT / "docs" / "pictures" / "lesson_08.json").read_text("utf-8"))
    rows = {row["name"]: row for row in record["suite"]}
    assert list(rows) == ["baseline", "quantized", "pruned", "cached"]
    assert rows["quantized"]["high"] < 1 < rows["cached"]["low"]
    assert rows["pruned"]["low"] < 1 < rows["pruned"]["high"]
    assert all(row["low"] <= row["speedup"] <= row["high"] for row in rows.values())


def test_the_opening_picture_has_verdicts_and_hollow_dots_for_what_is_beaten():
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "lesson_08.py"))
    picture = script["suite"]()
    assert picture.alt.count("slower") == picture.alt.count("faster") == 1
    assert "on the front: baseline, quantized, cached" in picture.alt
    dots = [line for line in picture.figure.axes[0].lines if line.get_marker() == "o"]
    assert [dot.get_markerfacecolor() == "white" for dot in dots] == [False, False, True, False]


# ── what a wrong solution is told ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        ("run_order", "each round goes forwards", "each round goes forwards"),
        ("rank_test", "one-sided", "one-sided"),
        ("rank_test", "more extreme, without equal", "this result itself is left out"),
        ("speedup_interval", "after / before", "after / before"),
        ("speedup_interval", "the ratio of the medians", "the ratio of the medians"),
        ("gate", "same when it merely holds 1", "it merely holds 1"),
        ("runs_interval", "pooled", "the calls are pooled"),
        ("response_times", "service times", "the service times"),
        ("response_times", "the wait alone", "the waits alone"),
        (
            "energy_joules",
            "mean power by time",
            "mean power by time, or each sample held since the one before",
        ),
        ("energy_joules", "left rectangles", "each sample held until the next"),
    ],
)
def test_a_wrong_solution_is_told_why(exercise, mutant, diagnosis):
    assert diagnosis in diagnoses("lesson_08", exercise, mutant)
