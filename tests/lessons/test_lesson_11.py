"""Lesson 11 as a text: form, points, claims, and that no card is needed."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys

import pytest
from cohort.run import ROOT, entries
from lesson_cells import diagnoses, lesson_text
from lesson_demos import beside, demos_of

from proflab import meta, models
from proflab.lesson.plot import Picture
from proflab_course.assemble.command import read_folder, render
from proflab_course.assemble.gather import gather

fake = beside("11_gpu_training", "trace_doubles")

NAME = "11_gpu_training"
FOLDER = ROOT / "modules" / NAME
MEASURED = tuple(f"v100_{name}.json" for name in ("loader", "workers", "pair", "step"))
DOCUMENTS, FORM = (*MEASURED, "constructed_train.json"), beside(NAME, "train_document")
TEXT = lesson_text(FOLDER / f"{NAME}.py")
RESNET18 = 46_758_048  # bytes of its gradients in float32


# ── form ─────────────────────────────────────────────────────────────────────────────────────


# ── without a card ───────────────────────────────────────────────────────────────────────────


def measured_by(cell) -> list[tuple[str, str]]:
    """Return what a device cell measures: the name of the record, and the kind."""
    found = re.findall(r'(record|anywhere)\.measure\("(\w+)"', cell.source)
    loops = r"for kind in \((.*?)\):\n    (record|anywhere)\.measure\(kind"
    for kinds, record in re.findall(loops, cell.source):
        found += [(record, kind) for kind in json.loads(f"[{kinds}]")]
    return found


@pytest.mark.proves("device cells say that there is no device")
def test_each_device_cell_says_for_each_kind_that_there_is_no_device(lesson, shown):
    cells = [cell for cell in lesson.cells if "device" in cell.tags]
    assert [cell.name for cell in cells] == [
        "device_traces",
        "device_lab",
        "device_loop",
        "device_save",
    ]
    for cell in cells[:2]:
        lines = shown[cell.name][1].splitlines()
        assert len(lines) == len(measured_by(cell))
        assert all(line.startswith("No CUDA device") for line in lines)
        own = (
            "rows are measured on Tesla V100",
            "Tesla T4, constructed: measured by nobody",
            "rows are measured on CPU (AMD EPYC, 2 threads), 2026-11-23",
        )
        assert all(any(words in line for words in own) for line in lines)
    assert "nothing is saved" in shown["device_save"][1]


def test_the_device_cells_measure_each_kind_that_the_lesson_draws(lesson):
    cells = [cell for cell in lesson.cells if "device" in cell.tags]
    drawn = set(re.findall(r'(record|anywhere)\.rows\("(\w+)"\)', TEXT))
    assert drawn == {each for cell in cells for each in measured_by(cell)}


def test_the_lesson_reads_the_measured_documents_and_the_constructed_one(lesson):
    [cell] = [cell for cell in lesson.cells if cell.name == "record"]
    assert tuple(re.findall(r"\w+\.json", cell.source)) == (
        *DOCUMENTS,
        "cpu_train.json",
        "cpu_lab.json",
    )


def test_every_demo_ends_on_a_picture_or_prints(lesson, shown):
    for cell in lesson.named("demo"):
        value, printed = shown[cell.name]
        assert isinstance(value, Picture) or printed, cell.name


def test_the_title_of_every_plot_says_who_measured_it_or_that_nobody_did(shown):
    pictures = {name: value for name, (value, _) in shown.items() if isinstance(value, Picture)}
    titles = {n: p.figure.axes[0].get_title(loc="left") for n, p in pictures.items()}
    calculated = {"demo_overlap", "demo_buckets"}
    by_others = {"demo_causes", "demo_memory", "demo_convolutions", "demo_two_processes"}
    on_a_processor = {"demo_losses", "demo_loader"}
    assert calculated | by_others | on_a_processor < set(titles)
    for name, title in titles.items():
        if name in by_others:
            assert re.search(r"Tesla V100-\S+, .*\d{4}-\d\d-\d\d, \S+@\w+ \((MIT|BSD-3)", title)
        elif name in on_a_processor:
            assert title.endswith("CPU (AMD EPYC, 2 threads), 2026-11-23")
        elif name not in calculated:
            assert title.endswith("Tesla T4, constructed")
    listed = shown["demo_document"][1].splitlines()
    assert sum("pytorch/kineto@be239c04 (BSD-3-Clause)" in line for line in listed) == 3
    assert sum(line.endswith("Tesla T4, constructed") for line in listed) == 2
    assert sum("CPU (AMD EPYC" in line for line in listed) == 4
    assert "The document is named: constructed, or card and date" in TEXT


def test_the_table_of_a_processors_trace_is_torchs_own(shown):
    lines = shown["demo_torchs_table"][1].splitlines()
    assert lines[0].startswith("Two steps · CPU (AMD EPYC, 2 threads), 2026-11-23")
    assert re.fullmatch(r"of \d\d names 0 differ in CPU time", lines[-1])
    rows = [re.findall(r"[\d,]+$|[\d,]+(?= )", line[34:]) for line in lines[2:-1]]
    assert all(total == torchs and own == its for total, torchs, own, its in rows)
    assert any(total != own for total, _, own, _ in rows)


def test_measurements_answer_the_predictions_but_for_the_labs(shown):
    """And the ring's, which is calculated."""
    answers = {
        "demo_idle": "time without a kernel: 34.37 % (",
        "demo_causes": "four workers: times as fast: 1.176 (",
        "demo_table": "convolutions' share of the card's time: 65.8 % (",
        "demo_memory": "left, of the peak: 61.79 % (",
        "demo_mfu": "MFU of the last run: 39.14 % (",
        "demo_communication": "hidden, of the all-reduces: 0 % (",
    }
    for name, answer in answers.items():
        assert answer in shown[name][1], name
    assert sum("the document assumes" in printed for _, printed in shown.values()) == 1


