"""Lesson 06 as a text: its form, its points, its demo cells, its claims, its picture."""

from __future__ import annotations

import json
import math
import re

import pytest
from cohort.run import ROOT, solved
from lesson_cells import diagnoses, lesson_text, named, show, show_all

from proflab.lesson import measuring
from proflab.lesson.hardware import Cache, Hardware, Machine
from proflab.lesson.plot import Picture
from proflab_course.assemble.command import read_folder, render
from proflab_course.assemble.gather import gather
from proflab_course.course.exercises import exercise_of
from proflab_course.course.notebook import read_module
from proflab_course.tracks.read import Tracks

FOLDER = ROOT / "modules" / "06_roofline"


@pytest.fixture(scope="module")
def shown(lesson):
    """Each demo cell's text and picture, in the solved lesson, and the names that they leave."""
    return show_all(lesson)


# ── form ─────────────────────────────────────────────────────────────────────────────────────


def test_demo_cells_end_on_a_picture_or_print(shown):
    for name, (text, value) in shown[0].items():
        assert isinstance(value, Picture) or (value is None and text), name


def test_an_exercise_has_a_minute_for_each_of_its_points():
    lesson = read_module(FOLDER / f"{FOLDER.name}.py", FOLDER.name, FOLDER.name)
    minutes = Tracks.read(ROOT).times[FOLDER.name].minutes
    points = dict.fromkeys(minutes, 0.0)
    for cell in lesson.named("test"):
        points[exercise_of(cell.name, minutes)] += cell.points
    assert {name for name in minutes if minutes[name] < points[name]} == set()


# ── claims ───────────────────────────────────────────────────────────────────────────────────


def test_what_follows_from_shapes_is_what_the_text_says(shown):
    demos = {name: (text, getattr(value, "alt", "")) for name, (text, value) in shown[0].items()}
    assert "A100 (2020): ridge at 156 FLOPs a byte" in demos["demo_roofs"][0]
    times = re.search(r"peak ([\d.]+) times, bandwidth ([\d.]+) times", demos["demo_roofs"][0])
    assert float(times[1]) > 2 * float(times[2])  # the peak grew faster
    assert "tile by tile rises from 0.25 at 1 to 682.7 at 4,096" in demos["demo_tiles"][1]
    assert "tokens: 1 0.499" in demos["demo_intensity"][1]
    unfused = "not fused rises from 10.7 at 32 to 30.1 at 1,024, then stays near it, 31.9"
    assert unfused in demos["demo_fused"][1]  # below 32, left of every ridge
    ridges = [int(r) for r in re.findall(r"ridge at (\d+)", demos["demo_roofs"][0])]
    assert min(ridges) > 32
    assert "without attention 45.7%" in demos["demo_palm"][0]
    assert "with attention    46.2%" in demos["demo_palm"][0]


def test_the_figures_of_the_text_and_the_essay():
    scope = solved("lesson_06").scope
    relu = scope["reflect_relu"](10**9, 4, 100e12, 900e9)
    assert f"{relu['ms']:.2f} ms, and {relu['share']:.2%}" == "8.89 ms, and 0.11%"
    assert f"{scope['amdahl'](0.7, 2):.2f}" == "1.54"
    n, t = 4096, 64
    one, tile = ((2 * n**3 / t + n * n) * 4 for t in (1, 64))
    assert math.isclose(2 * n**3 / one, 0.25, rel_tol=1e-3)
    assert math.isclose(one / tile, t, rel_tol=0.01)


def wall(row, roof):
    """The syllabus's rule, written down once more."""
    flops = row["matmul_flops"] + row["elementwise_flops"]
    computing = flops / roof.peak_flops
    moving = (row["bytes_read"] + row["bytes_written"]) / roof.bandwidth
    if row["self_ms"] / 1000 > 4 * max(computing, moving):
        return "overhead"
    if max(computing, moving) <= 1.2 * min(computing, moving):
        return "ridge"
    return "compute" if computing > moving else "memory"


def roofs_of(scope):
    return scope["demos"].measured_roofs(scope["measure_peak_flops"], scope["measure_bandwidth"])


def rows_of(scope, name):
    return scope["demos"].recorded_rows(name, scope["OpRecorder"])


