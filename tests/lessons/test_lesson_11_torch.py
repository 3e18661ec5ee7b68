"""Lesson 11's training program as torch runs it, and its traces as the lesson reads them.

All of this needs torch, which `make test` does without: `make test-torch` runs it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from cohort.run import ROOT, solved
from lesson_demos import beside

from proflab.lesson.cuda import timeline

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


def test_the_sizes_of_the_fault_lie_around_the_usual_one(monkeypatch):
    pad, sides = torch.nn.functional.pad, []

    def noted(x, amounts):
        padded = pad(x, amounts)
        sides.append(padded.shape[-1])
        assert padded.shape[-2:] == (sides[-1], sides[-1])
        return padded

    monkeypatch.setattr(torch.nn.functional, "pad", noted)
    train.train(steps=11, batch=2, device="cpu", faults=["shape"])
    assert sides == list(range(22, 43, 2))


def test_a_new_shape_is_compiled_anew():
    same = train.train(**SMALL, compile="eager")
    other = train.train(**SMALL, compile="eager", faults=["shape"])
    assert same["graphs"] == 1 and other["graphs"] == 5
    assert train.train(**SMALL)["graphs"] == 0


@pytest.mark.parametrize("dynamic, graphs", [(None, 2), (True, 1), (False, 8)])
def test_by_default_the_second_of_eleven_shapes_is_compiled_for_all(dynamic, graphs):
    sizes = {"steps": 11, "batch": 2, "device": "cpu", "faults": ["shape"]}
    found = train.train(**sizes, compile="eager", dynamic=dynamic)
    assert found["graphs"] == graphs


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
    for name, row in own.items():
        mine = [found[n] for n in steps] if name == "ProfilerStep*" else [found[name]]
        got = sum(r["self_cpu_us"] for r in mine)
        assert got == pytest.approx(row.self_cpu_time_total, abs=0.05), name
        total = sum(r["cpu_us"] for r in mine)
        assert total == pytest.approx(row.cpu_time_total, abs=0.05), name
    assert all(row["self_gpu_us"] == 0 for row in found.values())


def test_an_op_that_calls_itself_is_in_the_trace_and_counts_once(recorded):
    profile, trace = recorded
    times = Counter(event["name"] for event in trace["traceEvents"] if "dur" in event)
    inside = [row for row in profile.key_averages() if row.count < times.get(row.key, 0)]
    assert inside, "no op calls itself: the totals show nothing"


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