def test_the_opening_says_first_what_a_reader_without_a_card_gets(lesson):
    opening = next(cell.source for cell in lesson.named("text"))
    paragraphs = opening.split("\n\n")
    assert paragraphs[2].startswith("**You need no graphics card, and no torch.**")


def test_given_cells_import_no_torch_and_draw_nothing():
    code = """
import json, sys
sys.path.append('.')
notebook = json.load(open(sys.argv[1] + ".ipynb"))
for cell in notebook["cells"]:
    nbgrader, tags = cell["metadata"].get("nbgrader", {}), cell["metadata"].get("tags", [])
    if cell["cell_type"] == "code" and not nbgrader.get("grade") and "demo" not in tags:
        exec("".join(cell["source"]), globals())
assert record and callable(overlapped)
sys.exit(any(name in sys.modules for name in ("cupy", "torch", "pynvml", "matplotlib")))
"""
    place = ROOT / "source" / NAME
    assert subprocess.run([sys.executable, "-c", code, NAME], cwd=place).returncode == 0


def test_test_cells_name_no_record(lesson):
    """Grading must not depend on a document that a student measured."""
    for cell in lesson.named("test"):
        assert not re.search(r"\brecord\b|\.json|\btorch\b", cell.source), cell.name


# ── what the text says ───────────────────────────────────────────────────────────────────────


def test_what_quick_wins_promise_when_multiplied():
    assert "that is up to 5 times" in TEXT
    assert round(2 * 1.5 * 1.5 * 1.1) == 5


def test_a_part_of_the_flops(scope):
    assert "more than 99.9 % of the FLOPs of ResNet-50 are in convolutions" in TEXT
    with meta():
        resnet = models.resnet50()
    whole = scope["count_flops"](resnet, (1, 3, 224, 224))
    assert 2 * 2048 * 1000 / whole < 0.001  # the last layer, the only other product


def test_a_share_in_logarithms():
    assert "0.69 + 0.69 + 0.10 = 1.48, and each 2× gets 47 %" in TEXT
    way = math.log(2 * 2 * 1.1)
    assert round(way, 2) == 1.48 and round(100 * math.log(2) / way) == 47


def test_utilization_in_numbers():
    assert "2.73 / 26 = 10.5 %" in TEXT
    assert 0.4 * 65 == 26 and round(100 * 2.73 / 26, 1) == 10.5


def test_what_recomputing_the_blocks_alone_saves(scope):
    """Stem and head run once: of what the step computes, 1.7 %."""
    stem, head = 2 * 112 * 112 * 64 * 3 * 7 * 7, 2 * 512 * 1000
    with meta():
        resnet = models.resnet18()
    whole = sum(scope[name](resnet, (1, 3, 224, 224)) for name in ("training_flops", "count_flops"))
    assert round(100 * (stem + head) / whole, 1) == 1.7
    assert "recomputes blocks alone: its HFU is 1.7 % less" in TEXT


def test_amp_and_channels_last_are_two_parts_of_the_lab(shown):
    changes = re.findall(r"changes: (.*)", shown["demo_parts"][1])
    assert changes[1:3] == changes[7:9] == ["amp: True", "channels_last: True"]
    assert len(changes) == 2 * 6  # constructed for a card, and measured on a processor
    assert changes[4].startswith("compile: True, faults: ['item', 'transfer']")
    assert changes[5] == "fused_optimizer: True, no faults"


