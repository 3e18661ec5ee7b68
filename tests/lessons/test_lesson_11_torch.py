"""Lesson 11's training program as torch runs it, and its traces as the lesson reads them.

All of this needs torch, which `make test` does without: `make test-torch` runs it.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter

import nbformat
import numpy as np
import pytest
from cohort.run import ROOT, solved
from lesson_demos import beside
from nbclient import NotebookClient

from proflab.lesson.cuda import timeline, train_document

torch = pytest.importorskip("torch", reason="torch is not installed: run `make test-torch`")

pytestmark = pytest.mark.torch
LESSON = "11_gpu_training"
train = beside(LESSON, "train")
SMALL = {"steps": 5, "batch": 8, "device": "cpu"}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Let sums be added in one order, whatever else the machine does."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def as_written():
    return train.train(**SMALL)["losses"]


def profiled(schedule=None, **switches):
    """Return torch's profile of a small run on the processor."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, schedule=schedule) as profile:
        train.train(**SMALL, **switches, on_step=profile.step)
    return profile


def calls(profile) -> dict[str, int]:
    """Return how often each op was called."""
    return {row.key: row.count for row in profile.key_averages()}


# ── the network and the images ───────────────────────────────────────────────────────────────


def test_on_a_card_the_network_is_resnet18():
    with torch.device("meta"):
        network = train.model("cuda")
        out = network(torch.empty(2, 3, 224, 224))
    assert sum(p.numel() for p in network.parameters()) == 11_689_512  # as published
    assert len(list(network.parameters())) == 62 and out.shape == (2, 1000)


def test_its_layers_have_the_names_of_the_courses_resnet18():
    from proflab import meta, models

    with torch.device("meta"), meta():
        ours = {n: tuple(p.shape) for n, p in models.resnet18().named_parameters()}
        theirs = {n: tuple(p.shape) for n, p in train.model("cuda").named_parameters()}
    assert ours == theirs


def test_an_image_is_the_same_in_every_run_and_no_two_are():
    images = train.Images(4, 32, 10)
    first, label = images[3]
    assert first.shape == (3, 32, 32) and first.dtype == np.float32 and label == 3
    assert np.array_equal(first, train.Images(4, 32, 10)[3][0])
    assert not np.array_equal(first, images[2][0])


# ── switches ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "switch",
    [
        {"workers": 2},
        {"pin": True},
        {"channels_last": True},
        {"checkpoint": True},
        {"fused_optimizer": True},
        {"compile": "eager"},
    ],
    ids=lambda switch: next(iter(switch)),
)
def test_a_switch_changes_no_loss(switch, as_written):
    assert set(switch) < set(train.SWITCHES)
    found = train.train(**SMALL, **switch)
    assert found["losses"] == pytest.approx(as_written, rel=1e-3)
    assert found["images"] == 40 and found["device"] == "cpu"
    assert len(found["step_ms"]) == 4 and min(found["step_ms"]) > 0


def test_mixed_precision_changes_the_loss_in_its_last_digits(as_written):
    losses = train.train(**SMALL, amp=True)["losses"]
    assert losses != as_written and losses == pytest.approx(as_written, rel=0.03)


def test_it_learns():
    losses = train.train(steps=60, batch=16, device="cpu", size=16)["losses"]
    assert np.mean(losses[-10:]) < np.mean(losses[:10]) - 0.2


def test_each_switch_is_seen_in_the_profile():
    plain = calls(profiled())
    blocks = sum("conv1" in name for name, _ in train.model("cpu").named_modules()) - 1
    convolutions = "aten::convolution"
    assert plain[convolutions] == 5 * sum(
        isinstance(m, torch.nn.Conv2d) for m in train.model("cpu").modules()
    )
    again = calls(profiled(checkpoint=True))
    assert again[convolutions] > plain[convolutions] and blocks == 2
    fused = calls(profiled(fused_optimizer=True))
    assert fused["aten::_fused_sgd_"] == 5 and "aten::_fused_sgd_" not in plain
    half = calls(profiled(amp=True))
    assert half["aten::to"] > plain["aten::to"]
    assert any("MultiProcessing" in name for name in calls(profiled(workers=1)))
    assert any("SingleProcess" in name for name in plain)


