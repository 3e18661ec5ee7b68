"""What lesson 05 takes from proflab/lesson: tensors' memory, recorders, tables, a sampler."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from proflab import Tensor, dispatch, nn
from proflab.lesson import profiles
from proflab.lesson.doubles import profiled
from proflab.lesson.hardware import Hardware
from proflab.lesson.recording import Recorder, as_model, columns, region, work_and_traffic
from proflab.lesson.sampler import repeated, sampled
from proflab.lesson.tensor_memory import bytes_by_memory, each_op, memory_of, present


@pytest.mark.parametrize("meta", [False, True])
def test_bytes_of_views_count_once_and_never_more_than_there_are(meta):
    whole = Tensor.meta((4, 6)) if meta else Tensor(np.ones((4, 6)))
    left, right = whole.chunk(2, 1)
    other = Tensor.meta((3,)) if meta else Tensor([1.0, 2.0, 3.0])
    assert memory_of(left) == memory_of(right.mT) == memory_of(whole) != memory_of(other)
    assert bytes_by_memory([left]) == bytes_by_memory([left, left]) == {memory_of(whole): 48}
    both = {memory_of(whole): 96, memory_of(other): 12}
    assert bytes_by_memory([left, right, other, other]) == both
    assert bytes_by_memory([other, left, whole, whole.mT]) == both
    assert bytes_by_memory([other.expand(9, 3)]) == {memory_of(other): 12}
    assert bytes_by_memory([]) == {}


def test_present_is_a_list_without_none():
    x = Tensor([1.0])
    assert present(x) == [x] and present((None, x)) == [x] and present([None]) == []


class Told(Recorder):
    def watch(self, call):
        result = call()
        self.rows.append(call.op)
        return result

    def end_region(self, first, start, end, facts):
        self.rows.append((facts["module"], self.rows[first:], end >= start, self.rows.depth))


def test_a_region_is_told_to_each_recorder_around_it():
    x = Tensor([1.0])
    with Told() as outer, region("a"):
        x.exp()
        with pytest.raises(ValueError, match="inner"), Told() as inner, region("b"):
            x.tanh()
            raise ValueError("inner")
    assert inner.rows == ["tanh", ("b", ["tanh"], True, 0)]
    b = ("b", ["tanh"], True, 1)
    assert outer.rows == ["exp", "tanh", b, ("a", ["exp", "tanh", b], True, 0)]
    assert Recorder.active == [] and dispatch.hooks == ()


def test_work_and_traffic_add_up_and_a_tensor_can_be_called():
    rows = profiled.made_up(
        "op matmul_flops elementwise_flops bytes_read bytes_written",
        ("linear", 100, 20, 3, 4), ("region", 0, 0, 0, 0), ("module a.b", 1, 0, 0, 5),
    )  # fmt: skip
    assert work_and_traffic(rows) == (121, 12)
    assert columns(rows, "op", "module") == [["linear", "m"], ["region", "m"], ["module", "a.b"]]
    x = Tensor([1.0])
    assert as_model(x)(None) is x and isinstance(as_model(nn.ReLU()), nn.ReLU)


ROWS = profiled.made_up(
    "op self_ms matmul_flops bytes_read",
    ("conv2d", 2.0, 70, 5), ("gelu", 1.0, 0, 1), ("relu", 1.5, 0, 1), ("warp", 4.0, 0, 3),
)  # fmt: skip


def test_each_kind_of_op_has_its_sum_and_what_has_no_kind_is_among_others():
    sums = profiles.family_sums(ROWS, "self_ms")
    assert sums["activations"] == 2.5 and sums["others"] == 4.0 and sums["norms"] == 0
    assert sum(sums.values()) == 8.5
    picture = profiles.three_shares({"A": ROWS, "B": ROWS}, "Seen")
    assert picture.alt.startswith("Seen (of all that the pass took). A: ms, 8.5: convolutions")
    assert "B: bytes read, 10: " in picture.alt and "others 30.0%" in picture.alt


def test_limits_stand_below_the_intensities(capsys):
    machines = [Hardware(1e3, 1e2, "slow"), Hardware(1e6, 1e2, "fast")]

    def limit(flops, moved, machine):
        return f"{machine.name[0]}{flops * moved}"

    profiles.print_limits({1: (50, 100), 8: (400, 100)}, machines, limit)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["rows", "1", "8"] and lines[1][-2:] == ["0.5", "4.0"]
    assert lines[2:] == [["slow", "s5000", "s40000"], ["fast", "f5000", "f40000"]]


def test_functions_and_passes_are_printed_whole(capsys):
    row = {"function": "a.py:3(b)", "calls": 1234, "tottime": 0.5, "cumtime": 2.25}
    profiles.print_functions([row], "cumtime")
    head, line = capsys.readouterr().out.splitlines()
    assert head.startswith("by cumtime") and line.split() == [
        "a.py:3(b)",
        "1,234",
        "0.500s",
        "2.250s",
    ]
    found = {"parameters": 1000, "flops": 2000, "latency_ms": 0.5, "gflops_per_second": 0.004}
    profiles.print_pass(found | {"peak_memory_mb": 1.0, "bottleneck": None}, "a PC")
    said = capsys.readouterr().out
    assert said.startswith("1,000 parameters, 2,000 FLOPs, on a PC:\n0.500 ms, 0.004 GFLOP/s, ")
    assert said.endswith("limited by None\n")


def test_architectures_and_overheads_are_drawn_with_their_numbers(capsys):
    row = {"name": "MLP", "parameters": 5, "flops": 6, "latency_ms": 7.0, "peak_memory_mb": 8.0}
    picture = profiles.architectures([row | {"gflops_per_second": 9.0}])
    assert "MLP 9" in picture.alt
    assert capsys.readouterr().out.splitlines()[1].split()[1:] == ["5", "6", "7.00", "8.0", "9.0"]
    picture = profiles.overheads({("tiny", "a sampler"): 1.02, ("tiny", "cProfile"): 3.456})
    assert "tiny: a sampler 1.02; tiny: cProfile 3.46" in picture.alt


def test_between_tokens_is_what_attention_does_itself(capsys):
    rows = [
        {"module": module, "ms": ms}
        for module, ms in (
            ("wte", 50),
            ("blocks.0.attn", 3),
            ("blocks.0.attn.qkv", 4),
            ("blocks.0", 5),
            ("blocks.0.attn", 3),
            ("blocks.1.attn", 9),
            ("", 70),
        )  # fmt: skip
    ]
    assert profiles.between_tokens(rows, "ms") == 6 / 15
    picture = profiles.attention_curves({64: 0.02, 128: 0.04}, {64: 0.1, 128: 0.25})
    assert "predicted, by FLOPs from 2% to 4%; measured, by time from 10% to 25%" in picture.alt
    said = capsys.readouterr().out.splitlines()
    assert said[1].split() == "128 tokens: 4.0% of the FLOPs, 25.0% of the time".split()


def test_a_sampler_sees_what_runs_and_stops_when_it_raises():
    def busy():
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            pass

    tries = (sampled(busy) for _ in range(100))  # on a busy machine one may see nothing
    seen = next(names for names in tries if names)
    assert any("(busy)" in name for name in seen)
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        sampled(lambda: 1 / 0)
    assert threading.active_count() == before


def test_repeated_calls_as_often_as_it_says():
    calls = []
    assert repeated(lambda: calls.append(1), 3)() is None and len(calls) == 3


def test_the_calls_and_layers_of_the_test_cells_do_what_they_say():
    pace = []
    layer = profiled.PacedBack(lambda x: pace.append(x.shape), nn.Linear(3, 2))
    out = layer(Tensor(np.ones((4, 3))))
    out.sum().backward()
    assert pace == [(4, 2), (4, 2)] and layer.inner.weight.grad.shape == (2, 3)
    seen = profiled.on_the_way_back(lambda call, result: call.op, lambda x, y, z: (x * z).sum())
    assert seen == [["mul"]]
    a = Tensor(np.ones((2, 3)), requires_grad=True)
    ops = each_op(lambda call, _: (call.op, call.phase), lambda: profiled.Product.apply(
        a, Tensor(np.ones((3, 4)))).sum().backward())  # fmt: skip
    assert ops.count(("matmul", "forward")) == 2
