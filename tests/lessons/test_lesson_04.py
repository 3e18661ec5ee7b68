"""Lesson 04 as a text: its form, its points, its claims, its pictures, the names it builds."""

from __future__ import annotations

import contextlib
import io
import linecache
import re

import pytest
from cohort.run import ROOT, solved
from lesson_cells import diagnoses, lesson_text, value_of

import proflab
from proflab import meta, models, nn
from proflab.lesson.plot import Picture
from proflab_course.assemble.command import read_folder, render
from proflab_course.assemble.gather import gather

FOLDER = ROOT / "modules" / "04_memory"
TEXT = lesson_text(FOLDER / "04_memory.py")
MB = 1024**2


@pytest.fixture(scope="module")
def demos(lesson):
    """What each demo cell ends on, and prints, in the solved lesson, run beside its files."""
    scope, shown = dict(solved("lesson_04").scope), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(FOLDER)
        patch.syspath_prepend(str(FOLDER))
        patch.setenv("PROFLAB_DEMO", "small")
        for cell in lesson.named("demo"):
            printed = io.StringIO()
            lines = cell.code.splitlines(keepends=True)
            linecache.cache[cell.name] = len(cell.code), None, lines, cell.name
            with contextlib.redirect_stdout(printed):
                value = value_of(cell, scope)
            shown[cell.name] = value if value is not None else printed.getvalue()
            shown[cell.name, "printed"] = printed.getvalue()
    return shown


@pytest.mark.whole
def test_demo_cells_end_on_a_picture_or_print(demos, lesson):
    for cell in lesson.named("demo"):
        # What is measured is printed, too, but not compared with what a notebook shows.
        printed = "nbval-check-output" in cell.tags
        printed |= cell.name in ("demo_measure", "demo_leak", "demo_stages", "demo_report")
        assert isinstance(demos[cell.name], str if printed else Picture) and demos[cell.name]


@pytest.mark.proves
def test_what_the_demos_show_is_what_the_text_says(demos):
    needs = demos["demo_tracker"].alt
    assert re.search(r"b = 2 \* a; b = b \+ 1 16\.0; b = 2 \* a; b \+= 1 8\.0", needs)
    assert re.search(r"a \*= 2; a \+= 1 0\.\d; b = a\[::2\] 0\.\d", needs)
    assert demos["demo_saved"].count("storage 1") == 2  # the third is shared with the second
    exact = "GPT-2 small: yours 686,171,136, torch's 686,171,136, 0"
    assert exact in demos["demo_reference"] and demos["demo_reference"].count("-88,256") == 1
    stages = demos["demo_stages"]
    assert "kept by ResNet-18 for 8 images: 153.9 MB" in stages
    assert "layer1: 0.6 MB of parameters, 49.0 MB kept" in stages
    assert "layer4: 32.0 MB of parameters, 6.9 MB kept" in stages
    assert "GPT-2 XL, 1 × 128 tokens, 24,445 MB" in demos["demo_training"].alt
    printed = demos["demo_training", "printed"]
    assert "without activations: 1,899 MB" in printed and "the larger part: 10 " in printed
    report = solved("lesson_04").scope["reflect_training_mb"]
    said = [report(124_439_808, 4, 200, *how) for how in ((1024**2, 10**6), (10**6,))]
    assert all(f"{mb:,.2f}" in TEXT and f"{mb:,.2f}" in demos["demo_report"] for mb in said)


def test_activations_pass_the_rest_at_the_batch_that_the_lesson_prints():
    scope = solved("lesson_04").scope
    with meta():
        resnet = models.resnet18()
    for batch, larger in ((9, False), (10, True)):
        row = scope["training_memory"](resnet, (batch, 3, 224, 224), "adam")
        assert (row["activation_mb"] > row["total_mb"] / 2) == larger


def test_two_thirds_of_a_block_at_1024_tokens_are_attentions_scores():
    """12 heads of 1,024² numbers: the 48 MB of the text."""
    scope = solved("lesson_04").scope
    with meta():
        attention = models.gpt2("small").blocks[0].attn
    one, two = (scope["saved_activations"](attention, (1, n, 768)) for n in (1024, 2048))
    scores = 12 * 1024**2 * 4
    assert scores == 48 * MB and scores < one < 1.4 * scores
    assert 3.4 < two / one < 4


def test_the_leak_is_found_where_the_text_says(demos):
    rows = dict(line.split(": ") for line in demos["demo_leak"].splitlines())
    kb = {name: float(text.split()[0].replace(",", "")) for name, text in rows.items()}
    assert rows["validate"].endswith("by validate") and kb["validate"] > 70
    assert kb["train"] < 20 and max(kb["without a graph"], kb["for the number"]) < 4


def peaks_of_steps(layers, shape, lengths):
    """Return the MB at the peak of a training step, by the length of a segment."""
    scope, x, peaks = solved("lesson_04").scope, proflab.example_input(None, shape), {}
    for every in lengths:
        with scope["MemoryTracker"]() as tracker:
            (scope["checkpointed"](layers, every)(x) ** 2).mean().backward()
        peaks[every] = tracker.peak_mb
    return peaks