def test_channels_last_is_the_layout_that_the_convolutions_see(monkeypatch):
    forward, seen = torch.nn.Conv2d.forward, []

    def noted(layer, x):
        seen.append(x.is_contiguous(memory_format=torch.channels_last))
        return forward(layer, x)

    monkeypatch.setattr(torch.nn.Conv2d, "forward", noted)
    train.train(**SMALL, channels_last=True)
    assert seen and all(seen)
    seen.clear()
    train.train(**SMALL)
    assert seen and not any(seen)


# ── faults ───────────────────────────────────────────────────────────────────────────────────


def test_a_fault_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"the faults are item, transfer, shape, not \['print'\]"):
        train.train(**SMALL, faults=["print"])


def test_the_faults_are_in_every_step_and_without_them_in_none(as_written):
    plain, transfer = calls(profiled()), calls(profiled(faults=["transfer"]))
    assert transfer["aten::ones"] - plain["aten::ones"] == 4  # five of a step's, one of the run's
    for faults in (["item"], ["transfer"]):
        assert train.train(**SMALL, faults=faults)["losses"] == as_written


@pytest.mark.parametrize("faults, reads", [(["item"], [1] * 4), ([], [0] * 4)])
def test_within_the_steps_only_the_fault_reads_the_loss(faults, reads, monkeypatch):
    read, after = [], []
    item = torch.Tensor.item
    monkeypatch.setattr(torch.Tensor, "item", lambda tensor: read.append(1) or item(tensor))
    train.train(**SMALL, faults=faults, on_step=lambda: after.append(len(read)))
    assert np.diff(after).tolist() == reads  # the loader draws its seed by one too, before


def test_a_new_shape_is_compiled_anew():
    same = train.train(**SMALL, compile="eager")
    other = train.train(**SMALL, compile="eager", faults=["shape"])
    assert same["graphs"] == 1 and other["graphs"] == 5
    assert train.train(**SMALL)["graphs"] == 0


def test_the_command_line_trains():
    path = ROOT / "modules" / LESSON / "train.py"
    command = [sys.executable, str(path), "--steps", "3", "--batch", "4", "--amp", "--faults"]
    out = subprocess.run([*command, "item"], check=True, capture_output=True, text=True).stdout
    assert out.startswith(("cpu: ", "cuda: ")) and "ms a step, loss" in out


# ── the lesson's functions on a trace that torch wrote ───────────────────────────────────────


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return torch's profile of a run with a data loader's process, and the trace that it wrote."""
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=3)
    profile = profiled(schedule, workers=1, faults=["item", "transfer"])
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    profile.export_chrome_trace(str(path))
    return profile, json.loads(path.read_text())


def test_the_totals_of_ops_table_are_torchs_own(recorded):
    profile, trace = recorded
    found = {row["name"]: row for row in solved("lesson_11").scope["ops_table"](trace)}
    own = {row.key: row for row in profile.key_averages()}
    steps = [name for name in found if name.startswith("ProfilerStep#")]
    assert len(steps) == 3 and len(own) > 60
    assert set(found) - set(steps) == set(own) - {"ProfilerStep*"}
    times = Counter(event["name"] for event in trace["traceEvents"] if "dur" in event)
    compared = 0
    for name, row in own.items():
        mine = [found[n] for n in steps] if name == "ProfilerStep*" else [found[name]]
        got = sum(r["self_cpu_us"] for r in mine)
        assert got == pytest.approx(row.self_cpu_time_total, abs=0.05), name
        if row.count == times[name]:  # torch counts an op in an op of its own name as one
            total = sum(r["cpu_us"] for r in mine)
            assert total == pytest.approx(row.cpu_time_total, abs=0.05), name
            compared += 1
    assert compared > 0.9 * len(own)
    assert all(row["self_gpu_us"] == 0 for row in found.values())


def test_a_trace_of_a_processor_has_one_gap(recorded):
    _, trace = recorded
    found = solved("lesson_11").scope["gpu_busy"](trace["traceEvents"])
    assert found["busy"] == 0 and len(found["gaps"]) == 1
    assert found["idle"] == pytest.approx(found["gaps"][0][1] - found["gaps"][0][0])


def test_the_causes_of_that_gap_add_up(recorded):
    _, trace = recorded
    scope = solved("lesson_11").scope
    [gap] = scope["gpu_busy"](trace["traceEvents"])["gaps"]
    causes = scope["gap_causes"](gap, timeline.host_spans(trace))
    assert sum(causes.values()) == pytest.approx(gap[1] - gap[0])
    assert causes["data"] > 0 and causes["launch"] > 0 and causes["sync"] == causes["copy"] == 0


# ── what the device cells measure, on a processor ────────────────────────────────────────────


@pytest.fixture
def measures(monkeypatch):
    """Return the lesson's measures.py in small sizes, with a compiler that only looks."""
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    monkeypatch.syspath_prepend(str(ROOT / "modules" / LESSON))
    module = importlib.import_module("measures")
    monkeypatch.setattr(module, "MODES", ("eager",))
    monkeypatch.setattr(module.train, "_compiled", lambda network, how: network)
    yield module
    for name in ("measures", "train", "two_processes"):
        sys.modules.pop(name, None)


