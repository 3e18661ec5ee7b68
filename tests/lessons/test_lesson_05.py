"""Lesson 05 as a text: its form, its points, its claims, its pictures, the names it builds."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import re
import runpy

import pytest
from cohort.run import ROOT, solved
from lesson_cells import diagnoses, value_of

from proflab.lesson.hardware import read_hardware
from proflab.lesson.plot import Picture
from proflab_course.assemble.collect import collect
from proflab_course.assemble.command import read_folder, render
from proflab_course.course.notebook import read_module

FOLDER = ROOT / "modules" / "05_profiler"
SYLLABUS = [
    "record",
    "top_operations",
    "chrome_trace",
    "profile_forward_pass",
    "profile_layer",
    "profile_backward_pass",
    "hot_functions",
    "profiling_overhead",
    "compare_architectures",
]
STEPS = ["op_bytes", "op_facts", "add_row", "find_bottleneck"]  # on the way to these
PRINTED = ["demo_batches", "demo_cprofile", "demo_lines"]
NO_PREDICTION = ["op_facts", "profile_layer"]  # the one before them is for both
BETWEEN = ["op_recorder", "print_top_operations"]  # given, between an exercise and its test


@pytest.fixture(scope="module", autouse=True)
def quick_clocks():
    """A scripted clock looks through all objects but frozen ones, and pytest has many."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="module")
def lesson():
    return read_module(FOLDER / "05_profiler.py", "05_profiler")


@pytest.fixture(scope="module")
def demos(lesson):
    """What each demo cell prints, and the picture it ends on, in the solved lesson, made small."""
    shown = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFLAB_DEMO", "small")
        patch.chdir(FOLDER)
        for cell in lesson.named("demo"):
            scope, printed = dict(solved("lesson_05").scope), io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                value = value_of(cell, scope)
            shown[cell.name] = printed.getvalue(), value
    return shown


def test_the_exercises_are_those_of_the_syllabus_in_its_order(lesson):
    names = [cell.name for cell in lesson.named("exercise")]
    assert [name for name in names if name not in STEPS] == SYLLABUS
    assert sorted(set(names) - set(SYLLABUS)) == sorted(STEPS)


def test_points(lesson):
    assert sum(cell.points for cell in lesson.named("test")) == 100
    assert [(cell.name, cell.points) for cell in lesson.named("manual")] == [("essay_profiler", 10)]
    assert "Mark scheme" in lesson.named("manual")[0].source


def test_each_exercise_has_a_prediction_above_and_a_test_below(lesson):
    for number, cell in enumerate(lesson.cells):
        if cell.role != "exercise":
            continue
        assert lesson.cells[number + 1].name in (f"test_{cell.name}", *BETWEEN)
        if cell.name not in NO_PREDICTION:
            above = "".join(c.source for c in lesson.cells[max(0, number - 2) : number])
            assert "**Predict.**" in above, cell.name


def test_docstrings_say_what_is_returned_and_raised():
    for name in SYLLABUS + STEPS:
        text = solved("lesson_05").scope[name].__doc__
        assert re.search(r"[Rr]eturn", text), name
        assert "Raises" in text or name in ("op_bytes", "add_row"), name


def test_demo_cells_end_on_a_picture_or_print(demos, lesson):
    assert sorted(demos) == sorted(cell.name for cell in lesson.named("demo"))
    for name, (printed, value) in demos.items():
        assert isinstance(value, Picture) != (name in PRINTED), name
        assert printed or value.alt, name


def test_what_the_demos_show_is_what_the_text_says(demos):
    assert "memory    memory" in demos["demo_batches"][0]
    assert re.search(r"Recorded: line_profiler \d", demos["demo_lines"][0])
    line = next(row for row in demos["demo_lines"][0].splitlines() if "q @ k" in row)
    assert "*" in line  # one line with a product, a transposition and a scaling
    printed, _ = demos["demo_cprofile"]
    seconds = [float(s) for s in re.findall(r"([\d.]+) s\b", printed)]
    assert seconds[0] < seconds[1]  # the recorder sees no more than a part
    assert "cumtime" in printed and "answer" in printed
    assert "all that the pass took" in demos["demo_top"][1].alt
    assert "predicted, by FLOPs" in demos["demo_attention"][1].alt
    assert "making data" in demos["demo_profiler"][0]


def test_predictions_of_sections_1_3_and_6():
    scope = solved("lesson_05").scope
    table, tokens = scope["Tensor"].meta((50257, 768)), scope["Tensor"].meta((1, 128), "int64")
    lookup = scope["F"].embedding
    read, _ = scope["each_op"](scope["op_bytes"], lambda: lookup(tokens, table))[0]
    assert table.nbytes == 154_389_504  # "a table of 154 MB"
    assert read == 128 * 768 * 4 + 128 * 8
    t4 = read_hardware(FOLDER / "machines.json", "NVIDIA T4")
    assert (t4.peak_flops, t4.bandwidth) == (8.1e12, 320e9)
    layer = scope["nn"].Linear(4096, 4096)
    limits = []
    for rows in (1, 1024):
        made = scope["rows_of"](lambda n=rows: layer(scope["Tensor"].meta((n, 4096))))
        limits.append(scope["find_bottleneck"](*scope["work_and_traffic"](made), t4))
    assert limits == ["memory", "compute"]


def test_machines_say_where_their_roofs_come_from():
    machines = json.loads((FOLDER / "machines.json").read_text("utf-8"))
    for name, entry in machines.items():
        assert read_hardware(FOLDER / "machines.json", name).source == entry["source"] != ""


def test_the_essays_arithmetic():
    assert round(48 * 0.41 / 2, 1) == 9.8 and 900_000 / 1000 == 900
    assert round(0.41 * 48e3 / 900, 0) == 22  # µs a call, "about 20"


def test_the_lessons_make_one_file_that_profiles():
    names: dict = {"__name__": "profiler"}
    exec(render(collect(read_folder(ROOT / "modules", "5")), "A profiler."), names)
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
        ("op_facts", "multiply-adds", "multiply-adds, where each counts as two?"),
        ("add_row", "times in s", "in s"),
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
)  # fmt: skip
def test_misconceptions_are_named(exercise, mutant, diagnosis):
    said = diagnoses("lesson_05", exercise, mutant)
    assert any(each.startswith(diagnosis) for each in said)


def test_the_pictures_are_drawn_by_their_script():
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "lesson_05.py"))
    assert (FOLDER / "timeline.png").exists() and (FOLDER / "nest.png").exists()
    assert script["nest"]().png(dpi=60).startswith(b"\x89PNG")
