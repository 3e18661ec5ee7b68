"""Lesson 05 as a text: its form, its points, its claims, its pictures, the names it builds."""

from __future__ import annotations

import contextlib
import io
import json
import re

import pytest
from cohort.run import ROOT, entries, judge_all, solved
from lesson_cells import diagnoses, value_of

from proflab.lesson.hardware import read_hardware
from proflab.lesson.plot import Picture
from proflab_course.assemble.command import read_folder, render
from proflab_course.assemble.gather import gather

FOLDER = ROOT / "modules" / "05_profiler"
DRAWN = ["demo_timeline", "demo_top", "demo_overhead", "demo_attention", "demo_profiler"]
HINTED = ["op_bytes", "op_facts", "self_times", "profile_backward_pass"]
BETWEEN = ["op_recorder", "print_top_operations"]  # given, between an exercise and its test

pytestmark = pytest.mark.usefixtures("quick_clocks")


@pytest.fixture(scope="module")
def demos(lesson):
    """What each demo cell prints, and the picture it ends on, in the solved lesson, made small."""
    shown, scope = {}, dict(solved("lesson_05").scope)
    for cell in lesson.cells:
        if "guess" in cell.tags:
            exec(cell.code.replace("None", "30"), scope)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFLAB_DEMO", "small")
        patch.chdir(FOLDER)
        patch.syspath_prepend(str(FOLDER))
        for cell in lesson.named("demo"):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                value = value_of(cell, scope)
            shown[cell.name] = printed.getvalue(), value
    return shown


def test_each_exercise_has_a_test_below_and_the_hard_ones_two_hints_above(lesson):
    for number, cell in enumerate(lesson.cells):
        if cell.role != "exercise":
            continue
        assert lesson.cells[number + 1].name in (f"test_{cell.name}", *BETWEEN)
        above = "".join(c.source for c in lesson.cells[max(0, number - 3) : number])
        if cell.name in HINTED:
            assert above.count("<details><summary>Hint") == above.count("</details>") == 2


def test_the_lesson_has_a_break_and_one_box_on_torch(lesson):
    text = "\n".join(cell.source for cell in lesson.cells if cell.role == "text")
    assert text.count("**Take a break here.**") == 1 and text.count("### In torch") == 1


@pytest.mark.whole
def test_demo_cells_end_on_a_picture_or_print(demos, lesson):
    assert sorted(demos) == sorted(cell.name for cell in lesson.named("demo"))
    for name, (printed, value) in demos.items():
        assert isinstance(value, Picture) == (name in DRAWN), name
        assert printed or value.alt, name


@pytest.mark.proves
def test_what_the_demos_show_is_what_the_text_says(demos):
    assert "memory    memory" in demos["demo_batches"][0]
    assert "calculation limits a T4: 52; you guessed 30" in demos["demo_batches"][0]
    assert "the look-up's gradient: 147.2 MB; you guessed 30" in demos["demo_gradient"][0]
    assert re.search(r"Recorded: line_profiler \d", demos["demo_lines"][0])
    line = next(row for row in demos["demo_lines"][0].splitlines() if "q @ k" in row)
    assert "*" in line  # one line with a product, a transposition and a scaling
    printed, _ = demos["demo_cprofile"]
    assert "by cumtime" in printed and "(answer_request)" in printed
    assert re.search(r"your recorder saw [\d.]+ s, in \d+ ops", printed)
    assert "all that one pass needs" in demos["demo_top"][1].alt
    assert "predicted, by FLOPs" in demos["demo_attention"][1].alt
    assert "making data" in demos["demo_profiler"][0]
    told = demos["demo_overhead"][0].replace(",", "")
    spreads = re.findall(r"([\d.]+) times \(([\d.]+) to ([\d.]+)\)", told)
    assert len(spreads) == 9
    assert all(float(low) <= float(middle) <= float(high) for middle, low, high in spreads)
    assert demos["demo_sampler"][0].count("samples a second") == 2


def test_where_a_number_is_guessed_that_a_plot_shows_the_guess_is_drawn(demos):
    for name in ("demo_overhead", "demo_attention"):
        labels = [line.get_label() for line in demos[name][1].figure.axes[0].lines]
        assert "your guess" in labels, name


def test_predictions_of_sections_1_3_and_6():
    scope = solved("lesson_05").scope
    table, tokens = scope["Tensor"].meta((50257, 768)), scope["Tensor"].meta((1, 128), "int64")
    lookup = scope["F"].embedding
    read, _ = scope["each_op"](scope["op_bytes"], lambda: lookup(tokens, table))[0]
    assert f"{table.nbytes / 1024**2:.1f}" == "147.2"  # "a table of 147.2 MB"
    assert read == 128 * 768 * 4 + 128 * 8
    t4 = read_hardware(FOLDER / "machines.json", "NVIDIA T4")
    assert (t4.peak_flops, t4.bandwidth) == (8.1e12, 320e9)
    layer = scope["nn"].Linear(4096, 4096)
    limits = []
    for rows in (1, 1024):
        made = scope["rows_of"](lambda n=rows: layer(scope["Tensor"].meta((n, 4096))))
        limits.append(scope["find_bottleneck"](*scope["work_and_traffic"](made), t4))
    assert limits == ["memory", "compute"]