class Processor:
    """A `Gpu` that is none: torch on the processor, and power that nobody measured."""

    device, torch, card = "cpu", torch, {}

    def wait(self):
        pass

    def conditions(self):
        return {"sm_mhz": None, "watts": 50.0, "celsius": None}

    def row(self, what, launch, repeats, flush):
        launch(0)
        return {**what, "events": [[0.0, 1.0], [2.0, 3.0]], **self.conditions()}


KINDS = ("step", "pairwise", "trace", "loss", "compile", "loader", "power")


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_device_cell_measures_is_a_row_of_the_document(kind, measures):
    rows = list(measures.MEASURES[kind](Processor()))
    for number, row in enumerate(rows):
        train_document.KINDS[kind](row, f"{kind}[{number}]")
    document = train_document.load(ROOT / "modules" / LESSON / "constructed_train.json")
    if kind not in ("loader", "compile"):
        names = [row["name"] for row in document["rows"][kind]]
        assert [row["name"] for row in rows] == names
    json.dumps(rows)
    assert rows


def test_what_is_kept_of_a_trace_is_what_the_lesson_reads(measures):
    [row] = [r for r in measures.MEASURES["trace"](Processor()) if r["name"] == "starved"]
    events = row["trace"]["traceEvents"]
    assert min(event["ts"] for event in events) == 0 and len(events) > 300
    table = solved("lesson_11").scope["ops_table"](row["trace"])
    names = {each["name"] for each in table}
    assert {"aten::convolution", "ProfilerStep#4", "ProfilerStep#6"} <= names
    spans = timeline.host_spans(row["trace"])
    assert sum(kind == "data" for kind, *_ in spans) >= 3


def test_all_kinds_but_memory_are_measured_here(measures):
    assert set(measures.MEASURES) == set(train_document.KINDS)
    assert set(measures.MEASURES) - set(KINDS) == {"memory", "allreduce"}


def test_a_snapshot_is_reduced_to_allocations_frees_and_segments(measures):
    own = {"filename": "/x/train.py", "name": "forward", "line": 9}
    inner = {"filename": "/site/torch/conv.py", "name": "_conv", "line": 1}
    entries = [
        {"action": "free_completed", "addr": 7, "size": 9, "frames": []},
        {"action": "alloc", "addr": 1, "size": 100, "frames": [inner, own]},
        {"action": "free_requested", "addr": 1, "size": 100, "frames": []},
        {"action": "free_completed", "addr": 1, "size": 100, "frames": []},
        {"action": "alloc", "addr": 1, "size": 5, "frames": [inner]},
        {"action": "segment_alloc", "addr": 0, "size": 2**20, "frames": []},
    ]
    history = measures._history(entries)
    assert [(e["action"], e["addr"], e["size"]) for e in history] == [
        ("alloc", 1, 100),
        ("free", 1, 100),
        ("alloc", 1, 5),
    ]
    assert [e["frame"] for e in history if "frame" in e] == ["forward, line 9", "_conv"]
    blocks = [{"size": 5, "state": "inactive", "x": 1}, {"size": 3, "state": "active_allocated"}]
    segment = measures._segment({"total_size": 8, "blocks": blocks, "address": 0})
    row = {"name": "a", "batch": 1, "history": history, "segments": [segment]}
    train_document.KINDS["memory"](row, "row")


