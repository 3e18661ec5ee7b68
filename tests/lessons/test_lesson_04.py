"""Lesson 04 as a text: its form, its points, its claims, its pictures, the names it builds."""

from __future__ import annotations

import contextlib
import io
import linecache
import re

import pytest
from cohort.run import ROOT, solved
from lesson_cells import diagnoses, value_of

import proflab
from proflab import meta, models, nn
from proflab.lesson.plot import Picture
from proflab_course.assemble.collect import collect
from proflab_course.assemble.command import read_folder, render
from proflab_course.course.notebook import read_module

FOLDER = ROOT / "modules" / "04_memory"
TEXT = (FOLDER / "04_memory.py").read_text(encoding="utf-8")
SYLLABUS = [
    "MemoryTracker",
    "measure_memory",
    "saved_activations",
    "optimizer_memory_mb",
    "training_memory",
    "MemoryProfiler",
    "find_leak",
    "checkpointed",
]
STEPS = ["recomputed_gradients"]  # on the way to checkpointed
REFLECT = ["reflect_training_mb"]
MB = 1024**2


@pytest.fixture(scope="module")
def lesson():
    return read_module(FOLDER / "04_memory.py", "04_memory")


@pytest.fixture(scope="module")
def demos(lesson):
    """What each demo cell ends on, and prints, in the solved lesson, run beside its files."""
    scope, shown = dict(solved("lesson_04").scope), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(FOLDER)
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


def test_the_exercises_are_those_of_the_syllabus_in_its_order(lesson):
    names = [cell.name for cell in lesson.named("exercise")]
    assert [name for name in names if name not in STEPS + REFLECT] == SYLLABUS
    assert sorted(set(names) - set(SYLLABUS)) == STEPS + REFLECT


def test_points(lesson):
    assert sum(cell.points for cell in lesson.named("test")) == 100
    assert [(cell.name, cell.points) for cell in lesson.named("manual")] == [("essay_memory", 10)]
    assert "Mark scheme" in lesson.named("manual")[0].source


def test_each_exercise_has_a_prediction_above_and_a_test_below(lesson):
    cells = [cell for cell in lesson.cells if cell.role != "given"]
    for number, cell in enumerate(cells):
        if cell.role != "exercise":
            continue
        if cell.name not in STEPS + REFLECT:
            above = "".join(c.source for c in cells[max(0, number - 2) : number])
            assert "**Predict.**" in above, cell.name
        below = next(c for c in cells[number + 1 :] if c.role != "text")
        assert below.name == f"test_{cell.name}"


def test_docstrings_say_what_is_returned_and_raised():
    scope = solved("lesson_04").scope
    for name in SYLLABUS + STEPS + REFLECT:
        text = scope[name].__doc__
        if isinstance(scope[name], type):
            text += "".join(vars(scope[name])[n].__doc__ or "" for n in vars(scope[name])
                            if callable(vars(scope[name])[n]))  # fmt: skip
        assert "Returns" in text or "peak_mb" in text, name
        assert "Raises" in text or name in ("MemoryTracker", *STEPS), name


def test_demo_cells_end_on_a_picture_or_print(demos, lesson):
    for cell in lesson.named("demo"):
        # What is measured is printed, too, but not compared with what a notebook shows.
        measured = cell.name in ("demo_measure", "demo_leak")
        kind = str if measured or "nbval-check-output" in cell.tags else Picture
        assert isinstance(demos[cell.name], kind) and demos[cell.name], cell.name


def test_what_the_demos_show_is_what_the_text_says(demos):
    assert re.search(r"b = 2 \* a; b = b \+ 1 16\.0; b = 2 \* a; b \+= 1 8\.0", demos_alt(demos))
    assert re.search(r"a \*= 2; a \+= 1 0\.\d; .*; b = a\[::2\] 0\.\d;", demos_alt(demos))
    assert demos["demo_saved"].count("storage 1") == 2  # the third is shared with the second
    assert re.search(r"GPT-2 small .* 686,171,136 +686,171,136 +0 +0", demos["demo_reference"])
    assert demos["demo_reference"].count("-88,256") == 2
    stages = demos["demo_stages"].alt
    assert re.search(r"parameters, 44.6 MB: .*layer4 71\.8%.*saved.*layer1 35\.8%", stages)
    for name in ("sgd", "momentum", "adam", "adamw"):
        row = re.search(rf"^{name} +([\d,]+) +([\d,]+)$", demos["demo_optimizers"], re.M)
        assert row[1] == row[2]
    assert "GPT-2 XL, 1 × 128 tokens, 24,445 MB" in demos["demo_training"].alt
    assert re.search(r"124 million +2,184\.00 +2,092\.09", demos["demo_units"])