def test_a_printed_row_of_the_table_spends_most_of_its_time_in_ops_inside(shown):
    rows = re.findall(r"^(\S.*?) +([\d,]+) +([\d,]+) +[\d,]+ +\d+%$", shown["demo_table"][1], re.M)
    assert len(rows) == 9
    times = [[int(us.replace(",", "")) for us in row[1:]] for row in rows]
    assert any(own <= 0.5 * total for total, own in times)


def test_the_table_has_its_numbers_in_columns_however_long_a_name_is(shown):
    head, *rows = shown["demo_table"][1].splitlines()[1:11]
    assert {len(row) for row in rows} == {len(head) + len("   23%")}


def test_a_trace_without_a_kernel_says_so(lesson, scope):
    class OnProcessor:
        def rows(self, kind):
            return [{"name": "cpu", "trace": fake.trace(fake.op("relu", 1, 5))}]

    names = scope | {"record": OnProcessor(), "guesses": type("", (), {"compare": print})}
    printed: list[str] = []
    names["print"] = lambda *parts: printed.append(" ".join(map(str, parts)))
    code = next(cell.code for cell in lesson.cells if cell.name == "demo_idle")
    with pytest.raises(AttributeError, match="source"):
        exec(code, names)
    assert printed == ["cpu                   0.0 of   0.0 ms busy, no kernel in this trace"]


def test_lesson_05_has_these_busy_shares_of_a_card(scope):
    """Its runs.json says that they are by this lesson's gpu_busy."""
    runs = json.loads((ROOT / "modules" / "05_profiler" / "runs.json").read_text("utf-8"))
    noted = [(run["real_s"], run["gpu_busy"]) for run in runs["runs"].values() if run["gpu_busy"]]
    named = {
        row["name"]: row
        for file in MEASURED
        for row in FORM.load(FOLDER / file)["rows"].get("trace", ())
    }
    for (real_s, share), name in zip(noted, ("in buckets", "loader in the loop"), strict=True):
        found = scope["gpu_busy"](named[name]["trace"]["traceEvents"])
        whole = found["busy"] + found["idle"]
        assert (real_s, share) == pytest.approx((whole / 1e6, found["busy"] / whole), rel=1e-3)


def test_links(scope):
    rows = re.findall(r"\| ([\d.]+) \| ([\d.]+) ms \|", TEXT)
    assert len(rows) == 3
    for rate, ms in rows:
        exact = scope["allreduce_ms"](RESNET18, 8, 0, float(rate), "ring")
        assert float(ms) == pytest.approx(exact, rel=0.03)
    assert round(16 * 8 * 128 / 130 / 8, 2) == 15.75  # PCIe 3.0: lanes, GT/s, its code


def test_where_the_card_waits(shown):
    """The text's figures: 44 ms of loading cost 32, one copy 40, and step 9's launches."""
    printed = shown["demo_causes"][1]
    found = re.findall(r"^(.+?) +step (\d+), (\d+) ms +(.*)$", printed, re.M)
    steps = {
        (name, int(step)): (int(ms), {c: float(v) for c, v in re.findall(r"(\w+) ([\d.]+)", rest)})
        for name, step, ms, rest in found
    }
    for step in (17, 18):
        ms, causes = steps["loader in the loop", step]
        assert ms == 149 and round(causes["data"]) in (32, 33)
        assert max(causes, key=causes.get) == "data"
    slow = [step for (name, step), (ms, _) in steps.items() if name == "four workers" and ms > 150]
    assert slow == [5, 9]
    assert steps["four workers", 5][1]["copy"] == 40.0
    assert steps["four workers", 9][1]["launch"] > 2 * steps["four workers", 7][1]["launch"]
    assert "only 32 ms are lost" in TEXT and "Without them a step is 1.28 times as fast" in TEXT
    assert round(148.85 / (148.85 - 32.4), 2) == 1.28


def test_the_optimizer_is_what_the_text_says(scope):
    """SGD: 483 kernels for 161 tensors, on the host 16 times as long as on the card."""
    [row] = FORM.load(FOLDER / "v100_step.json")["rows"]["trace"]
    events = row["trace"]["traceEvents"]
    [step] = [e for e in events if e["name"].startswith("Optimizer.step")]
    calls = {
        e["args"]["correlation"]
        for e in events
        if e["cat"] == "cuda_runtime" and step["ts"] <= e["ts"] < step["ts"] + step["dur"]
    }
    ran = [e["dur"] for e in events if e["cat"] == "kernel" and e["args"]["correlation"] in calls]
    assert (len(ran), sum(ran), step["dur"]) == (483, 1_314, 21_446)
    assert "483 kernels, 3 a tensor: 1.3 ms on the card, 21 ms of the host" in TEXT