def test_the_notebook_runs_from_top_to_bottom_where_torch_is_installed(tmp_path):
    place = shutil.copytree(ROOT / "source" / LESSON, tmp_path / LESSON)
    notebook = nbformat.read(place / f"{LESSON}.ipynb", as_version=4)
    kernel = {"resources": {"metadata": {"path": str(place)}}, "timeout": 600}
    NotebookClient(notebook, kernel_name="python3", **kernel).execute()
    said = json.dumps([cell.get("outputs", []) for cell in notebook.cells])
    assert "gloo: " in said  # the two processes are torch's


# ── the ring against torch.distributed ───────────────────────────────────────────────────────

RANK = """
import sys

import numpy as np
import torch
import torch.distributed as group

folder, rank, ranks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
group.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=ranks)
array = torch.from_numpy(np.load(f"{folder}/{rank}.npy"))
group.all_reduce(array)
np.save(f"{folder}/sum{rank}.npy", array.numpy())
group.barrier()
group.destroy_process_group()
"""


def all_reduced(folder, arrays):
    """Return what torch's gloo leaves on each rank, each rank a process of its own."""
    for rank, array in enumerate(arrays):
        np.save(folder / f"{rank}.npy", array)
    command = [sys.executable, "-c", RANK, str(folder)]
    local = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    ranks = range(len(arrays))
    started = [subprocess.Popen([*command, str(r), str(len(arrays))], env=local) for r in ranks]
    assert [process.wait(timeout=120) for process in started] == [0] * len(arrays)
    return [np.load(folder / f"sum{rank}.npy") for rank in ranks]


@pytest.mark.parametrize("ranks, length", [(2, 1001), (3, 10)])
def test_the_ring_leaves_what_torchs_all_reduce_leaves(ranks, length, tmp_path):
    random = np.random.default_rng(11)
    arrays = [random.normal(size=length).astype(np.float32) for _ in range(ranks)]
    ring = solved("lesson_11").scope["ring_allreduce"](arrays)["results"]
    for mine, theirs in zip(ring, all_reduced(tmp_path, arrays), strict=True):
        assert mine.dtype == theirs.dtype == np.float32
        if ranks == 2:
            assert np.array_equal(mine, theirs)  # a sum of two has one order
        assert np.allclose(mine, theirs, rtol=1e-6)


def test_the_cost_model_is_fitted_to_two_real_processes(capsys):
    """Nothing is asserted of the times themselves: the machine may be busy."""
    scope = solved("lesson_11").scope
    rows = beside(LESSON, "two_processes").measure([2**n for n in range(10, 23, 3)])
    assert {row["backend"] for row in rows} == {"gloo"}
    best = [min(row["ms"]) for row in rows]
    fixed, each = scope["fit_cost"]([row["bytes"] for row in rows], best, (0, 1))
    latency, rate = max(fixed, 0.0) / 2 * 1e3, 1e-6 / each if each > 0 else 1.0  # ms = 2α + G/β
    predicted = [scope["allreduce_ms"](row["bytes"], 2, latency, rate, "ring") for row in rows]
    with capsys.disabled():
        print(f"\ngloo, two processes: {latency:.0f} µs a step and {rate:.2f} GB/s")
        for row, ms, model in zip(rows, best, predicted, strict=True):
            print(f"{row['bytes']:>9} bytes: {ms:8.3f} ms, model {model:8.3f} ms")
    assert min(best) > 0 and predicted == sorted(predicted)