def demos_alt(demos):
    return demos["demo_tracker"].alt


def test_the_kv_cache_is_what_the_text_says(demos):
    for row in demos["demo_kv"].splitlines()[1:]:
        prompt, more, formula = (float(n) for n in row.replace(",", "").split()[-3:])
        assert more == formula and abs(prompt / formula - 1.5) < 0.01


def test_the_leak_is_found_where_the_text_says(demos):
    rows = dict(line.split(maxsplit=1) for line in demos["demo_leak"].splitlines())
    assert rows.pop("validate").endswith("validate")
    assert [text.strip() for text in rows.values()] == ["no leak"] * 3


def test_how_long_a_segment_should_be(demos):
    """Near the root of their number where layers are plain; one where they are whole blocks."""
    plain, blocks = demos["demo_checkpointed", "printed"].splitlines()
    assert plain.startswith("4 times Linear, ReLU") and blocks.endswith("in segments of 1")
    scope = solved("lesson_04").scope
    layers = [nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(36)]
    x = proflab.example_input(None, (2048, 64))
    peaks = {}
    for every in (1, 6, 36):
        with scope["MemoryTracker"]() as tracker:
            scope["Checkpointed"](layers, every)(x).sum().backward()
        peaks[every] = tracker.peak_mb
    assert peaks[6] < 0.6 * min(peaks[1], peaks[36])


def test_a_promise_is_kept_page_by_page(demos):
    """It is traced as soon as it is asked for; what the system says depends on what it has left."""
    found = dict(re.findall(r"(asked for|filled|freed), traced (-?\d+)", demos["demo_promise"].alt))
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
    block = scope["saved_by"](gpt2.blocks[0], (8, 128, 768), lambda path: path.split(".")[0])
    costs = [scope["training_flops"](model, shape) for model in (gpt2, net)]
    parts = f"{sum(block.values()) / MB:.1f} {block['mlp'] / MB:.1f} {block['attn'] / MB:.1f}"
    assert f"{saved:.1f} {both:.1f} {both + saved:,.1f}" == "654.4 949.4 1,603.8"
    assert parts == "51.0 27.0 21.0"
    assert f"{both + kept:.1f}" == "991.4" and f"{kept:.0f}" == "42"
    assert f"{(costs[1] - costs[0]) / 1e9:.1f} {costs[1] / costs[0] - 1:.0%}" == "22.3 23%"
    assert f"{8 * 128 * 50257 * 4 / MB:.0f}" == "196"
    for figure in ("654.4", "51.0", "27.0", "21.0", "949.4", "1,603.8", "36 MB", "22.3", "23 %"):
        assert figure in TEXT[TEXT.index("**Mark scheme.**") :]


def test_the_lessons_make_one_file_that_measures():
    names: dict = {"__name__": "profiler"}
    exec(render(collect(read_folder(ROOT / "modules", "4")), "A profiler."), names)
    assert names["saved_activations"](models.LeNet5(), (8, 1, 32, 32)) == 271_296
    assert names["find_leak"](lambda: None, 2)["function"] is None
    with contextlib.redirect_stdout(None), names["MemoryTracker"]() as tracker:
        profiler = names["MemoryProfiler"]()
        profiler.snapshot("now")
        assert profiler.report()[0]["rss_mb"] > 10
    assert tracker.peak_mb < 10
    assert names["Checkpointed"]([nn.Linear(2, 2)], 1)(proflab.ones(1, 2)).shape == (1, 2)


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
        ("measure_memory", "the input counts", "the input counts"),
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
        ("MemoryProfiler", "over the first snapshot", "over the first snapshot"),
        ("find_leak", "who allocates the most", "it replaces it"),
        ("find_leak", "all steps together", "all steps together"),
    ],
)
def test_misconceptions_are_named(exercise, mutant, diagnosis):
    assert diagnosis in diagnoses("lesson_04", exercise, mutant)


def test_the_pictures_are_drawn_by_their_script():
    import runpy

    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "lesson_04.py"))
    for draw in ("bytes", "kept", "segments"):
        picture = script[draw]()
        assert (FOLDER / f"{draw}.png").exists() and picture.alt
        assert picture.png(dpi=60).startswith(b"\x89PNG")