def test_winograds_convolutions_are_above_the_roof_and_no_others(scope):
    [row] = FORM.load(FOLDER / "v100_step.json")["rows"]["trace"]
    trace, layers = demos_of(NAME).by_shape(row["trace"])
    assert sum(layer["times"] for layer in layers.values()) == 53
    us = {op["name"]: op["self_gpu_us"] for op in scope["ops_table"](trace)}
    rates = {}
    for name, layer in layers.items():
        out, _, *size = layer["kernel"]
        flops = scope["conv2d_flops"](layer["images"], out, size, layer["stride"], layer["padding"])
        rates[name] = layer["times"] * flops / us[name] / 1e6
    above = {name for name, rate in rates.items() if rate > 15.7}
    assert above == {name for name, layer in layers.items() if layer["winograd"]}
    assert len(above) == 4 and max(rates.values()) < 2.25 * 15.7
    assert "Four are above the roof" in TEXT


def test_ddps_buckets_are_the_students(shown):
    yours, ddps = re.findall(r"\[(.*?)\]", shown["demo_overlap"][1])
    assert yours == ddps == "8196000, 31502336, 26255360, 26550272, 9724160"


def test_the_lab_ends_two_to_three_times_faster(shown):
    totals = re.findall(r"total ([\d.]+)", shown["demo_report"][1])
    assert 2 < float(totals[-1]) < 3
    assert "checkpointing" not in shown["demo_report"][1]
    slower = re.search(
        r"([\d.]+) times \([\d.]+ to ([\d.]+)\)", shown["demo_parts"][1].split("checkpointing")[1]
    )
    assert float(slower[2]) < 1


def test_a_checkpoint_raises_hfu_only(shown):
    found = re.findall(r"^(.+?) +MFU +([\d.]+)%, HFU +([\d.]+)%", shown["demo_mfu"][1], re.M)
    for name, mfu, hfu in found:
        assert (float(hfu) > float(mfu)) == (name == "checkpointing")


def test_there_is_a_best_bucket(shown):
    exposed = re.findall(r"([\d.]+) by Ethernet", shown["demo_overlap"][1])
    assert min(exposed, key=float) not in (exposed[0], exposed[-1])


def test_the_cost_model_says_what_two_real_processes_take(shown):
    printed = shown["demo_two_processes"][1]
    assert printed.startswith("nccl: 2.6 µs of latency a step, 17.83 GB/s\n")
    assert re.search(r"^(gloo|pipes): [\d.]+ µs of latency a step, [\d.]+ GB/s$", printed, re.M)
    model, measured, *here = map(float, re.findall(r"([\d.]+) ms", printed))
    assert abs(model / measured - 1) < 0.15
    assert min(here) > 0  # how near depends on how busy the machine is


# ── what it builds, and what a wrong solution is told ────────────────────────────────────────


def test_the_lessons_make_one_file():
    names: dict = {"__name__": "profiler"}
    lessons = [lesson for lesson in read_folder(ROOT / "modules", "11") if lesson.name <= NAME]
    own = [s for s in gather(lessons).statements if s.lesson == NAME]
    assert own and not any("record" in s.binds for s in own)  # what measures stays in the notebook
    exec(render(gather(lessons), "A profiler."), names)
    assert names["gpu_busy"]([fake.kernel("k", 1, 2)], (0, 4))["busy"] == 2
    assert names["overlapped"]([(1, 5)], 5, lambda size: size)["step_ms"] == 6


@pytest.mark.parametrize(
    "exercise, diagnosis",
    [
        ("gpu_busy", "the durations are summed"),
        ("step_report", "by the ms"),
        ("training_mfu", "one image"),
        ("training_mfu", "3 × forward"),
        ("ring_allreduce", "whole arrays are sent"),
        ("allreduce_ms", "whole arrays in each step, or bits for bytes"),
        ("allreduce_ms", "only half of the way"),
        ("overlapped", "all after the backward pass"),
        ("overlapped", "a bucket is never more than full"),
        ("interaction", "upside down"),
    ],
)
def test_a_wrong_solution_is_told_why(exercise, diagnosis):
    mutants = entries("lesson_11", "MUTANTS")[exercise]
    assert any(diagnosis in diagnoses("lesson_11", exercise, each) for each in mutants)
