"""Lesson 10 as a text: form, points, claims, pictures, and that no card is needed."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from cohort.run import ROOT, solved
from lesson_cells import diagnoses, lesson_text
from lesson_demos import beside, demos_of

from proflab import Tensor, dispatch, meta, models, no_grad
from proflab.lesson import cuda
from proflab.lesson.plot import Picture
from proflab_course.assemble.command import read_folder, render
from proflab_course.assemble.gather import gather
from proflab_course.course.notebook import read_module

NAME = "10_cuda_roofline"
FOLDER = ROOT / "modules" / NAME
DOCUMENT, FORM = "constructed_t4.json", beside(NAME, "roofline_document")
TEXT = lesson_text(FOLDER / f"{NAME}.py")
# ── form ─────────────────────────────────────────────────────────────────────────────────────


def test_each_exercise_has_a_test_below_and_each_section_a_prediction(lesson):
    cells = lesson.cells
    for number, cell in enumerate(cells):
        if cell.role == "exercise":
            assert cells[number + 1].name == f"test_{cell.name}"
    sections = re.split(r"^# ## \d", TEXT, flags=re.M)[1:]
    assert len(sections) == 8
    assert all("**Predict.**" in section.split("# ## Reflect")[0] for section in sections)


def test_colab_gives_the_notebook_a_gpu():
    for step in ("source", "release"):
        notebook = json.loads((ROOT / step / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8"))
        assert notebook["metadata"]["accelerator"] == "GPU"
        assert notebook["metadata"]["colab"] == {"gpuType": "T4", "provenance": []}
        badges = "".join(notebook["cells"][0]["source"])
        assert re.search(rf"colab\.[\w./]*/blob/v[\d.]+/release/{NAME}/{NAME}\.ipynb", badges)
        assert notebook["cells"][2]["id"] == "colab_setup"


# ── without a card ───────────────────────────────────────────────────────────────────────────


def test_each_device_cell_says_in_one_line_a_kind_that_there_is_no_device(lesson, shown):
    cells = [cell for cell in lesson.cells if "device" in cell.tags]
    assert len(cells) == 7 and all(cell.role == "demo" for cell in cells)
    for cell in cells:
        lines = shown[cell.name][1].splitlines()
        assert len(lines) == cell.source.count("record.")
        if cell.name != "device_save":
            assert all(line.startswith("No CUDA device") for line in lines)
            assert all("constructed: measured by nobody" in line for line in lines)
    assert "nothing is saved" in shown["device_save"][1]


def test_every_demo_ends_on_a_picture_or_prints(lesson, shown):
    for cell in lesson.named("demo"):
        value, printed = shown[cell.name]
        assert isinstance(value, Picture) or printed, cell.name


def test_every_plot_of_the_constructed_document_is_called_constructed(shown):
    pictures = [value for name, (value, _) in shown.items() if isinstance(value, Picture)]
    pictures.remove(shown["demo_hardware"][0])  # of NVIDIA's tables, not of the document
    assert len(pictures) == 9
    for picture in pictures:
        assert picture.figure.axes[0].get_title(loc="left").endswith("Tesla T4, constructed")
        assert "constructed" in picture.alt and len(picture.alt) > 60


def test_the_document_is_called_constructed_wherever_it_is_spoken_of(shown):
    assert shown["demo_document"][1].startswith(
        "The document · Tesla T4, constructed. Constructed, not measured"
    )
    assert "No card was measured for it" in TEXT
    assert "It does not show what a T4 does" in TEXT
    assert "calling the constructed document a measurement" in TEXT


def test_given_cells_import_neither_cupy_nor_torch_nor_nvml():
    code = """
import json, sys
notebook = json.load(open(sys.argv[1] + ".ipynb"))
for cell in notebook["cells"]:
    nbgrader, tags = cell["metadata"].get("nbgrader", {}), cell["metadata"].get("tags", [])
    if cell["cell_type"] == "code" and not nbgrader.get("grade") and "demo" not in tags:
        exec("".join(cell["source"]), globals())
