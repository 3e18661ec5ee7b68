"""What only lesson 11 draws, and its two processes."""

from __future__ import annotations

import runpy
import subprocess
import sys

import pytest
from cohort.run import ROOT, solved
from lesson_demos import beside, demos_of

fake = beside("11_gpu_training", "trace_doubles")
train_document = beside("11_gpu_training", "train_document")


LESSON = "11_gpu_training"
demos = demos_of(LESSON)
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
two_processes = beside(LESSON, "two_processes")


@pytest.fixture(scope="module")
def rows():
    """Return the rows of the constructed document, and two of the measured ones' traces."""
    names = ("constructed_train", "cpu_train", "v100_loader", "v100_workers")
    found = [train_document.load(ROOT / "modules" / LESSON / f"{n}.json")["rows"] for n in names]
    return found[0] | found[1] | {"trace": [row for each in found[2:] for row in each["trace"]]}


def axes(picture):
    return picture.figure.axes[0]


@pytest.mark.whole
def test_timelines_have_three_lanes_a_trace_and_say_how_long_it_took(rows):
    drawn = demos.streams(rows["trace"], title="Two")
    lanes = [label.get_text() for label in axes(drawn).get_yticklabels()]
    assert lanes[::3] == ["loader in the loop · host", "four workers · host"]
    assert lanes[1:3] == ["kernels", "copies"]
    assert "loader in the loop: 2 steps and 2914 kernels in 298.3 ms" in drawn.alt
    assert len(axes(drawn).lines) == 2 + 6  # where steps begin
    legend = [text.get_text() for text in axes(drawn).get_legend().get_texts()]
    assert legend == ["launch", "sync", "copy", "data", "kernel"]
    assert drawn.png(dpi=50).startswith(b"\x89PNG")


def test_a_timeline_begins_at_its_first_event_and_draws_what_lies_in_it():
    host = [fake.op("relu", 5_000_000, 2000), fake.launch(5_001_000, 500, 1)]
    trace = fake.trace(*host, fake.kernel("k", 5_003_000, 4000, 1))
    drawn = demos.streams([{"name": "x", "trace": trace}])
    boxes = [path.vertices[:, 0] for c in axes(drawn).collections for path in c.get_paths()]
    assert [(min(x), max(x)) for x in boxes] == [(0, 2), (1, 1.5), (3, 7)]


def test_a_lane_says_what_an_idle_card_waited_for():
    step = fake.op("ProfilerStep#1", 0, 10_000, cat="user_annotation")
    load = fake.op("enumerate(DataLoader)#__next__", 0, 6000)
    trace = fake.trace(step, load, fake.launch(6000, 1000, 1), fake.kernel("k", 7000, 3000, 1))
    tools = (solved("lesson_11").scope[name] for name in ("gpu_busy", "gap_causes"))
    waits = demos.waits(trace, *tools)
    assert waits == [("data", 0, 6000), ("launch", 6000, 7000)]
    drawn = demos.streams([{"name": "x", "trace": trace}], [waits])
    assert axes(drawn).get_yticklabels()[3].get_text() == "idle, why"
    assert drawn.alt.endswith(" ms, idle for data 6.0, launch 1.0 ms")


def test_a_history_is_drawn_as_what_is_held_after_each_event():
    history = [
        fake.alloc(0, 100, "before the step"),
        fake.alloc(512, 50, "aten::mm"),
        fake.free(0, 100),
        fake.alloc(0, 30, "forward, line 9"),
        fake.free(9),
    ]
    count, layers = demos._stacked(history)
    assert count == 5 and list(layers["before the step"]) == [100, 100, 0, 0, 0]
    assert list(layers["mm"]) == [0, 50, 50, 50, 50]
    assert list(layers["forward, line 9"]) == [0, 0, 0, 30, 30]
    drawn = demos.allocations([{"name": "a", "history": history}], title="Mine")
    assert drawn.alt == "Mine by event. a at most 0 MB"


def test_the_smallest_groups_of_a_history_become_one():
    history = [fake.alloc(512 * n, 512 * (n + 1), f"part{n}") for n in range(12)]
    _, layers = demos._stacked(history)
    assert len(layers) == 8 and layers["others"][-1] == 512 * sum(range(1, 6))
    drawn = demos.allocations([{"name": "one", "history": history}])
    assert "one at most 0 MB" in drawn.alt


def test_what_was_kept_leads_from_the_first_row_to_the_last(rows):
    names = [row["name"] for row in demos.kept(rows["step"])]
    assert names[0] == "as written" and names[-1] == "all that helped"
    assert "checkpointing" not in names and len(names) == 6