def test_worked_lines():
    assert 4 * (32 * 256 + 128 * 256 + 128) == 164_352 and 4 * 32 * 128 == 16_384
    assert 3e9 / 2e11 == 0.015 and 5e8 / 2e10 == 0.025
    assert (50 + 60 * 0.01) / 50 == 1.012 and (0.5 + 60 * 0.01) / 0.5 == 2.2
    each, moved = 2 * 768 * 3072 / 2e11, 4 * (768 + 3072) / 2e10
    weights = 4 * 768 * 3072 / 2e10
    figures = 1e6 * each, 1e6 * moved, 1e6 * weights, weights / (each - moved)
    assert [round(n, 2) for n in figures] == [23.59, 0.77, 471.86, 20.67]
    assert round(1.96 * (0.2 * 0.8 / 25) ** 0.5, 3) == 0.157
    scope = solved("lesson_05").scope
    assert scope["samples_needed"](0.05, 0.005) / 100 == 73
    assert round(2048 / (6 * 768 + 2048), 2) == 0.31  # between tokens: 4·s²·d of 24·s·d² + 4·s²·d


def test_machines_say_where_their_roofs_come_from():
    machines = json.loads((FOLDER / "machines.json").read_text("utf-8"))
    for name, entry in machines.items():
        assert read_hardware(FOLDER / "machines.json", name).source == entry["source"] != ""


def test_the_essays_arithmetic():
    assert round(48 * 0.41 / 2, 1) == 9.8 and 900_000 / 1000 == 900
    assert round(0.41 * 48e3 / 900, 0) == 22  # µs a call, "about 20"


def test_the_lessons_make_one_file_that_profiles():
    names: dict = {"__name__": "profiler"}
    exec(render(gather(read_folder(ROOT / "modules", "5")), "A profiler."), names)
    from proflab import example_input, models

    lenet = models.LeNet5()
    with names["Profiler"]() as profiler:
        lenet(example_input(lenet, (2, 1, 32, 32)))
    assert sum(row["matmul_flops"] for row in profiler.rows) == 2 * 833_040
    assert profiler.count_flops(lenet, (2, 1, 32, 32)) == 833_040


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        ("op_bytes", "inputs are read as often as they are there", "x is read twice"),
        ("op_bytes", "the whole table is read", "the whole table is read"),
        ("op_facts", "backward is counted as forward", "backward is counted as forward"),
        ("op_facts", "multiply-adds", "is a factor of 2 left out (a multiply-add is two FLOPs)?"),
        ("self_times", "what ran inside is not taken off", "what ran inside is not taken off"),
        ("self_times", "also what is deeper is taken off", "all that ran inside, not only"),
        ("self_times", "only one inside, the first", "only the first one inside"),
        ("rows_at_ridge", "the weights alone are moved", "the weights alone are moved"),
        ("rows_at_ridge", "the ridge is taken for the rows", "the ridge is taken for n"),
        ("samples_needed", "the error is a part of the share", "the error is a part of the share"),
        ("samples_needed", "the root is left out", "the root is left out"),
        ("top_operations", "what ran inside counts twice", "what ran inside the region counts"),
        ("chrome_trace", "in ms", "in ms"),
        ("profile_forward_pass", "FLOPs of one sample by the time of all", "of one sample"),
        ("profile_forward_pass", "the mean", "the mean"),
        ("profile_backward_pass", "FLOPs of the forward pass", "the forward pass alone"),
        ("profile_backward_pass", "the forward pass is timed", "forward alone"),
        ("hot_functions", "primitive calls", "recursive calls are left out"),
        ("profiling_overhead", "the overhead alone", "the overhead alone"),
        ("profiling_overhead", "means", "means"),
    ],
)
def test_misconceptions_are_named(exercise, mutant, diagnosis):
    said = diagnoses("lesson_05", exercise, mutant)
    assert any(each.startswith(diagnosis) for each in said)


@pytest.mark.parametrize(
    "exercise, mutant",
    [
        ("op_bytes", "a bias is forgotten"),
        ("op_bytes", "in backward the inputs are read"),
        ("op_facts", "FLOPs are one number"),
        ("self_times", "those that cross pass"),
        ("self_times", "a dict"),
        ("record", "nothing is returned"),
        ("find_bottleneck", "the wrong way round"),
        ("profile_forward_pass", "unknown ops are nothing"),
    ],
)
def test_a_slip_costs_points_in_its_own_exercise_alone(exercise, mutant):
    lesson = solved("lesson_05")
    code = entries("lesson_05", "MUTANTS")[exercise][mutant]
    helpers = {"helpers": lesson.helpers, exercise: code}
    worth = lesson.cell_points()
    failed = {case.cell for case in judge_all(lesson, helpers) if not case.passed}
    failed = {cell for cell in failed if worth[cell]}
    own = {cell.name for cell in lesson.tests[exercise]}
    assert failed and failed <= own
