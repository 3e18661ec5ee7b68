"""What a trace says of the host, and the doubles that stand for traces."""

from __future__ import annotations

import numpy as np
from lesson_demos import beside

from proflab.lesson.cuda import timeline

fake = beside("11_gpu_training", "trace_doubles")
train_document = beside("11_gpu_training", "train_document")

TRACE = fake.trace(
    fake.op("ProfilerStep#0", 0, 100, cat="user_annotation"),
    fake.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 30),
    fake.op("aten::copy_", 30, 10),
    fake.launch(32, 8, 1, "cudaMemcpyAsync"),
    fake.op("aten::conv2d", 40, 10),
    fake.launch(45, 4, 2),
    fake.op("aten::item", 50, 30),
    fake.launch(51, 2, 3, "cudaMemcpyAsync"),
    fake.launch(53, 26, 4, "cudaStreamSynchronize"),
    fake.op("aten::item", 60, 30, tid=2),
    fake.launch(81, 2, 5, "cudaMemcpyAsync"),
    fake.kernel("Memcpy HtoD (Pageable -> Device)", 34, 6, 1, cat="gpu_memcpy"),
    fake.kernel("gemm", 46, 20, 2, stream=9),
    fake.kernel("Memset (Device)", 80, 1, cat="gpu_memset"),
    fake.kernel("ProfilerStep#0", 34, 40, cat="gpu_user_annotation"),
)


def test_the_host_is_told_in_kinds():
    assert timeline.host_spans(TRACE) == [
        ("data", 0, 30),
        ("launch", 30, 40),
        ("copy", 32, 40),
        ("launch", 40, 50),
        ("launch", 45, 49),
        ("launch", 50, 80),
        ("sync", 51, 53),  # the copy of `.item()`
        ("sync", 53, 79),
        ("launch", 60, 90),
        ("copy", 81, 83),  # an item of another thread has nothing to do with it
    ]


def test_a_gap_gets_the_spans_that_overlap_it_and_no_others():
    random = np.random.default_rng(11)
    starts = sorted(random.integers(0, 300, 80).tolist())
    spans = [("launch", at, at + int(random.integers(0, 40))) for at in starts]
    gaps = [(at, at + 5) for at in range(0, 350, 7)]
    found = list(timeline.with_host(gaps, spans))
    assert [gap for gap, _ in found] == gaps
    for (start, end), near in found:
        assert near == [s for s in spans if s[1] < end and s[2] > start]
    assert list(timeline.with_host([(0, 5)], [])) == [((0, 5), [])]


def test_the_device_works_on_streams_and_a_users_span_is_no_work():
    assert timeline.device_spans(TRACE) == [
        (7, "gpu_memcpy", 34, 40),
        (9, "kernel", 46, 66),
        (7, "gpu_memset", 80, 81),
    ]
    assert timeline.step_spans(TRACE) == [("ProfilerStep#0", 0, 100)]


def test_a_double_has_the_form_that_a_document_must_have():
    memory = {
        "name": "x",
        "batch": 1,
        "history": [fake.alloc(0, 3, "conv1"), fake.free(0)],
        "segments": [fake.segment((512, "inactive"))],
    }
    train_document.KINDS["trace"]({"name": "x", "steps": 1, "trace": TRACE}, "here")
    train_document.KINDS["memory"](memory, "here")
    phases = {event["ph"] for event in TRACE["traceEvents"]}
    calls = [fake.launch(0, 1, 2, name)["cat"] for name in ("cudaLaunchKernel", "cuLaunchKernel")]
    assert calls == ["cuda_runtime", "cuda_driver"]
    assert phases == {"M", "i", "s", "X"}  # as in a real trace, not all have a duration


def test_steps_are_told_in_their_order_and_collectives_by_their_kernels():
    steps = [fake.op(f"ProfilerStep#{n}", 10 * n, 9, cat="user_annotation") for n in (9, 10)]
    sums = [
        fake.op("nccl:all_reduce", 91, 2, cat="user_annotation"),
        fake.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 104, 5, stream=14),
        fake.kernel("ncclKernel_AllReduce_RING_LL_Sum_float", 93, 4, stream=14),
        fake.kernel("gemm", 95, 3),
    ]
    trace = fake.trace(*steps[::-1], *sums)
    names = [name for name, *_ in timeline.step_spans(trace)]
    assert names == ["ProfilerStep#9", "ProfilerStep#10"]
    assert timeline.collectives(trace) == [("communication", 93, 97), ("communication", 104, 109)]
    assert [timeline.is_collective(event) for event in sums] == [True, True, True, False]