def test_each_recorded_operation_gets_the_verdict_that_its_figures_imply(shown):
    demos, scope = shown
    text, picture = demos["demo_verdicts"]
    roof, sums = roofs_of(scope)[0], {}
    for name in ("GPT-2", "ResNet-18"):
        for row in scope["demos"].alike(rows_of(scope, name)):
            verdict = wall(row, roof)
            sums[name, verdict] = sums.get((name, verdict), 0.0) + row["self_ms"]
            for line in text.splitlines():
                if line.strip().startswith(f"{row['label']} "):
                    assert f" {row['self_ms']:.2f} " in line and line.endswith(verdict), line
        total = sum(ms for (model, _), ms in sums.items() if model == name)
        said = re.search(rf"{name}, [^:]*: ([^;]*)", picture.alt)[1]
        for verdict in ("compute", "ridge", "memory", "overhead"):
            share = sums.get((name, verdict), 0.0) / total
            assert f"{verdict} {share:.1%}" in said
    assert len(text.splitlines()) > 4


def test_points_come_from_the_recorded_rows(shown):
    demos, scope = shown
    recorded = rows_of(scope, "GPT-2")
    rows = scope["demos"].alike(recorded)
    for count in ("matmul_flops", "elementwise_flops", "bytes_read", "bytes_written", "self_ms"):
        assert sum(row[count] for row in rows) == pytest.approx(sum(row[count] for row in recorded))
    assert sum(row["matmul_flops"] for row in rows) > 0
    names = [point["name"] for point in scope["roofline_points"](rows, roofs_of(scope)[0])]
    said = demos["demo_gpt2"][1].alt
    assert "linear blocks.*.mlp.fc" in names and all(f"{name} " in said for name in names[:12])
    assert said.startswith("GPT-2 of width 48, 1 text of 32 tokens; area: share of the time")
    text = demos["demo_gpt2"][0]
    longest = max(rows, key=lambda row: row["self_ms"] * bool(row["elementwise_flops"]))
    share = longest["self_ms"] / sum(row["self_ms"] for row in rows)
    if f"most time: {longest['op']} {longest['module']}" in text:
        assert f"{longest['module']}, {share:.1%} of the time, " in text


# ── sentences about what was measured, with either outcome ───────────────────────────────────

CACHES = (Cache(1, 2**15), Cache(2, 2**20), Cache(3, 2**23))


def said(lesson, name, threads=(1,), **replaced):
    """What a demo cell prints with so many threads, and when these names are others.

    They are so in the lesson's functions, too.
    """
    scope = solved("lesson_06").scope
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFLAB_DEMO", "small")
        patch.setattr(measuring, "thread_counts", lambda: list(threads))
        for key, value in replaced.items():
            patch.setitem(scope, key, value)
        return show(named(lesson, name), dict(scope))[0]


def test_a_drop_is_claimed_only_where_it_exceeds_the_spread(lesson):
    machine = Machine(caches=CACHES)
    speeds = {"steps": lambda size: 9e10 if size <= 2**19 else 6e10 if size <= 2**22 else 2e10}
    speeds["flat"] = lambda size: 5e10
    lines = {}
    for kind, speed in speeds.items():
        lines[kind] = said(
            lesson,
            "demo_sweep",
            this_machine=lambda: machine,
            measure_bandwidth=lambda size, copy=None, repeats=1, speed=speed: speed(size),
        ).splitlines()
    assert lines["steps"][2] == "L2, 1 MB: 90.0 GB/s inside, 60.0 GB/s beyond: a drop"
    assert lines["steps"][1].endswith("90.0 GB/s beyond: no drop beyond the spread")
    assert all(line.endswith("no drop beyond the spread") for line in lines["flat"][1:])


def test_main_memory_is_told_with_the_spread_of_each_way(lesson):
    order = iter([2e10, 4e10, 1e10, 8e10, 2e10, 6e10, 3e10, 8e10])
    text = said(
        lesson,
        "demo_memory",
        threads=(1, 2),
        measure_bandwidth=lambda size, copy, repeats=1: next(order),
    )
    assert text.splitlines() == [
        "multiply by 1, 1 thread: 1.00 times the first (1.00 to 1.00)",
        "multiply by 1, 2 threads: 2.50 times the first (2.00 to 3.00)",
        "np.copyto, 1 thread: 1.00 times the first (0.50 to 1.50)",
        "np.copyto, 2 threads: 4.00 times the first (4.00 to 4.00)",
    ]