def test_a_waterfall_shows_gains_and_losses():
    report = [
        {"name": "a", "images_per_s": 100.0, "step": 1.0},
        {"name": "b", "images_per_s": 200.0, "step": 2.0},
        {"name": "c", "images_per_s": 150.0, "step": 0.75},
    ]
    drawn = demos.waterfall(report, title="Lab")
    bars = [(bar.get_x(), bar.get_width()) for bar in axes(drawn).patches]
    assert bars == [(100, 0), (100, 100), (150, 50)]
    colours = [bar.get_facecolor() for bar in axes(drawn).patches]
    assert colours[1] != colours[2]
    labels = [text.get_text() for text in axes(drawn).texts]
    assert labels == ["100 images/s", "200 images/s · ×2", "150 images/s · ×0.75"]
    assert (
        drawn.alt == "Lab (images a second, and times the row before): a 100, ×1; b 200, ×2; "
        "c 150, ×0.75"
    )


def test_a_loss_that_is_no_number_is_a_break(rows):
    drawn = demos.losses([{"name": "a", "losses": [2.0, None, 1.0]}])
    values = axes(drawn).lines[0].get_ydata()
    assert values[0] == 2 and values[1] != values[1] and values[2] == 1
    assert len(axes(demos.losses(rows["loss"])).lines) == 2


def test_a_line_crosses_zero_where_its_compilation_is_paid():
    rows = [
        {"name": "eager", "compile_s": 0.0, "ms": 200.0},
        {"name": "compiled", "compile_s": 40.0, "ms": 180.0},
        {"name": "lost", "compile_s": 60.0, "ms": 200.0},
    ]
    compiled, lost = axes(demos.break_even(rows)).lines[:2]
    x, y = compiled.get_data()
    assert list(x) == [0, 3000] and list(y) == pytest.approx([-40 / 60, 20 / 60])
    assert list(lost.get_ydata()) == [-1, -1]
    assert demos.break_even(rows[:1] + rows[2:]).png(dpi=50)  # nothing is ever paid


def test_a_loader_is_drawn_by_workers(rows):
    [pageable] = axes(demos.loader(rows["loader"])).lines
    assert list(pageable.get_xdata()) == [0, 1, 2, 4]
    pinned = [{"workers": n, "pin": True, "images_s": 900.0} for n in (0, 1)]
    assert len(axes(demos.loader(rows["loader"] + pinned)).lines) == 2


def test_overlap_draws_backward_from_the_last_layer_and_buckets_below():
    buckets = [{"bytes": 5e6, "start_ms": 3.0, "end_ms": 6.0}]
    found = {"step_ms": 6.0, "exposed_ms": 2.0, "buckets": buckets}
    drawn = demos.overlap(found, [(1.0, 2e6), (3.0, 5e6)], title="Two")
    boxes = [(bar.get_x(), bar.get_width()) for bar in axes(drawn).patches]
    assert boxes == [(0, 3), (3, 1), (3, 3)]
    assert [text.get_text() for text in axes(drawn).texts] == ["5 MB", "2 ms exposed"]
    assert drawn.alt == (
        "Two: backward takes 4 ms, 1 all-reduces end after 6 ms, 2 ms of it exposed"
    )


def test_bandwidth_is_that_of_the_fastest_time():
    rows = [{"backend": "pipes", "bytes": 10**6, "ms": [4.0, 2.0]}]
    drawn = demos.bus_bandwidth(rows)
    assert list(axes(drawn).lines[0].get_ydata()) == [0.5]
    bytes_of = axes(drawn).xaxis.get_major_formatter()
    assert [bytes_of(number) for number in (32, 1e3, 1e8)] == ["32 B", "1 kB", "100 MB"]


def test_two_processes_add_their_arrays_by_pipes(monkeypatch):
    monkeypatch.setattr(two_processes.importlib.util, "find_spec", lambda name: None)
    rows = two_processes.measure([64, 2**20], repeats=3)
    assert [(row["backend"], row["ranks"], row["bytes"]) for row in rows] == [
        ("pipes", 2, 64),
        ("pipes", 2, 2**20),
    ]
    assert all(len(row["ms"]) == 3 and min(row["ms"]) > 0 for row in rows)
    for number, row in enumerate(rows):
        train_document.KINDS["allreduce"](row, f"rows[{number}]")


def test_where_torchs_processes_do_not_meet_pipes_do_it(monkeypatch):
    monkeypatch.setattr(two_processes.importlib.util, "find_spec", lambda name: "torch is here")
    started = []

    def start(backend, rank, *others):
        started.append((backend, rank))
        if backend == "gloo":
            return subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"], **PIPES)
        return original(backend, rank, *others)

    original = two_processes._start
    monkeypatch.setattr(two_processes, "_start", start)
    [row] = two_processes.measure([64], repeats=1)
    assert row["backend"] == "pipes" and started == [("gloo", 0), ("gloo", 1), ("pipes", 1)]