def test_how_long_a_segment_should_be():
    """Near the root of their number where layers are plain; one where they are whole blocks."""
    layers = [nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(36)]
    peaks = peaks_of_steps(layers, (2048, 64), (1, 6, 36))
    assert peaks[6] < 0.6 * min(peaks[1], peaks[36])
    blocks = list(models.GPT2(16, 16, d_model=96, layers=4, heads=3).blocks)
    peaks = peaks_of_steps(blocks, (8, 64, 96), (1, 2, 4))
    assert peaks[1] < peaks[2] < peaks[4]


def test_a_promise_is_kept_page_by_page(demos):
    """It is traced as soon as it is asked for; what the system says depends on what it has left."""
    moments = r"(asked for|filled|freed) at [^;]*traced (-?\d+)"
    found = dict(re.findall(moments, demos["demo_promise"].alt))
    assert found == {"asked for": "20", "filled": "20", "freed": "0"}


class Blocks(nn.Module):
    """GPT-2 with a checkpoint before each block, as the essay asks."""

    input_dtype = "int64"

    def __init__(self, gpt2, checkpointed):
        self.gpt2, self.run = gpt2, checkpointed(list(gpt2.blocks), 1)

    def forward(self, tokens):
        positions = proflab.arange(0, tokens.shape[1], device=tokens.device)
        x = self.run(self.gpt2.wte(tokens) + self.gpt2.wpe(positions))
        return self.gpt2.lm_head(self.gpt2.ln_f(x))


def test_the_essays_figures():
    scope = solved("lesson_04").scope
    with meta():
        gpt2 = models.gpt2("small")
    net, shape = Blocks(gpt2, scope["checkpointed"]), (8, 128)
    saved, kept = (scope["saved_activations"](model, shape) / MB for model in (gpt2, net))
    both = scope["training_memory"](gpt2, shape, "sgd", 0)["total_mb"]
    block, shape_in = gpt2.blocks[0], (8, 128, 768)
    parts = [scope["saved_activations"](part, shape_in) / MB for part in (block.mlp, block.attn)]
    block_mb, x_mb = scope["saved_activations"](block, shape_in) / MB, 8 * 128 * 768 * 4 / MB
    costs = [scope["training_flops"](model, shape) for model in (gpt2, net)]
    with_inputs = [mb + x_mb for mb in parts]
    shown = " ".join(f"{mb:.1f}" for mb in (block_mb, *parts, *with_inputs))
    assert f"{saved:.1f} {both:.1f} {both + saved:,.1f}" == "654.4 949.4 1,603.8"
    assert shown == "51.0 24.0 18.0 27.0 21.0"
    assert f"{both + kept:.1f}" == "991.4" and f"{kept:.0f}" == "42"
    assert f"{(costs[1] - costs[0]) / 1e9:.1f} {costs[1] / costs[0] - 1:.0%}" == "22.3 23%"
    assert f"{8 * 128 * 50257 * 4 / MB:.0f}" == "196"
    for figure in (
        "654.4",
        "51.0",
        "24.0",
        "18.0",
        "27.0",
        "21.0",
        "949.4",
        "1,603.8",
        "36 MB",
        "22.3",
        "23 %",
    ):
        assert figure in TEXT[TEXT.index("**Mark scheme.**") :]


def test_the_lessons_make_one_file_that_measures():
    names: dict = {"__name__": "profiler"}
    exec(render(gather(read_folder(ROOT / "modules", "4")), "A profiler."), names)
    assert names["saved_activations"](models.LeNet5(), (8, 1, 32, 32)) == 271_296
    assert names["find_leak"](lambda: None, 2)["function"] is None
    with contextlib.redirect_stdout(None), names["MemoryTracker"]() as tracker:
        profiler = names["MemoryProfiler"]()
        profiler.snapshot("now")
        assert profiler.report()[0]["rss_mb"] > 10
    assert tracker.peak_mb < 10
    assert names["checkpointed"]([nn.Linear(2, 2)], 1)(proflab.ones(1, 2)).shape == (1, 2)


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        (
            "MemoryTracker",
            "the inner one lowers the outer one's peak",
            "the inner one has lowered it",
        ),
        ("measure_memory", "the output is not held", "the output is not held"),
        ("measure_memory", "no graph is made", "no graph is made"),
        ("measure_memory", "the input counts", "the inputs count"),
        ("measure_memory", "parameters are missing at the peak", "parameters are missing"),
        (
            "saved_activations",
            "counted once for each that keeps it",
            "counted once for each that keeps it",
        ),
        ("saved_activations", "what is computed, not what is kept", "what is computed, not kept"),
        ("optimizer_memory_mb", "frozen parameters have a state", "frozen parameters have a state"),
        ("training_memory", "gradients are missing", "no gradients, or half the state"),
        ("training_memory", "MB of 10⁶ bytes", "10⁶ bytes, where a MB here is 1024² bytes?"),
        ("memory_table", "over the first snapshot", "over the first snapshot"),
        ("find_leak", "who allocates the most", "it replaces it"),
        ("find_leak", "all steps together", "all steps together"),
    ],
)
def test_misconceptions_are_named(exercise, mutant, diagnosis):
    assert diagnosis in diagnoses("lesson_04", exercise, mutant)
