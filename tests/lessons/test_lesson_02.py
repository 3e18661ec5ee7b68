"""Lesson 02 as a text: its form, its points, its claims, its pictures, the names it builds."""

from __future__ import annotations

import io
import json
import re
import sys
from contextlib import redirect_stdout

import pytest
from cohort.run import ROOT, solved
from lesson_cells import diagnoses, lesson_text, value_of

from proflab.lesson.plot import Picture
from proflab_course.assemble.command import read_folder, render
from proflab_course.assemble.gather import gather

FOLDER = ROOT / "modules" / "02_flops"
TEXT = lesson_text(FOLDER / "02_flops.py")


@pytest.fixture(scope="module")
def demos(lesson):
    """What each demo cell prints, and the picture on which it ends, run in the solved lesson."""
    scope, shown = dict(solved("lesson_02").scope), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "source" / "02_flops")  # built.py
        patch.syspath_prepend(FOLDER)  # demos.py
        for name in ("built", "demos"):
            patch.delitem(sys.modules, name, raising=False)
        for cell in lesson.named("demo"):
            with redirect_stdout(io.StringIO()) as printed:
                picture = value_of(cell, scope)
            shown[cell.name] = printed.getvalue(), picture
        for name in ("built", "demos"):
            sys.modules.pop(name, None)
    return shown


def test_hints_stand_before_the_exercises_that_took_a_second_try(lesson):
    for name in ("einsum_flops", "count_flops", "gradient_flops"):
        place = next(n for n, cell in enumerate(lesson.cells) if cell.name == name)
        texts = [cell.source for cell in lesson.cells[:place] if cell.role == "text"]
        hints = re.findall(r"<summary>(Hint \d): ", texts[-1])
        assert hints == ["Hint 1", "Hint 2"], name


def test_labels_of_hidden_cases_are_sentences(lesson):
    for cells in solved("lesson_02").tests.values():
        for cell in cells:
            for hidden, answer in cell.answers:
                assert not hidden or len(answer.label.split()) >= 4, (cell.name, answer.label)


def test_demo_cells_end_on_a_picture_or_print(demos, lesson):
    for cell in lesson.named("demo"):
        printed, picture = demos[cell.name]
        assert printed or picture, cell.name
        assert picture is None or isinstance(picture, Picture)
        assert "nbval-check-output" not in cell.tags or (printed and picture is None)


def test_what_the_demos_show_is_what_the_text_says(demos):
    printed = {name: text for name, (text, _) in demos.items()}
    alt = {name: picture.alt for name, (_, picture) in demos.items() if picture}
    assert "100 GFLOP/s: 0.7731 s" in printed["demo_matmul"]
    assert "most of AlexNet's work: conv2" in printed["demo_conv2d"]
    assert re.search(r"FLOPs, one image, 1.45 G: .*fc6–8 8\.", alt["demo_conv2d"])
    assert "fc6–8 96." in alt["demo_conv2d"]  # 4 % of the parameters, 92 % of the work
    assert "scores and mix: 1,536" in printed["demo_attention_share"]
    assert "of the block: 0.617 %" in printed["demo_elementwise"]
    assert printed["demo_reference"].count("  +0\n") == 12
    assert re.search(r"copied widely +0.50× +1.00× +0.70×", printed["demo_attention"])
    assert "GPT-2 small, 32.2 G" in alt["demo_where"]
    assert "torchinfo 0.26291 G" in alt["demo_counters"]
    assert "six counts of GPT-2 small: 2.03" in printed["demo_counters"]
    assert "-98.37%" in printed["demo_deviations"]
    assert "1,782,969,600" in printed["demo_training"]
    assert "frozen ResNet-18: 1 (" in printed["demo_training"]
    assert re.search(r"Kaplan's N +85,056,000 .*: 1\.674", printed["demo_6nd"])
    assert re.search(r"Hoffmann's N +124,439,808 .*: 1\.144", printed["demo_6nd"])


def test_what_the_text_says_of_the_tools():
    rows = json.loads((FOLDER / "counters.json").read_text())["rows"]
    gpt2 = next(row for row in rows if row["model"] == "GPT-2 small")
    counts = gpt2["reported"]
    assert len(counts) == 7 and len(set(counts.values())) == 6
    # 5 for each element of 25 layer norms; all between tokens, but 4 for each of a norm
    assert counts["fvcore"] - gpt2["forward"] // 2 == 5 * 25 * 128 * 768
    between = 12 * 2 * 128 * 128 * 768
    assert gpt2["forward"] // 2 - counts["thop"] == between - 4 * 25 * 128 * 768


def test_training_agrees_with_what_was_recorded():
    rows = json.loads((FOLDER / "counters.json").read_text())["rows"]
    scope = solved("lesson_02").scope
    from proflab import models

    models = {"LeNet-5": models.LeNet5, "ResNet-18": models.resnet18, "GPT-2 small": models.gpt2}
    with scope["meta"]():
        for row in rows:
            if row["model"] in models:
                found = scope["training_flops"](
                    models[row["model"]](), tuple(row["input_shape"]), per_sample=False
                )
                assert found == row["forward_backward"]


def test_the_box_of_torch_counts_what_it_says():
    assert "4,831,838,208" in TEXT
    assert 2 * solved("lesson_02").scope["linear_flops"]((512, 768), 3072) == 4_831_838_208
    box = re.search(r"# ### In torch\n.*?```python\n(.*?)# ```", TEXT, re.DOTALL)[1]
    compile(re.sub(r"(?m)^# ?", "", box), "box", "exec")


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
    without = parameters - (50257 + tokens) * d  # Kaplan's N
    rule = scope["reflect_6nd"](without, tokens)
    assert without == 1_475_561_600
    assert f"{exact / rule:.3f}" == "1.160" and f"{within / rule:.1%}" == "10.7%"
    assert f"{50257 * d / without:.1%}" == "5.4%"


def test_the_lessons_make_one_file_that_counts():
    names: dict = {"__name__": "profiler"}
    exec(render(gather(read_folder(ROOT / "modules", "2")), "A profiler."), names)
    from proflab import models

    assert names["count_flops"](models.LeNet5(), (1, 1, 32, 32)) == 833_040
    assert names["training_flops"](models.LeNet5(), (1, 1, 32, 32)) == 2_263_920
    assert names["elementwise_flops"]("batch_norm_train", (2, 3)) == 48
    assert names["count_parameters"](models.LeNet5()) == 61_706


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        (
            "matmul_flops",
            "multiply-adds",
            "is a factor of 2 left out (a multiply-add is two FLOPs)?",
        ),
        ("matmul_flops", "k − 1 additions", "k − 1 additions"),
        ("linear_flops", "the batch is left out", "the batch is left out"),
        ("linear_flops", "the bias is mixed in", "a bias is counted"),
        ("conv2d_flops", "groups are ignored", "groups are ignored"),
        ("conv2d_flops", "stride is ignored", "stride is ignored"),
        ("backward_flops", "what is computed again is not counted", "it counts only once"),
        ("attention_flops", "the projections at half", "the projections are halved"),
        ("attention_flops", "no output projection", "no output projection"),
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