def test_the_law_and_the_clock_are_compared(lesson):
    def recorded_rows(name, recorder, threads):
        row = {"self_ms": 60.0 if threads == 1 else 30.0, "matmul_flops": 1}
        return [row, {"self_ms": 40.0, "matmul_flops": 0}]

    demos = solved("lesson_06").scope["demos"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demos, "recorded_rows", recorded_rows)
        text = said(lesson, "demo_threads", threads=(1, 2))
        alone = said(lesson, "demo_threads")
    assert "products ran at 2.00 times their speed on one thread." in text
    assert "By the law the whole should run at 1.43 times its speed; measured: 1.43." in text
    assert alone == "GPT-2 on 1 thread: products 60.0 ms, the rest 40.0 ms"


# ── what else ────────────────────────────────────────────────────────────────────────────────


def test_the_lessons_make_one_file_that_judges():
    names: dict = {"__name__": "profiler"}
    exec(render(gather(read_folder(ROOT / "modules", "6")), "A profiler."), names)
    assert names["classify"](1000 * 64, 1000 * 64 * 12, 0.003, 200e9, 20e9) == "overhead"
    assert names["ridge_point"](312e12, 2e12) == 156
    row = {"op": "add", "module": "", "self_ms": 1.0, "matmul_flops": 0, "elementwise_flops": 8}
    row |= {"bytes_read": 64, "bytes_written": 32}
    [point] = names["roofline_points"]([row], Hardware(1e9, 1e9))
    assert point["intensity"] == 8 / 96


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        ("arithmetic_intensity", "bytes for each FLOP", "bytes for each FLOP"),
        ("arithmetic_intensity", "FLOPs a number", "FLOPs for each number"),
        ("ridge_point", "upside down", "upside down"),
        ("attainable_flops", "no ceiling", "no ceiling"),
        ("matmul_bytes", "numbers, not bytes", "numbers, not bytes"),
        ("matmul_bytes", "the result is not counted", "the result is not counted"),
        ("matmul_bytes", "bytes touched", "bytes touched, not unique ones"),
        ("elementwise_bytes", "read only", "read only"),
        ("attention_bytes", "scores once written, once read", "scores once written, once read"),
        ("measure_peak_flops", "the mean of the speeds", "the mean, not the best"),
        ("measure_peak_flops", "multiply-adds", "multiply-adds"),
        ("measure_peak_flops", "the last size", "the last size"),
        ("measure_bandwidth", "only what is read", "only what is read, or written, is counted"),
        ("measure_bandwidth", "the mean of the speeds", "the mean, not the best"),
        ("measure_bandwidth", "in GiB/s", "in units of 1024³"),
        ("roofline_points", "only what is read", "only what is read"),
        ("roofline_points", "seconds for milliseconds", "seconds for milliseconds"),
        ("roofline_points", "efficiency of the peak", "of the peak"),
        ("mfu", "in percent", "in percent"),
        ("amdahl", "the average speed", "the average speed"),
        ("reflect_relu", "read only", "read only"),
    ],
)
def test_misconceptions_are_named(exercise, mutant, diagnosis):
    found = diagnoses("lesson_06", exercise, mutant)
    assert any(diagnosis in one for one in found), found


def test_what_was_measured_for_the_picture_is_as_its_description_says():
    import runpy

    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "lesson_06.py"))
    record = json.loads(script["RECORD"].read_text(encoding="utf-8"))
    best = {point["name"].split()[0]: point for point in record["points"]}
    # What the picture's description says of where they lie, and its caption of the run.
    assert best["linear"]["intensity"] > 10 * best["add"]["intensity"]
    assert best["linear"]["efficiency"] > 0.75 and best["add"]["efficiency"] > 0.7
    assert max(best[op]["efficiency"] for op in ("layer_norm", "softmax", "gelu")) < 0.2
    assert record["title"] == "GPT-2 small, 1 text of 128 tokens"
    assert script["roof"]().alt.startswith(record["title"])
    text = lesson_text(FOLDER / "06_roofline.py")
    assert (
        record["machine"].startswith("AMD EPYC: 2 processors")
        and (
            f"one text of 128 tokens, on one thread of an AMD EPYC with two processors: medians of"
            f" {record['passes']} passes"
        )
        in text
    )
