"""Lesson 11's measurements on a processor, and its ring beside torch's: `make test-torch`."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys

import nbformat
import numpy as np
import pytest
from cohort.run import ROOT, solved
from lesson_demos import beside
from nbclient import NotebookClient

from proflab.lesson.cuda import timeline

train_document = beside("11_gpu_training", "train_document")

torch = pytest.importorskip("torch", reason="torch is not installed: run `make test-torch`")

pytestmark = pytest.mark.torch
LESSON = "11_gpu_training"


# ── what the device cells measure, on a processor ────────────────────────────────────────────


@pytest.fixture
def measures(monkeypatch):
    """Return the lesson's measures.py in small sizes, with a compiler that only looks."""
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    monkeypatch.syspath_prepend(str(ROOT / "modules" / LESSON))
    module = importlib.import_module("measures")
    monkeypatch.setattr(module, "MODES", ("eager",))
    monkeypatch.setattr(module.train, "_compiled", lambda network, how, dynamic: network)
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


KINDS = ("step", "pairwise", "trace", "profile", "loss", "compile", "loader")


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_device_cell_measures_is_a_row_of_the_document(kind, measures):
    rows = list(measures.MEASURES[kind](Processor()))
    for number, row in enumerate(rows):
        train_document.KINDS[kind](row, f"{kind}[{number}]")
    documents = ("constructed_train", "cpu_train")
    known = [train_document.load(ROOT / "modules" / LESSON / f"{n}.json") for n in documents]
    if kind not in ("loader", "compile", "trace"):
        names = [row["name"] for each in known for row in each["rows"].get(kind, [])]
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
