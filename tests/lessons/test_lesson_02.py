"""Lesson 02 as a text: its form, its points, its claims, its pictures, the names it builds."""

from __future__ import annotations

import re

import pytest
from cohort.run import ROOT, solved
from lesson_cells import diagnoses, value_of

from proflab.lesson.plot import Picture
from proflab_course.assemble.collect import collect
from proflab_course.assemble.command import read_folder, render
from proflab_course.course.notebook import read_module

FOLDER = ROOT / "modules" / "02_flops"
TEXT = (FOLDER / "02_flops.py").read_text(encoding="utf-8")
SYLLABUS = [
    "matmul_flops",
    "linear_flops",
    "conv2d_output_shape",
    "conv2d_flops",
    "attention_flops",
    "elementwise_flops",
    "count_flops",
    "backward_flops",
    "training_flops",
    "reflect_6nd",
]
STEPS = ["einsum_flops", "op_flops", "gradient_flops"]  # on the way to the three of whole models


@pytest.fixture(scope="module")
def lesson():
    return read_module(FOLDER / "02_flops.py", "02_flops")


@pytest.fixture(scope="module")
def demos(lesson):
    """What each demo cell ends on and prints, in the solved lesson, run beside its files."""
    scope, shown = dict(solved("lesson_02").scope), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT / "source" / "02_flops")
        patch.syspath_prepend(ROOT / "source" / "02_flops")
        for cell in lesson.named("demo"):
            printed: list[str] = []
            scope["print"] = lambda *parts, printed=printed: printed.append(" ".join(parts))
            value = value_of(cell, scope)
            shown[cell.name] = value if value is not None else "\n".join(printed)
    return shown


def test_the_exercises_are_those_of_the_syllabus_in_its_order(lesson):
    names = [cell.name for cell in lesson.named("exercise")]
    assert [name for name in names if name not in STEPS] == SYLLABUS
    assert sorted(set(names) - set(SYLLABUS)) == sorted(STEPS)


def test_points(lesson):
    assert sum(cell.points for cell in lesson.named("test")) == 100
    assert [(cell.name, cell.points) for cell in lesson.named("manual")] == [("essay_flops", 10)]
    assert "Mark scheme" in lesson.named("manual")[0].source


def test_each_exercise_has_a_prediction_above_and_a_test_below(lesson):
    cells = lesson.cells
    for number, cell in enumerate(cells):
        if cell.role == "exercise" and cell.name not in ("training_flops", "reflect_6nd"):
            above = "".join(c.source for c in cells[max(0, number - 2) : number])
            assert "**Predict.**" in above, cell.name
        if cell.role == "exercise":
            assert cells[number + 1].name == f"test_{cell.name}"


def test_docstrings_say_what_is_returned_and_raised(lesson):
    for name in SYLLABUS + STEPS:
        text = solved("lesson_02").scope[name].__doc__
        assert "Returns" in text and re.search(r"Raises (\w+Error|as )", text), name


def test_demo_cells_end_on_a_picture_or_print(demos, lesson):
    for cell in lesson.named("demo"):
        kind = str if "nbval-check-output" in cell.tags else Picture
        assert isinstance(demos[cell.name], kind) and demos[cell.name], cell.name


def test_what_the_demos_show_is_what_the_text_says(demos):
    assert re.search(r"FLOPs, one image, 1.45 B: .*fc6–8 8\.", demos["demo_conv2d"].alt)
    assert "fc6–8 96." in demos["demo_conv2d"].alt  # 4 % of the parameters, 92 % of the work
    assert demos["demo_reference"].count("+0") == 12
    assert re.search(r"copied widely +0.50× +1.00× +0.70×", demos["demo_attention"])
    assert "GPT-2 small, 32.2 B" in demos["demo_where"].alt
    assert "torchinfo 0.26291 G" in demos["demo_counters"].alt
    assert "-98.37%" in demos["demo_deviations"]
    assert (
        "12,288,000 too many; 5 · 25 layer norms · 128 · 768 = 12,288,000"
        in (demos["demo_deviations"])
    )
    assert "1,782,969,600" in demos["demo_training"]
    assert "GPT-2 xl" in demos["demo_6nd"].alt
    assert "1,024 tokens: 1.0993" in demos["demo_6nd_others"]


def test_the_essays_figures():
    scope = solved("lesson_02").scope
    parameters, layers, d, tokens = 1_557_611_200, 48, 1600, 1024
    rule = scope["reflect_6nd"](parameters, tokens)
    within = 12 * layers * d * tokens * tokens
    without_product = tokens * d + layers * 13 * d + 2 * d  # positions; norms and biases
    assert scope["reflect_6nd"](15 * 10**8, 40 * 10**9) == 36 * 10**19  # the report says half
    exact = rule - 6 * tokens * without_product + within
    from proflab import meta, models

    with meta():
        model = models.gpt2("xl")
    # The first block's input is an embedding, which is trained: nothing is left out.
    assert scope["training_flops"](model, (1, tokens)) == exact
    assert f"{exact / rule:.3f}" == "1.099" and f"{within / rule:.1%}" == "10.1%"


def test_the_lessons_make_one_file_that_counts():
    names: dict = {"__name__": "profiler"}
    exec(render(collect(read_folder(ROOT / "modules", "2")), "A profiler."), names)
    from proflab import models

    assert names["count_flops"](models.LeNet5(), (1, 1, 32, 32)) == 833_040
    assert names["training_flops"](models.LeNet5(), (1, 1, 32, 32)) == 2_263_920
    assert names["elementwise_flops"]("batch_norm_train", (2, 3)) == 48
    assert names["count_parameters"](models.LeNet5()) == 61_706


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        ("matmul_flops", "multiply-adds", "multiply-adds, where each counts as two?"),
        ("matmul_flops", "k − 1 additions", "k − 1 additions"),
        ("linear_flops", "the batch is left out", "the batch is left out"),
        ("linear_flops", "the bias is mixed in", "a bias is counted"),
        ("conv2d_flops", "groups are ignored", "groups are ignored"),
        ("conv2d_flops", "stride is ignored", "stride is ignored"),
        ("attention_flops", "the projections at half", "the projections are counted at half"),
        ("attention_flops", "no output projection", "the output projection is missing"),
        ("attention_flops", "causal is ignored", "causal is ignored"),
        ("count_flops", "the batch always counts", "the batch counts"),
        ("count_flops", "reused layers count once", "each layer counts once"),
        ("backward_flops", "twice the forward", "2 × forward"),
        ("backward_flops", "frozen parameters are set free", "frozen counts"),
        ("training_flops", "three times the forward", "3 × forward"),
        ("reflect_6nd", "2 · N · D, forward only", "forward only"),
    ],
)
def test_misconceptions_are_named(exercise, mutant, diagnosis):
    assert diagnosis in diagnoses("lesson_02", exercise, mutant)


def test_the_pictures_are_drawn_by_their_script():
    import runpy

    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "lesson_02.py"))
    for draw in ("where", "matmul", "windows"):
        picture = script[draw]()
        assert (FOLDER / f"{draw}.png").exists() and picture.alt
        assert picture.png(dpi=60).startswith(b"\x89PNG")