assert record and callable(gpu_mistakes)
sys.exit(any(name in sys.modules for name in ("cupy", "torch", "pynvml", "matplotlib")))
"""
    place = ROOT / "source" / NAME
    code = "import sys; sys.path.append('.')" + code
    assert subprocess.run([sys.executable, "-c", code, NAME], cwd=place).returncode == 0


def test_test_cells_name_no_record():
    """Grading must not depend on a document that a student measured."""
    for cell in read_module(FOLDER / f"{NAME}.py", NAME).named("test"):
        assert not re.search(r"\brecord\b|\.json", cell.source), cell.name


# ── claims of the text ───────────────────────────────────────────────────────────────────────


def counted(scope, name):
    rules = (scope[each] for each in ("op_flops", "ELEMENTWISE", "elementwise_flops"))
    return scope["demos"].counts(name, *rules)


def test_what_the_text_says_of_shapes_is_what_is_counted():
    scope = solved("lesson_10").scope
    counts = {name: counted(scope, name) for name in demos_of(NAME).TABLE}
    naive, fused = counts["attention"], counts["attention, fused"]
    assert naive["flops"] == fused["flops"]
    scores = 8 * 12 * 1024**2 * 2
    assert naive["bytes"] - fused["bytes"] == 6 * scores  # written three times, read three times
    assert round(naive["bytes"] / fused["bytes"]) == 25
    n = 2**26
    assert counts["chain"] == {"flops": 4 * n, "bytes": 4 * n * (2 + 2 + 2 + 3)}
    assert counts["chain, fused"] == {"flops": 4 * n, "bytes": 4 * n * 2}
    assert counts["softmax"] == {"flops": 5 * n, "bytes": 4 * n * 2}
    assert counts["layer norm"] == {"flops": 8 * n, "bytes": 4 * n * 2}


def test_the_block_is_gpt2s_block():
    scope = solved("lesson_10").scope
    block = counted(scope, "Transformer block")["flops"]
    with meta():
        model = models.gpt2("small").eval()
    flops_of, total = scope["op_flops"], []

    def add(call):
        total.append(flops_of(call.op, [t.shape for t in call.inputs], call.attributes))
        return call()

    with no_grad(), dispatch.hook(add):
        model(Tensor.meta((8, 1024), "int64"))
    head = 2 * 8 * 1024 * 768 * 50257
    assert sum(total) - head == 12 * block


def test_what_tiles_of_queries_read_is_as_the_text_says():
    tokens, width, tile = 1024, 64, 128
    each = tokens * width
    assert 4 * each == 262_144  # Q, K, V and the result, once
    assert 2 * each + tokens // tile * 2 * each == 1_179_648
    assert "1,179,648 numbers instead of 262,144" in TEXT


def test_the_worked_numbers_of_the_hardware(shown):
    scope = solved("lesson_10").scope
    t4 = cuda.multiprocessor({"name": "Tesla T4", "compute_capability": [7, 5]})
    assert (t4["registers"], t4["shared"]) == (65_536, 64 * 1024)
    assert "65,536 registers and 64 KB of *shared memory*" in TEXT
    assert 256 * 72 == 18_432 and 65_536 // 18_432 == 3 and 3 * 256 == 768
    assert scope["occupancy"](256, 65, 0, t4) == 768 / 1024 == 0.75
    columns = {rows: [rows * i for i in range(32)] for rows in (32, 33)}
    assert [scope["bank_conflicts"](words) for words in columns.values()] == [32, 1]
    printed = shown["demo_hardware"][1]
    assert "a column: 12.5 % of the bytes that are fetched are used" in printed
    assert "a row: 100.0 %" in printed and "every other number: 50.0 %" in printed
    assert "compute capability 7.5" in shown["demo_hardware"][0].alt


def test_the_opening_says_first_what_a_reader_without_a_card_gets():
    opening = TEXT.split("# %% [markdown]")[1]
    title, picture, first, *rest = [line for line in opening.splitlines() if line.strip("# ")]
    assert first.startswith("# **Without a graphics card** you get all exercises")
    assert "No card was measured for it" in first


def test_predictions_can_be_worked_out():
    assert 40 * 64 * 2 * 1.59e9 == pytest.approx(8.1e12, rel=0.01)
    assert 8e12 / 320e9 * 8 / 2 == 100 and "the knee is at 100 FMAs a float" in TEXT
    assert 128 / 4 / 64 == 0.5  # threads, cycles, lanes


def test_what_the_cells_print_of_the_document_is_what_was_assumed(shown):
    model = cuda.Record(FOLDER / DOCUMENT, form=FORM).document["model"]
    printed = shown["demo_published"][1]
    assert f"one by one: {model['µs of a launch']:.1f}" in printed  # 4.53 begins as 4.5
    assert (
        "in a graph: 1.3" in printed and "185 kernels. At 1 ms each, that takes 185 ms" in printed
    )
    share = 8.1e12 * model["share of the float32 peak, at 1,245 MHz"]
    share /= 267 * model["GFLOP/s of the CPU"] * 1e9
    assert int(re.search(r"ran at (\d+)%", printed)[1]) == pytest.approx(100 * share, abs=1)
    crossing = re.findall(r"worth it from n = (\d+) on", shown["demo_crossover"][1])
    assert len(crossing) == 2 and int(crossing[0]) < int(crossing[1])
    assert "128 threads of one chain: the document assumes 48." in shown["demo_fma"][1]
    assert re.search(r"float32 +6\.\d+ TFLOP/s +8\.1 TFLOP/s +0\.76", shown["demo_roofs"][1])


def test_each_way_to_a_wrong_number_is_shown_and_found(shown):
    verdicts = {
        line[:16].strip(): line[43:].strip() for line in shown["demo_trials"][1].splitlines()[2:]
    }
    assert verdicts == {
        "as it should be": "valid",
        "no synchronize": "not synchronized",
        "cached result": "too short, above the roof",
        "tiny product": "too short",
        "fresh kernel": "first call",
        "warm cache": "above the roof",
    }


def test_the_sweep_draws_slope_knee_and_flat(shown):
    walls = re.findall(r"FMAs: +(\d+), .*, (\w+)$", shown["demo_sweep"][1], flags=re.M)
    assert [wall for _, wall in walls] == ["memory"] * 7 + ["compute"] * 4


def test_the_essays_figures():
    scope = solved("lesson_10").scope
    document = cuda.Record(FOLDER / DOCUMENT, form=FORM).document
    found = scope["gpu_mistakes"](document)
    assert "no synchronize: not synchronized" in found and "fresh kernel: first call" in found
    roofs = scope["ceilings"](document)
    assert scope["reflect_speedup"](267, roofs["flops"]["float32"], 95e9) < 0.3


# ── what it builds ───────────────────────────────────────────────────────────────────────────


def test_the_lessons_make_one_file():
    names: dict = {"__name__": "profiler"}
    lessons = [lesson for lesson in read_folder(ROOT / "modules", "10") if lesson.name <= NAME]
    text = render(gather(lessons), "A profiler.")
    own = [s for s in gather(lessons).statements if s.lesson == NAME]
    assert own and not any("record" in s.binds for s in own)  # what measures stays in the notebook
    exec(text, names)
    assert names["fma_flops"](3, 5, 7) == 210
    fake = beside(NAME, "kernel_doubles")
    product, copied = fake.gemm([2.0, 1.0], 10, 10, 10), fake.stream([2.0, 1.0], 10**6)
    roofs = names["ceilings"](fake.document(10**5, gemm=[product], stream=[copied]))
    assert roofs == {"flops": {"float32": 2e6}, "bandwidth": {"dram": 8e9}}
    t4 = cuda.multiprocessor({"name": "Tesla T4", "compute_capability": [7, 5]})
    assert names["occupancy"](256, 65, 0, t4) == 0.75


@pytest.mark.parametrize(
    "exercise, mutant, diagnosis",
    [
        ("fma_flops", "an FMA is one", "an FMA is one operation"),
        ("stream_bytes", "the writes are left out", "the write is left out"),
        ("warp_sectors", "bytes over 32", "the bytes are counted, not where they lie"),
        ("bank_conflicts", "a word counts each time", "one word conflicts with itself"),
        ("events_to_ms", "warm-up is counted", "warm-up is in it"),
        (
            "events_to_ms",
            "seconds",
            "a unit 1000 times too large, such as seconds for milliseconds?",
        ),
        ("crossover", "a straight line through the sizes", "straight in the sizes"),
        ("crossover", "the middle of the two", "in the middle"),
        ("ceilings", "per ms", "a unit 1000 times too large, such as seconds for milliseconds?"),
        ("ceilings", "an FMA is one", "an FMA is one operation"),
        ("reflect_launch", "the last, divided", "what it costs once is in it"),
    ],
)
def test_misconceptions_are_named(exercise, mutant, diagnosis):
    assert diagnosis in diagnoses("lesson_10", exercise, mutant)


# ── what holds of the constructed document ───────────────────────────────────────────────────


def test_no_workload_is_faster_than_its_kernels_one_after_another(scope):
    """Each kernel takes at least its FLOPs over the peak, and its bytes over the bandwidth."""
    roofs = scope["ceilings"](cuda.Record(FOLDER / DOCUMENT, form=FORM).document)
    rules = (scope[each] for each in ("op_flops", "ELEMENTWISE", "elementwise_flops"))
    rules = list(rules)
    for row in cuda.Record(FOLDER / DOCUMENT, form=FORM).rows("workload"):
        peak, bandwidth = roofs["flops"][row["dtype"]], roofs["bandwidth"]["dram"]
        least = sum(
            max((part["products"] or part["elementwise"]) / peak, part["bytes"] / bandwidth)
            for part in scope["demos"].parts_of(row["name"], *rules)
        )
        assert scope["events_to_ms"](row["events"], "best") > 1e3 * least, row["name"]


def test_the_first_launch_is_asked_of_a_kernel_that_was_never_compiled(shown):
    answer = re.search(
        r"fresh kernel over its median: the document assumes ([\d.]+)", shown["demo_events"][1]
    )
    assert float(answer[1]) > 100
    assert "the kernel is compiled, memory is fetched" not in TEXT


def test_what_was_assumed_is_called_so_in_each_line(shown):
    for name in ("demo_sweep", "demo_workloads"):
        lines = [line for line in shown[name][1].splitlines() if "% of the roof" in line]
        assert len(lines) >= 7 and all("of the roof (assumed), " in line for line in lines)
    assert "the document's CPU" in shown["demo_published"][1]


def test_bytes_of_fused_attention_in_tiles():
    """K and V once for each tile of queries: 4.5 times what one passage takes."""
    assert 1024 * 64 * 2 * (1 + 8) == 1_179_648 and 1024 * 64 * 4 == 262_144
    assert "1/5.6 with tiles of 128" in TEXT and round(25.0 / (1_179_648 / 262_144), 1) == 5.6


def test_ridges_of_a_newer_card():
    sheet = cuda.sheets.DATA_SHEETS["B200"]
    ridges = [sheet[kind] / sheet["dram"] for kind in ("bfloat16", "float8", "float4")]
    assert [int(ridge) for ridge in ridges] == [281, 562, 1125]
    assert cuda.sheets.data_sheet("NVIDIA H100 80GB HBM3")["float8"] == 1979e12