def test_processes_that_wait_for_each_other_in_vain_are_ended(monkeypatch):
    sleeping = []

    def start(*others):
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        sleeping.append(subprocess.Popen(command, **PIPES))
        return sleeping[-1]

    monkeypatch.setattr(two_processes, "_start", start)
    assert two_processes._by_gloo([64], 1, limit=0.1) is None
    assert [process.returncode for process in sleeping] == [-9, -9]


def test_a_process_that_adds_wrongly_is_told(monkeypatch):
    """The other end answers with what it was sent: the sum is not that of both."""
    import io

    class Echo(io.BytesIO):
        def read(self, count=-1):
            return bytes(count)

    with pytest.raises(RuntimeError, match="did not add"):
        two_processes._ring_of_two(0, Echo(), io.BytesIO(), [64], 1)


def test_drawing_needs_no_torch(rows):
    before = "torch" in sys.modules
    demos.streams(rows["trace"][:1])
    assert ("torch" in sys.modules) == before


def test_the_picture_of_timelines_names_its_sources():
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "lesson_11.py"))
    picture = script["timelines"]()
    drawn, whose = axes(picture), "pytorch/kineto@be239c04 (BSD-3-Clause)"
    below = picture.figure.get_supxlabel()
    assert below.startswith(f"Measured by others · Tesla V100-DGXS-32GB, 2021-06-08, {whose}; ")
    assert below.endswith(f"; Tesla V100-DGXS-32GB, 2021-06-09, {whose}")
    lanes = [label.get_text() for label in drawn.get_yticklabels()][::4]
    assert [lane.split(", ")[1] for lane in lanes] == [
        "step 18 · host",
        "step 7 · host",
        "step 9 · host",
    ]


def test_a_step_of_a_trace_has_what_begins_in_it():
    step = {"cat": "user_annotation"}
    ops = [fake.op(f"ProfilerStep#{n}", 10 * n, 10, **step) for n in (3, 10)]
    inside = [fake.op("mm", 35, 9), fake.op("relu", 104, 2), fake.kernel("k", 42, 7)]
    row = {"name": "run", "trace": fake.trace(*ops, *inside)}
    assert demos.median_step(row) == 0.01
    cut = demos.one_step(row, 1)
    assert cut["name"] == "run, step 10"
    assert [e["name"] for e in cut["trace"]["traceEvents"]] == ["ProfilerStep#10", "relu"]


def test_causes_of_many_gaps_are_summed_and_those_without_time_left_out():
    causes = [{"data": 1500, "copy": 0.0}, {"data": 700, "copy": 20}]
    assert demos.summed(causes) == "data 2.2"
    assert demos.summed([]) == ""


def test_a_convolution_bears_its_shapes_and_gets_its_stride_from_the_backward_pass():
    shapes = [[8, 3, 32, 32], [16, 3, 5, 5]]
    forward = fake.op("aten::cudnn_convolution", 10, 30)
    forward["args"] = {"Input Dims": shapes}
    backward = fake.op("aten::cudnn_convolution_backward", 60, 20, tid=2)
    backward["args"] = {"Input Dims": [shapes[0], [8, 16, 16, 16], shapes[1]]}
    other = fake.op("aten::cudnn_convolution", 90, 5)  # a trace without shapes
    launched = [fake.launch(12, 3, 1), fake.kernel("volta_winograd_x", 50, 9, 1)]
    trace, layers = demos.by_shape(fake.trace(forward, backward, other, *launched))
    today = backward | {"name": "aten::convolution_backward"}
    today["args"] = {"Input Dims": [[8, 16, 16, 16], *shapes, [], []]}
    assert demos.by_shape(fake.trace(forward, today, *launched))[1] == layers
    [(name, layer)] = layers.items()
    assert name == "5×5, 3 → 16 on 32×32"
    assert (layer["stride"], layer["padding"], layer["times"]) == (2, 2, 1)
    assert layer["winograd"]
    ops = [e["name"] for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    assert ops == [name, "aten::cudnn_convolution_backward", "aten::cudnn_convolution"]
    layers[name] |= {"flops": 9e9, "us": 500}
    drawn = demos.convolutions(layers, {"float32": 15e12, "dram": 900e9}, "float32", title="One")
    assert drawn.alt == (
        "One: TFLOP/s over FLOPs a byte, roof 15.0. Winograd's: 5×5, 3 → 16 on 32×32 18.0"
    )
    [point] = [line for line in axes(drawn).lines if line.get_marker() == "o"]
    bytes_moved = 4 * (8 * 3 * 32 * 32 + 16 * 3 * 5 * 5 + 8 * 16 * 16 * 16)
    assert point.get_xdata()[0] == pytest.approx(9e9 / bytes_moved)
    assert point.get_ydata()[0] == pytest.approx(18)
