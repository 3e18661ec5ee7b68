"""Lesson 11's exercises: the figures of the syllabus, and counts by other means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cohort.run import ROOT, solved
from lesson_demos import beside

from proflab import meta, models
from proflab.lesson import cuda

fake = beside("11_gpu_training", "trace_doubles")

DOCUMENT = ROOT / "modules" / "11_gpu_training" / "v100_step.json"
RESNET18 = 46_758_048  # bytes of its gradients in float32


@pytest.fixture(scope="module")
def scope():
    return solved("lesson_11").scope


def test_gaps_and_their_causes(scope):
    kernels = [fake.kernel("k", 0, 10), fake.kernel("k", 5, 7, stream=9), fake.kernel("k", 20, 5)]
    found = scope["gpu_busy"](kernels, (0, 40))
    assert found == {"busy": 17, "idle": 23, "gaps": [(12, 20), (25, 40)]}
    host = [("data", 10, 18), ("launch", 17, 20), ("sync", 25, 31), ("data", 30, 38)]
    causes = [scope["gap_causes"](gap, host) for gap in found["gaps"]]
    some = [{cause: us for cause, us in each.items() if us} for each in causes]
    assert some == [{"data": 6, "launch": 2}, {"data": 8, "sync": 5, "other": 2}]


def test_causes_sum_to_the_gap_and_agree_with_a_count_of_each_microsecond(scope):
    rng = np.random.default_rng(0)
    kinds = ["data", "copy", "sync", "launch"]
    for _ in range(60):
        host = []
        for _ in range(int(rng.integers(0, 9))):
            start = int(rng.integers(-5, 40))
            host.append((kinds[rng.integers(4)], start, start + int(rng.integers(0, 12))))
        start = int(rng.integers(0, 15))
        gap = start, start + int(rng.integers(1, 25))
        counted = dict.fromkeys([*kinds, "other"], 0)
        for us in range(*gap):
            there = {kind for kind, left, right in host if left <= us < right}
            counted[next((kind for kind in kinds if kind in there), "other")] += 1
        assert scope["gap_causes"](gap, host) == counted


def test_busy_time_agrees_with_a_count_of_each_microsecond(scope):
    rng = np.random.default_rng(1)
    for _ in range(60):
        spans = [(int(at), int(us)) for at, us in rng.integers(0, 12, (rng.integers(0, 8), 2))]
        events = [fake.kernel("k", 3 * at, us, stream=at % 2) for at, us in spans]
        window = int(rng.integers(-3, 10)), int(rng.integers(11, 40))
        busy = sum(any(3 * at <= us < 3 * at + n for at, n in spans) for us in range(*window))
        found = scope["gpu_busy"](events, window)
        assert found["busy"] == busy and found["idle"] == window[1] - window[0] - busy
        assert sum(right - left for left, right in found["gaps"]) == found["idle"]


def test_the_table_of_ops(scope):
    host = [
        fake.op("conv2d", 0, 40),
        fake.op("cudnn_convolution", 5, 30),
        fake.launch(20, 5, 1),
        fake.op("relu", 45, 12),
        fake.launch(50, 4, 2),
        fake.launch(65, 100, 3, name="cudaMemcpyAsync"),
    ]
    device = [
        fake.kernel("gemm", 25, 90, 1),
        fake.kernel("clamp", 115, 25, 2),
        fake.kernel("Memcpy DtoH", 140, 20, 3, cat="gpu_memcpy"),
    ]
    rows = {row.pop("name"): row for row in scope["ops_table"](fake.trace(*host, *device))}
    times = {name: tuple(row.values()) for name, row in rows.items()}
    assert times == {
        "conv2d": (40, 10, 0),
        "cudnn_convolution": (30, 30, 90),
        "relu": (12, 12, 25),
        "Memcpy DtoH": (0, 0, 20),
    }


def test_the_self_times_of_a_table_are_the_time_in_which_some_op_ran(scope):
    for row in beside("11_gpu_training", "train_document").load(DOCUMENT)["rows"]["trace"]:
        table = scope["ops_table"](row["trace"])
        ops = [
            e for e in row["trace"]["traceEvents"] if e.get("cat") in ("cpu_op", "user_annotation")
        ]
        as_kernels = [fake.kernel("k", e["ts"], e["dur"], stream=e["tid"]) for e in ops]
        threads = {e["tid"] for e in ops}
        ran = sum(
            scope["gpu_busy"]([k for k in as_kernels if k["args"]["stream"] == tid])["busy"]
            for tid in threads
        )
        assert sum(op["self_cpu_us"] for op in table) == pytest.approx(ran)
        work = [
            e["dur"] for e in row["trace"]["traceEvents"] if e.get("cat") in cuda.timeline.DEVICE
        ]
        assert sum(op["self_gpu_us"] for op in table) == pytest.approx(sum(work))


def test_the_peak_of_memory(scope):
    events = [(1, 100, "conv1"), (2, 50, "relu"), (3, 200, "conv2"), 2, (4, 120, "adam"), 3]
    events += [(5, 40, "relu")]
    history = [
        fake.free(event)
        if isinstance(event, int)
        else fake.alloc(event[0], event[1] * 512, event[2])
        for event in events
    ]
    found = scope["memory_peak"](history)
    assert (found["peak"], found["left"]) == (420 * 512, 260 * 512)
    assert found["by_frame"] == {"conv1": 100 * 512, "conv2": 200 * 512, "adam": 120 * 512}
    holes = fake.segment((8, "inactive"), (4, "active_allocated"), (8, "inactive"))
    more = fake.segment((6, "active_allocated"), (8, "inactive"), (6, "active_pending_free"))
    found = scope["largest_hole"]([holes, more])
    assert found == {"reserved": 40, "free": 24, "largest": 8}


def test_the_lab(scope):
    rows = [{"name": str(ms), "batch": 64, "ms": ms} for ms in (400, 290, 170, 150, 136)]
    report = scope["step_report"](rows)
    assert [round(row["step"], 3) for row in report[1:]] == [1.379, 1.706, 1.133, 1.103]
    assert round(report[-1]["total"], 3) == 2.941
    assert round(report[2]["share"], 3) == 0.495
    assert sum(row["share"] for row in report) == pytest.approx(1)
    batches = [{"name": str(n), "batch": n, "ms": ms} for n, ms in ((32, 40), (128, 130))]
    assert round(scope["step_report"](batches)[1]["step"], 2) == 1.23
    assert round(scope["interaction"](200, 120, 150, 70), 3) == 1.286


def test_utilization(scope):
    with meta():
        resnet = models.resnet18()
    shape = (256, 3, 224, 224)
    assert scope["training_flops"](resnet, shape, per_sample=False) == 2_725_993_512_960
    found = scope["training_mfu"](resnet, shape, 400, 65e12, recompute=True)
    assert (round(found["mfu"], 4), round(found["hfu"], 4)) == (0.1048, 0.1406)


def test_the_ring(scope):
    found = scope["ring_allreduce"]([np.ones(840, np.float32)] * 8)
    assert found["sent"] == [5880] * 8 and found["steps"] == 14
    assert 7 * 840 * 4 == 23_520  # what a master would receive
    assert scope["ring_allreduce"]([np.ones(10, np.float32)] * 4)["sent"] == [60, 64, 60, 56]
    rng = np.random.default_rng(2)
    for ranks, length in ((3, 17), (5, 5), (6, 4), (7, 100)):
        arrays = [rng.integers(-9, 9, length) for _ in range(ranks)]
        found = scope["ring_allreduce"](arrays)
        assert all((result == sum(arrays)).all() for result in found["results"])
        parts = [len(part) for part in np.array_split(arrays[0], ranks)]
        total = 2 * (ranks - 1) * sum(parts) * arrays[0].itemsize
        assert sum(found["sent"]) == total


def test_the_cost_of_an_all_reduce(scope):
    cost = scope["allreduce_ms"]
    assert round(cost(RESNET18, 8, 10, 25, "ring"), 3) == 3.413
    assert round(cost(RESNET18, 8, 10, 25, "tree"), 3) == 11.282
    small = [round(cost(1000, 64, 10, 25, how), 3) for how in ("ring", "tree")]
    assert small == [1.26, 0.12]
    with meta():
        sizes = [4 * math.prod(t.shape) for t in models.resnet18().parameters()]
    assert (len(sizes), sum(sizes)) == (62, RESNET18)
    assert round(sum(cost(size, 8, 10, 25, "ring") for size in sizes), 3) == 11.953


def test_overlap(scope):
    def cost(us):
        return lambda size: scope["allreduce_ms"](size, 8, us, 25, "ring")

    ten = [(2, 10**7)] * 10
    assert round(scope["overlapped"](ten, 10**9, cost(10))["step_ms"], 2) == 27.14
    buckets = [100, 50, 25, 20, 10]
    found = [scope["overlapped"](ten, mb * 10**6, cost(10))["exposed_ms"] for mb in buckets]
    assert [round(ms, 2) for ms in found] == [7.14, 3.64, 1.08, 1.54, 0.84]
    thin = [(0.1, 10**5)] * 200
    found = [scope["overlapped"](thin, mb * 1e6, cost(50))["step_ms"] for mb in (0.1, 1, 5)]
    assert [round(ms, 2) for ms in found] == [141.5, 20.77, 21.05]


def test_karp_and_flatt_and_zero(scope):
    grows = [scope["serial_share"](*each) for each in ((1.9, 2), (3.4, 4), (5.4, 8))]
    assert [round(share, 3) for share in grows] == [0.053, 0.059, 0.069]
    stays = [scope["serial_share"](*each) for each in ((3.5, 4), (6.0, 8))]
    assert [round(share, 3) for share in stays] == [0.048, 0.048]
    found = [scope["sharded_bytes"](7.5e9, 64, stage) / 1e9 for stage in range(4)]
    assert [round(gb, 1) for gb in found] == [120, 31.4, 16.6, 1.9]
