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
    assert len(sections) == 9
    asked = re.compile(r"\*\*Predict(\.\*\*|\*\* \(\*constructed\*\)\.)")
    assert all(asked.search(section.split("# ## Reflect")[0]) for section in sections)


def test_colab_gives_the_notebook_a_gpu():
    for step in ("source", "release"):
        notebook = json.loads((ROOT / step / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8"))
        assert notebook["metadata"]["accelerator"] == "GPU"
        assert notebook["metadata"]["colab"] == {"gpuType": "T4", "provenance": []}
        links = "".join(notebook["cells"][0]["source"])
        assert re.search(rf"colab\.[\w./]*/blob/v[\d.]+/release/{NAME}/{NAME}\.ipynb", links)
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
            assert all(
                line.endswith(("constructed: measured by nobody.", "has in_flight rows."))
                or line.endswith("has sweep rows.")
                for line in lines
            )
    assert "nothing is saved" in shown["device_save"][1]


def test_every_demo_ends_on_a_picture_or_prints(lesson, shown):
    for cell in lesson.named("demo"):
        value, printed = shown[cell.name]
        assert isinstance(value, Picture) or printed, cell.name


def test_every_plot_says_who_measured_it_or_that_nobody_did(shown):
    pictures = {name: value for name, (value, _) in shown.items() if isinstance(value, Picture)}
    del pictures["demo_hardware"]  # of NVIDIA's tables, not of a document
    titles = {
        name: picture.figure.axes[0].get_title(loc="left") for name, picture in pictures.items()
    }
    measured = {name for name, title in titles.items() if title.endswith("@1038c5d0 (GPL-3.0)")}
    assert measured == {
        "demo_in_flight", "demo_working_set", "demo_latency", "demo_sweep", "demo_power",
        "demo_published",
    }  # fmt: skip
    assert all("2025-02, RRZE-HPC/gpu-benches" in titles[name] for name in measured)
    for name in titles.keys() - measured:
        assert titles[name].endswith("Tesla T4, constructed"), name
        assert "constructed" in pictures[name].alt
    assert len(titles) == 12 and all(len(picture.alt) > 60 for picture in pictures.values())
    assert not any("e+" in picture.alt for picture in pictures.values())


def test_the_document_is_called_constructed_wherever_it_is_spoken_of(shown):
    first, *_, second = shown["demo_document"][1].splitlines()
    assert first.startswith("First document · Tesla T4, constructed. Constructed, not measured")
    assert second.startswith("Second document · ") and "Measured by others" in second
    assert "No card was measured for it" in TEXT
    assert "the first document does not show what a T4 does" in TEXT
    assert "Who calls the constructed document a measurement does not earn" in TEXT


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
        assert not re.search(r"\b(record|cards)\b|\.json", cell.source), cell.name


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
    assert "of which an eighth is used" in TEXT
    assert "a row: 100.0 %" in printed and "every other number: 50.0 %" in printed
    assert "compute capability 7.5" in shown["demo_hardware"][0].alt


def test_the_opening_says_first_what_a_reader_without_a_card_gets():
    opening = TEXT.split("# %% [markdown]")[1]
    title, picture, first, *rest = [line for line in opening.splitlines() if line.strip("# ")]
    assert first.startswith("# **Without a graphics card** you get all exercises")
    assert "No card was measured for it" in first


def test_predictions_can_be_worked_out():
    assert 40 * 64 * 2 * 1.59e9 == pytest.approx(8.1e12, rel=0.01)
    assert 128 / 4 / 64 == 0.5  # threads, cycles, lanes


def test_what_the_cells_print_of_the_document_is_what_was_assumed(shown):
    model = cuda.Record(FOLDER / DOCUMENT, form=FORM).document["model"]
    printed = shown["demo_published"][1]
    launch = model["µs of a launch"]
    assert f"(assumed), one by one: {launch:.1f}" in printed  # 4.53 begins as 4.5
    assert "(assumed), in a graph: 1.3" in printed
    assert "185 kernels. At 1 ms each, that takes 185 ms" in printed
    printed = shown["demo_speedup"][1]
    share = 8.1e12 * model["share of the float32 peak, at 1,245 MHz"]
    share /= 267 * model["GFLOP/s of the CPU"] * 1e9
    assert int(re.search(r"ran at (\d+)%", printed)[1]) == pytest.approx(100 * share, abs=1)
    crossing = re.findall(r"worth it from n = (\d+) on", shown["demo_crossover"][1])
    assert len(crossing) == 2 and int(crossing[0]) < int(crossing[1])
    assert "128 threads of one chain: the document assumes 48." in shown["demo_fma"][1]


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


def test_measured_rooflines_have_slope_knee_and_flat(shown):
    printed = shown["demo_sweep"][1]
    walls = re.findall(r"^([\d.]+) FLOPs a byte: (\d+)% of the roof, (\w+)$", printed, flags=re.M)
    assert [wall for *_, wall in walls] == ["memory"] * 2 + ["ridge"] + ["compute"] * 3
    assert ("14.25", "86", "ridge") in walls and "an A100 gets 86 % of what" in TEXT
    assert int(walls[0][1]) == 100 and int(walls[-1][1]) == 99


def test_what_the_text_says_of_measured_cards_is_what_was_measured(shown):
    roofs = shown["demo_roofs"][1]
    ratios = re.findall(r"^(float32|dram) .* ([\d.]+)$", roofs, flags=re.M)
    assert ratios == [
        ("float32", "0.98"), ("dram", "0.88"), ("float32", "0.64"), ("dram", "0.79")
    ]  # fmt: skip
    assert "the A100's 88 % of the bandwidth and the H200's 79 %" in TEXT
    rows = {
        row["source"]["card"]: row["points"]
        for row in cuda.Record(FOLDER / "cards.json", form=FORM, own=False).rows("occupancy")
    }
    quarters = {
        card: round(100 * dict(map(tuple, points))[25.0] / max(rate for _, rate in points))
        for card, points in rows.items()
    }
    assert (quarters["V100"], quarters["GH200"]) == (96, 63)
    cycles = re.findall(r"(\d+) from memory", shown["demo_latency"][1])
    assert cycles == ["434", "552", "688"] and "434 to 688 cycles from memory" in TEXT
    assert "a V100 has 96 % of its best bandwidth, a GH200 63 %" in TEXT


def test_a_prediction_is_answered_by_a_measurement_where_there_is_one(shown):
    """And judged: nothing in the sentence says that it was assumed."""
    for name, answer in {
        "demo_in_flight": "bandwidth of an A100 at an eighth: 54.04 %",
        "demo_working_set": "L2 over memory, H200: 2.5",
        "demo_power": "FLOPs for a byte's joules: 23.1",
    }.items():
        assert answer in shown[name][1] and "assumes" not in shown[name][1]


def test_joules_of_two_cards_and_a_third_that_is_at_its_limit(shown):
    found = re.findall(
        r"^([\w-]+): ([\d.]+) pJ a FLOP, (\d+) pJ a byte, (\d+) W; off by (\d+) W",
        shown["demo_power"][1],
        flags=re.M,
    )
    assert found == [
        ("A100-SXM4-40GB", "5.1", "117", "68", "6"),
        ("H200", "5.8", "122", "105", "10"),
        ("MI300X", "0.2", "7", "721", "14"),
    ]
    assert "At 5.1 pJ a FLOP and 117 a byte, a byte of an A100 costs 23 FLOPs (more" in TEXT
    assert "An H200 gives 21 from two clocks" in TEXT
    assert "off by 6 of 292 W" in TEXT


def test_bytes_take_47_percent_at_the_ridge_and_an_h200_mixes_two_clocks(scope):
    a100, h200, _ = json.loads((FOLDER / "cards.json").read_text())["rows"]["roofline"]
    _, *rates, watts = zip(*a100["points"], strict=True)
    cost = scope["energy_model"](*rates, watts)
    _, gb_s, gflop_s, _ = next(point for point in a100["points"] if point[0] == 14.25)
    parts = [cost["byte"] * gb_s / 1e3, cost["flop"] * gflop_s / 1e3, cost["constant"]]
    assert round(100 * parts[0] / sum(parts)) == 47 and "47 %" in TEXT
    speeds = {intensity: gflop_s / 1e3 for intensity, _, gflop_s, _ in h200["points"]}
    assert [round(speeds[at], 1) for at in (14.25, 16.25)] == [28.9, 35.8]
    assert "at 14.25 FLOPs a byte 28.9 TFLOP/s, at 16.25 already 35.8" in TEXT


def test_ones_own_card_is_drawn_beside_the_others(tmp_path, scope):
    """Its rows go through the student's functions."""
    demos, fake = demos_of(NAME), beside(NAME, "kernel_doubles")
    triad = fake.stream([2.0, 1.0, 1.0], 10**6, reads=2, kernel="triad")
    sweep = {"elements": 10**6, "fmas": 4, "itemsize": 4, "watts": 50.0}
    own = fake.document(
        in_flight=[triad | {"threads": threads} for threads in (1024, 256)],
        stream=[fake.stream([2.0, 1.0], 10**6), triad],
        sweep=[sweep | {"events": fake.events(2.0, 1.0)}, sweep | {"events": [[0, 1], [1, 2]]}],
    )
    own["rows"]["sweep"][1]["watts"] = None  # of a card whose sensor is hidden
    FORM.save(own | {"constructed": False}, tmp_path / "recorded.json")
    record = cuda.Record(tmp_path / "constructed.json", form=FORM)
    stream = scope["stream_bytes"], scope["events_to_ms"]
    name = "a card that does not exist, 2026-01-31"
    assert demos.own_occupancy(record, *stream) == {name: [(25.0, 12.0), (100.0, 12.0)]}
    assert demos.own_copies(record, *stream) == {name: [(8000.0, 8.0)]}
    found = demos.own_roofline(record, scope["fma_flops"], *stream)
    assert found == {name: [(1.0, 8.0, 8.0, 50.0)]}
    FORM.save(own, tmp_path / "recorded.json")  # constructed: nothing to draw
    record = cuda.Record(tmp_path / "constructed.json", form=FORM)
    assert demos.own_occupancy(record, *stream) == demos.own_copies(record, *stream) == {}


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
        (
            "energy_model",
            "a FLOP's price for a byte's",
            "a byte's price and a FLOP's are exchanged",
        ),
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
    printed = shown["demo_workloads"][1]
    lines = [line for line in printed.splitlines() if "% of the roof" in line]
    assert len(lines) >= 7 and all("of the roof (assumed), " in line for line in lines)
    assert "the document's CPU" in shown["demo_speedup"][1]


def test_bytes_of_fused_attention_in_tiles():
    """K and V once for each tile of queries: 4.5 times what one passage takes."""
    assert 1024 * 64 * 2 * (1 + 8) == 1_179_648 and 1024 * 64 * 4 == 262_144
    assert "1/5.6 with tiles of 128" in TEXT and round(25.0 / (1_179_648 / 262_144), 1) == 5.6


def test_ridges_of_a_newer_card(shown):
    assert "B200, NVIDIA's data sheet of 2025: 8 TB/s" in shown["demo_roofs"][1]
    assert re.search(r"float4 +9,000 TFLOP/s, ridge at +1,125", shown["demo_roofs"][1])
    sheet = cuda.sheets.DATA_SHEETS["B200"]
    ridges = [sheet[kind] / sheet["dram"] for kind in ("bfloat16", "float8", "float4")]
    assert [int(ridge) for ridge in ridges] == [281, 562, 1125]
    assert cuda.sheets.data_sheet("NVIDIA H100 80GB HBM3")["float8"] == 1979e12
