"""Lesson 05's recorder and Profiler on whole models: every op, every FLOP, and what the old tests
of the subject ask for."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
import types

import numpy as np
import pytest
from cohort.run import ROOT, solved
from lesson_demos import demos_of

import proflab
from proflab import Tensor, dispatch, models, nn
from proflab.lesson.hardware import Hardware

demos = demos_of("05_profiler")
KEYS = {
    "op", "module", "phase", "start_ms", "ms", "self_ms", "depth", "input_shapes", "output_shape",
    "dtype", "matmul_flops", "elementwise_flops", "bytes_read", "bytes_written",
}  # fmt: skip
ZOO = {
    "LeNet-5": (models.LeNet5, (2, 1, 32, 32)),
    "ResNet-18": (models.resnet18, (2, 3, 64, 64)),
    "MobileNetV2": (models.mobilenet_v2, (2, 3, 64, 64)),
    "ViT-Ti": (lambda: models.VisionTransformer(32, 8, 48, 2, 3), (2, 3, 32, 32)),
    "BERT layer": (lambda: models.BertLayer(48, 4, 96), (2, 7, 48)),
    "GPT-2": (lambda: models.GPT2(97, 16, 48, 3, 4), (2, 11)),
    "attention, fused": (lambda: Fused(), (2, 5, 16)),
}


class Fused(nn.Module):
    def __init__(self):
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x):
        return self.attention(x, need_weights=False)[0]


@pytest.fixture(scope="module")
def names():
    return types.SimpleNamespace(**solved("lesson_05").scope)


def seen(function):
    """The ops that a plain hook sees."""
    ops = []

    def hook(call):
        ops.append((call.op, call.phase, call.module_path))
        return call()

    with dispatch.hook(hook):
        function()
    return ops


@pytest.mark.parametrize("name", ZOO)
def test_every_op_is_recorded_and_every_flop_counted(names, name):
    make, shape = ZOO[name]
    model = make()
    x = proflab.example_input(model, shape)

    def step():
        model(x).sum().backward()

    rows = names.rows_of(step)
    assert [(row["op"], row["phase"], row["module"]) for row in rows] == seen(step)
    assert all(row.keys() == KEYS for row in rows)
    forward = sum(row["matmul_flops"] for row in rows if row["phase"] == "forward")
    both = sum(row["matmul_flops"] for row in rows)
    assert forward == names.count_flops(model, shape, per_sample=False)
    assert both == training_flops(model, shape)
    for row in rows:
        assert row["self_ms"] == row["ms"] > 0 and row["depth"] == 0
        assert row["bytes_read"] >= 0 and (row["bytes_written"] > 0) == (row["bytes_read"] > 0)
    json.dumps(rows)


def training_flops(model, shape):
    scope = solved("lesson_02").scope
    return scope["training_flops"](model, shape, per_sample=False)


def test_bytes_on_data_are_those_on_meta_in_the_forward_pass(names):
    for make, shape in ZOO.values():
        real = make()
        with proflab.meta():
            meta = make()
        counts = []
        for model, on_meta in ((real.eval(), False), (meta.eval(), True)):
            x = proflab.example_input(model, shape, meta=on_meta)
            rows = names.rows_of(lambda model=model, x=x: model(x))
            counts.append([(r["op"], r["bytes_read"], r["bytes_written"]) for r in rows])
        assert counts[0] == counts[1]


def test_a_regions_times_and_rows_after_an_error(names):
    x = Tensor(np.ones((64, 64)))
    recorder = names.OpRecorder()
    with pytest.raises(ValueError, match="inner sizes"), recorder:
        with names.region("outer"), names.region("inner"):
            x @ x
            x @ Tensor(np.ones(3))
    assert [(row["op"], row["module"], row["depth"]) for row in recorder.rows] == [
        ("matmul", "", 2),
        ("region", "inner", 1),
        ("region", "outer", 0),
    ]
    product, inner, outer = recorder.rows
    assert outer["ms"] >= inner["ms"] >= product["ms"]
    assert math.isclose(outer["self_ms"], outer["ms"] - inner["ms"], abs_tol=1e-9)
    assert math.isclose(inner["self_ms"], inner["ms"] - product["ms"], abs_tol=1e-9)
    assert dispatch.hooks == () and names.OpRecorder.active == []
    with names.region("nobody listens"):
        pass


def test_a_trace_is_in_the_event_format_and_nests(names):
    model = models.GPT2(97, 16, 48, 2, 4)
    x = proflab.example_input(model, (2, 11))

    def step():
        with names.region("forward"):
            loss = model(x).sum()
        with names.region("backward"):
            loss.backward()

    rows = demos.with_modules(names.rows_of(step))
    trace = json.loads(json.dumps(names.chrome_trace(rows)))
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} == {"X"}
    assert {(event["pid"], event["tid"]) for event in events} == {(1, 1)}
    assert {"blocks.1.attn.qkv", "linear", "forward", "wte"} <= {e["name"] for e in events}
    running = []
    for event in events:  # as a viewer reads them: each ends before what it is in
        assert all(isinstance(event[key], float) for key in ("ts", "dur"))
        end = event["ts"] + event["dur"]
        while running and event["ts"] >= running[-1] - 1e-6:
            running.pop()
        assert not running or end <= running[-1] + 1e-6, event
        running.append(end)


# ── the old tests of the subject ─────────────────────────────────────────────────────────────


def test_the_profilers_counts_are_those_of_the_old_tests(names):
    profiler = names.Profiler()
    assert profiler.count_parameters(nn.Linear(10, 5)) == 55
    assert profiler.count_parameters(Tensor(np.ones((3, 3)))) == 0
    for batch in (1, 32):
        assert profiler.count_flops(nn.Linear(128, 64), (batch, 128)) == 16_384
    assert profiler.count_flops(Tensor(np.ones((4, 8))), (4, 8)) == 32
    latency = profiler.measure_latency(Tensor(np.ones(3)), Tensor(np.ones(3)), 1, 3)
    assert 0 <= latency < 1000
    memory = profiler.measure_memory(nn.Linear(10, 5), (1, 10))
    assert {"parameter_memory_mb", "activation_memory_mb", "peak_memory_mb"} < memory.keys()


def test_a_passs_profile_has_the_old_tests_keys_and_counts(names):
    profiler = names.Profiler(Hardware(1e11, 1e10))
    x = Tensor(np.random.default_rng(0).standard_normal((32, 256)))
    found = profiler.profile_forward_pass(nn.Linear(256, 128), x)
    assert found["flops"] == 2_097_152 and found["parameters"] == 32_896
    assert math.isclose(
        found["gflops_per_second"], found["flops"] / found["latency_ms"] / 1e6, rel_tol=1e-9
    )
    assert found["bottleneck"] in ("compute", "memory") and found["peak_memory_mb"] > 0.125
    assert profiler.profile_layer(nn.Linear(256, 128), (32, 256)).keys() == found.keys()
    still = profiler.profile_forward_pass(Tensor(np.ones((4, 8))), x)
    assert (still["flops"], still["parameters"], still["bottleneck"]) == (32, 0, None)


def test_a_training_steps_profile_has_the_old_tests_keys(names):
    layer, x = nn.Linear(64, 32), Tensor(np.ones((8, 64)))
    found = names.Profiler().profile_backward_pass(layer, x)
    parameters = (64 * 32 + 32) * 4 / 1024**2
    assert found["gradient_memory_mb"] == parameters
    assert found["total_memory_mb"] == found["forward_memory_mb"] + parameters
    estimates = found["optimizer_memory_estimates"]
    assert estimates == {
        "sgd": 0.0,
        "momentum": parameters,
        "adam": 2 * parameters,
        "adamw": 2 * parameters,
    }
    assert layer.weight.grad is None


def test_with_profiler_records_and_prints(names, capsys):
    with names.Profiler() as profiler:
        Tensor(np.ones((99, 99))) @ Tensor(np.ones((99, 99)))
    profiler.print_top_operations(3)
    assert capsys.readouterr().out == "100 % matmul\n"


def test_quick_profile_and_the_decorator_print_and_return(names, capsys):
    model = models.LeNet5()
    x = proflab.example_input(model, (2, 1, 32, 32))
    assert names.quick_profile(model, x)["flops"] == 2 * 833_040
    said = capsys.readouterr().out
    assert "61,706 parameters, 1,666,080 FLOPs" in said and "% conv2d" in said

    @names.profile
    def step(model, x, back=True):
        """Forward, and back."""
        loss = model(x).sum()
        if back:
            loss.backward()
        return 7

    assert step(model, x, back=False) == 7 and step.__doc__ == "Forward, and back."
    assert {row["phase"] for row in step.rows} == {"forward"}
    assert step(model, x) == 7 and len(step.rows) > 20
    assert capsys.readouterr().out.startswith("step: ")
    names.profile(lambda: None)()
    assert "no ops" in capsys.readouterr().out


@pytest.mark.whole
def test_the_standalone_file_profiles_without_the_package(tmp_path):
    target = tmp_path / "my_profiler.py"
    command = [sys.executable, "-m", "proflab_course.cli", "assemble", str(ROOT / "modules")]
    command += ["-o", str(target), "--standalone", "--through", "5"]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    code = """
import sys
sys.path = [p for p in sys.path if p != ROOT]
import my_profiler
from proflab import models, example_input
assert models.__spec__.origin.startswith("carried:"), models
model = models.LeNet5()
found = my_profiler.quick_profile(model, example_input(model, (2, 1, 32, 32)))
assert found["flops"] == 1_666_080
"""
    ran = subprocess.run(
        [sys.executable, "-c", code.replace("ROOT", repr(str(ROOT)))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert "no verdict" in ran.stdout and "limited by" not in ran.stdout  # no roof was measured


@pytest.mark.torch
@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="torch is not installed: `make test-torch` profiles a module of it",
)
def test_a_torch_module_is_weighed_and_timed(names):
    import torch

    model, profiler = torch.nn.Linear(10, 5), names.Profiler()
    assert profiler.count_parameters(model) == 55
    model.weight.requires_grad = False
    assert profiler.count_parameters(model, trainable_only=True) == 5
    assert 0 < profiler.measure_latency(model, torch.ones(2, 10), 2, 5) < 1000
