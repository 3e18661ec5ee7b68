"""Lesson 01 as a text: its form, its points, its claims, its pictures."""

from __future__ import annotations

import sys

import pytest
from cohort.run import ROOT, solved
from lesson_cells import diagnoses, lesson_text, named, value_of

import proflab
from proflab import models
from proflab.lesson.plot import Picture

FOLDER = ROOT / "modules" / "01_parameters"
TEXT = lesson_text(FOLDER / "01_parameters.py")


@pytest.fixture(scope="module")
def demos(lesson):
    """Return what each demo cell of the solved lesson ends on; drop all that it prints."""
    scope, shown = dict(solved("lesson_01").scope), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)  # where `import demos` finds the lesson's own
        patch.delitem(sys.modules, "demos", raising=False)
        for cell in lesson.cells:
            if cell.role == "demo":
                shown[cell.name] = value_of(cell, scope)
    return shown


def test_each_exercise_has_a_prediction_above_and_a_use_below(lesson):
    cells = lesson.cells
    for number, cell in enumerate(cells):
        if cell.role == "exercise" and cell.name != "reflect_deployment":
            above = "".join(c.source for c in cells[max(0, number - 3) : number])
            assert "**Predict.**" in above, cell.name
            below = [c.role for c in cells[number + 1 : number + 7]]
            assert below[0] == "test" and "demo" in below, cell.name


def test_demo_cells_end_on_a_picture_or_print(demos, lesson):
    for cell in lesson.named("demo"):
        if "nbval-check-output" not in cell.tags:
            assert isinstance(demos[cell.name], Picture), cell.name


def test_the_pictures_say_what_they_show(demos):
    assert "GPT-2 XL 1,557,611,200" in demos["demo_count"].alt
    assert "AlexNet: 60,965,224 parameters" in demos["demo_conv2d"].alt
    assert "layer4 72%" in demos["demo_table"].alt
    assert "XL: vectors 82 M, attention 492 M" in demos["demo_gpt2"].alt
    assert "7 billion float32 2.67e+04" in demos["demo_memory"].alt


def test_the_shares_in_the_table_of_places_are_those_of_the_models():
    with proflab.meta():
        small, xl = models.gpt2("small"), models.gpt2("xl")
    for model, is_part, share in (
        (small, lambda name: name.startswith("wte"), "31 % in one tensor, 39 of 124 M"),
        (xl, lambda name: name.startswith("blocks."), "GPT-2 XL: 95 %"),
    ):
        sizes = {name: p.numel() for name, p in model.named_parameters()}
        part, whole = sum(n for name, n in sizes.items() if is_part(name)), sum(sizes.values())
        assert f"{100 * part / whole:.0f} %" in share and share in TEXT
        assert f"{part / 1e6:.0f} of {whole / 1e6:.0f} M" in share or model is xl


def test_each_guess_is_set_beside_its_answer_and_two_are_drawn(lesson):
    names = [cell.source.split(" = ")[0] for cell in lesson.cells if "guess" in cell.tags]
    demos = "".join(cell.source for cell in lesson.named("demo"))
    assert len(names) == 8 and all(demos.count(f", {name}, ") == 1 for name in names)
    for demo, name, guess in (
        ("demo_linear", "guess_linear", 1e6),
        ("demo_table", "guess_last_stage", 0.4),
    ):
        scope = solved("lesson_01").scope | {name: guess}
        lines = value_of(named(lesson, demo), scope).figure.axes[0].lines
        [drawn] = [line for line in lines if line.get_label() == "your guess"]
        assert list(drawn.get_xdata()) == [guess]


def test_an_old_network_counted_by_hand():
    """SqueezeNet 1.0 and VGG-16 from the layer sizes in their papers, as the lesson quotes them."""
    scope = solved("lesson_01").scope
    conv, linear = scope["conv2d_parameters"], scope["linear_parameters"]
    fire = [(96, 16, 64), (128, 16, 64), (128, 32, 128), (256, 32, 128), (256, 48, 192)]
    fire += [(384, 48, 192), (384, 64, 256), (512, 64, 256)]
    squeezenet = conv(3, 96, 7) + conv(512, 1000, 1)
    squeezenet += sum(conv(c, s, 1) + conv(s, e, 1) + conv(s, e, 3) for c, s, e in fire)
    widths = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    vgg = sum(conv(i, o, 3) for i, o in zip(widths, widths[1:], strict=False))
    vgg += linear(512 * 7 * 7, 4096) + linear(4096, 4096) + linear(4096, 1000)
    assert f"{squeezenet:_}" in TEXT and squeezenet == 1_248_424
    assert f"{vgg:_}" in TEXT and vgg == 138_357_544


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        ("linear_parameters", "the bias is left out", "is a term left out, such as a bias?"),
        ("conv2d_parameters", "groups are ignored", "groups are ignored"),
        ("attention_parameters", "the output layer is left out", "the output layer is missing"),
        (
            "count_parameters",
            "tied tensors count as often as they are yielded",
            "tied weights are counted twice",
        ),
        ("count_parameters", "frozen parameters always count", "trainable_only is ignored"),
        ("parameter_memory_mb", "a MB of 10⁶ bytes", "10⁶ bytes, where a MB here is 1024² bytes?"),
        ("parameter_memory_mb", "numpy's None is float64", "None is float64"),
        (
            "parameter_memory_mb",
            "frozen parameters take no memory",
            "frozen parameters are left out",
        ),
        (
            "gpt2_parameters",
            "the output layer has a matrix of its own",
            "tied weights are counted twice",
        ),
        ("gpt2_parameters", "no positions", "the position vectors are missing"),
        ("reflect_deployment", "a MB of 10⁶ bytes", "10⁶ bytes, where a MB here is 1024² bytes?"),
    ],
)
def test_misconceptions_are_named(exercise, mutant, diagnosis):
    assert diagnosis in diagnoses("lesson_01", exercise, mutant)
