"""Lesson 03 as a text: its form, its points, its demo cells, its pictures, the names it builds."""

from __future__ import annotations

import ast
import re
import sys

import pytest
from cohort.run import ROOT, solved
from lesson_cells import diagnoses, show
from lesson_checks import check_mark_scheme
from lesson_demos import demos_of

from proflab.lesson.doubles import HELD
from proflab.lesson.plot import Picture
from proflab_course.assemble.command import read_folder, render
from proflab_course.assemble.gather import gather
from proflab_course.cases.reader import split

FOLDER = ROOT / "modules" / "03_latency"
KINDS = rf"doubles\.({'|'.join(HELD)})\b"
pytestmark = pytest.mark.usefixtures("quick_clocks")


@pytest.fixture(scope="module")
def demos(lesson):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFLAB_DEMO", "small")
        patch.setitem(sys.modules, "demos", demos_of("03_latency"))
        scope = dict(solved("lesson_03").scope)
        return {cell.name: show(cell, scope) for cell in lesson.named("demo")}


def test_the_timers_docstrings_name_what_it_keeps_and_raises():
    Timer = solved("lesson_03").scope["Timer"]
    assert "elapsed_ms" in Timer.__doc__
    assert "RuntimeError" in Timer.stop.__doc__


@pytest.mark.whole
def test_demo_cells_print_or_end_on_a_described_picture(demos, lesson):
    for name, (printed, picture) in demos.items():
        if isinstance(picture, Picture):
            assert len(picture.alt) > 60 and picture.png(dpi=40).startswith(b"\x89PNG"), name
        else:
            assert picture is None and printed, name
    shown = {cell.name for cell in lesson.named("demo") if "nbval-check-output" in cell.tags}
    assert shown == {"demo_order", "demo_warnings"}


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        ("Timer", "time.time", "time.time can be set back between two readings"),
        ("Timer", "process_time", "process_time stands still while a program waits"),
        ("Timer", "seconds", "a unit 1000 times too large, such as seconds for milliseconds?"),
        ("timer_resolution_ms", "steps of 0 count", "two readings that are the same are no step"),
        ("calibrate", "the cold call counts", "the cold call is taken for a sample"),
        ("calibrate", "one call says it all", "a single call says little"),
        ("measure_latency", "the mean", "the mean: one slow call moves it"),
        ("measure_latency", "no warm-up", "the warm-up is missing"),
        (
            "measure_latency",
            "seconds",
            "a unit 1000 times too large, such as seconds for milliseconds?",
        ),
        ("measure_latency", "time.time", "time.time can be set back between two readings"),
        ("measure_latency", "process_time", "process_time stands still while a program waits"),
        ("measure_latency", "a warm-up of 0 is the default", "0 is taken for the default"),
        ("measure_latency", "the lower of two middle ones", "of two middle ones the lower"),
        (
            "measure_latency",
            "the middle of unsorted times",
            "the middle of times that are not sorted",
        ),
        ("latency_statistics", "std over n", "over n, not n − 1"),
        ("latency_statistics", "the list is sorted in place", "it was sorted"),
        (
            "latency_statistics",
            "percentiles: the nearest rank",
            "between two times it goes in proportion",
        ),
        ("confidence_interval", "smallest and largest", "wider than it need be"),
        ("confidence_interval", "not sorted", "the times are not sorted"),
        ("throughput", "the batch is left out", "the batch is left out"),
        (
            "best_batch",
            "efficiency: the largest that reaches it",
            "the largest batch that reaches it",
        ),
    ],
)
def test_misconceptions_are_named(exercise, mutant, diagnosis):
    assert any(diagnosis in said for said in diagnoses("lesson_03", exercise, mutant))


def numbers(value) -> set[float]:
    """The numbers in plain data."""
    if isinstance(value, (list, tuple)):
        return {number for item in value for number in numbers(item)}
    return {float(value)} if isinstance(value, (int, float)) else set()


def test_no_number_of_a_hidden_script_enters_the_students_process(lesson):
    """Neither in the code that is sent for the same cell, hidden or visible, nor in any stub."""
    held = 0
    for cell in lesson.named("test"):
        blocks = split(cell.source, cell.name).blocks
        code = [
            ast.parse(s.code) for b in blocks if b.hidden for s in b.steps if s.kind != "lookup"
        ]
        sent = {
            float(node.value)
            for tree in code
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
        }
        for block in blocks:
            for _, double in block.doubles:
                held += 1
                secret = numbers(list(double.given.values()))
                assert not secret & sent, (cell.name, double.name, secret & sent)
            made = [s.code for s in block.steps if re.search(KINDS, s.code)]
            assert not block.hidden or all(".held(" in code for code in made), cell.name
    assert held >= 20


def test_no_graded_cell_waits_or_reads_a_real_clock(lesson):
    for cell in lesson.named("test"):
        assert "time." not in re.sub(r'"[^"]*"', "", cell.source), cell.name
        assert "sleep" not in cell.source, cell.name


def test_the_lessons_make_one_file_with_which_lesson_05_measures():
    names: dict = {"__name__": "profiler"}
    exec(render(gather(read_folder(ROOT / "modules", "3")), "A profiler."), names)
    from proflab import example_input, models

    model = models.MLP(8, 4)
    x = example_input(model, (2, 8))
    with names["Timer"]() as timer:
        model(x)
    assert timer.elapsed_ms > 0
    assert names["measure_latency"](model, x, warmup=1, iterations=3) > 0
    assert len(names["latencies"](model, x, 7)) == 7
    assert names["latency_statistics"]([1.0, 3.0])["median"] == 2.0
    assert names["confidence_interval"]([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == (1.0, 6.0)
    assert names["count_flops"](models.LeNet5(), (1, 1, 32, 32)) == 833_040


def test_each_point_of_the_essay_is_one_statement(lesson):
    [essay] = lesson.named("manual")
    check_mark_scheme(essay.source, words=250)
