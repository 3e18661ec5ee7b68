"""Published traces of real cards, as docs/gpu/reduce_traces.py reduced them for lesson 11."""

import gzip
import importlib
import os
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import median

import pytest
from cohort.run import ROOT, solved
from lesson_demos import beside

GPU = ROOT / "docs" / "gpu"
FOLDER = ROOT / "modules" / "11_gpu_training"
DOCUMENTS = ("v100_loader", "v100_workers", "v100_step", "v100_pair")
ORIGINALS = os.environ.get("PROFLAB_GPU_TRACES")  # a folder with the original files
train_document = beside("11_gpu_training", "train_document")
packed = beside("11_gpu_training", "packed")


@pytest.fixture(scope="module")
def reduce():
    """The script that made the documents, as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(GPU))
        yield importlib.import_module("reduce_traces")
        for name in ("reduce_traces", "originals", "solved"):
            sys.modules.pop(name, None)


@cache
def rows(document):
    return train_document.load(FOLDER / f"{document}.json")["rows"]


def events_of(document, name):
    """Return the events of a document's trace."""
    found = next(row for row in rows(document)["trace"] if row["name"] == name)
    return found["trace"]["traceEvents"]


def steps(events):
    return [e for e in events if e["name"].startswith("ProfilerStep#")]


def of_step(events, step):
    return (e for e in events if step["ts"] <= e["ts"] < step["ts"] + step["dur"])


# ── what the documents say ───────────────────────────────────────────────────────────────────


def test_the_loader_in_the_loop_takes_a_third_of_a_step():
    events = events_of("v100_loader", "loader in the loop")
    assert [step["dur"] for step in steps(events)] == [149_046, 148_659]
    for step in steps(events):
        [waits] = [e["dur"] for e in of_step(events, step) if "DataLoader" in e["name"]]
        assert 44_000 <= waits <= 47_500


def test_four_workers_make_steps_1_2_times_as_fast_but_two_are_slow():
    events = events_of("v100_workers", "four workers")
    lasted = [step["dur"] for step in steps(events)]
    assert [round(us / 1e3) for us in lasted] == [182, 124, 127, 126, 163, 116]
    assert sum(us > 150_000 for us in lasted) == 2
    waits = [e["dur"] for e in events if "DataLoader" in e["name"]]
    assert max(waits) < 4_400
    longest = max((e for e in events if e["cat"] == "cuda_runtime"), key=lambda e: e["dur"])
    assert (longest["name"], longest["dur"]) == ("cudaMemcpyAsync", 39_996)


def test_the_students_functions_read_them():
    names = solved("lesson_11").scope
    events = events_of("v100_workers", "four workers")
    busy = [
        names["gpu_busy"](events, (step["ts"], step["ts"] + step["dur"])) for step in steps(events)
    ]
    assert [round(found["busy"] / 1e3) for found in busy] == [99, 97, 99, 102, 99, 92]
    table = {
        each["name"]: each["self_gpu_us"]
        for each in names["ops_table"]({"traceEvents": events_of("v100_step", "step with all ops")})
    }
    most = sorted(table, key=table.get, reverse=True)[:3]
    assert most == [
        "aten::cudnn_convolution_backward_weight",
        "aten::cudnn_convolution_backward_input",
        "aten::cudnn_convolution",
    ]
    assert table["aten::cudnn_convolution"] == pytest.approx(21_100, rel=0.03)


def test_convolutions_have_the_shapes_that_flops_follow_from():
    events = events_of("v100_step", "step with all ops")
    shapes = [e["args"]["Input Dims"] for e in events if e["name"] == "aten::cudnn_convolution"]
    assert len(shapes) == 53 and shapes[0] == [[32, 3, 224, 224], [64, 3, 7, 7]]
    assert Counter(tuple(weight) for _, weight in shapes)[(64, 64, 3, 3)] == 3


def test_404_all_reduces_a_step_or_5():
    by_itself = events_of("v100_pair", "one by one")
    buckets = events_of("v100_pair", "in buckets")
    calls = [sum(e["name"] == "nccl:all_reduce" for e in each) for each in (by_itself, buckets)]
    assert calls == [404, 5]
    kernels = [e for e in by_itself if e["name"].startswith("ncclKernel_AllReduce")]
    assert len(kernels) == 404 and {e["args"]["stream"] for e in kernels} == {14}
    assert sum(e["dur"] for e in kernels) == 59_560
    assert not any("nccl" in e["name"] for e in buckets if e["cat"] == "kernel")  # one rank alone


def test_the_peak_of_a_history_is_the_one_that_the_allocator_named():
    held, now, peak = {}, 0, 0
    for event in rows("v100_pair")["memory"][0]["history"]:
        if event["action"] == "alloc":
            assert event["addr"] not in held
            held[event["addr"]] = event["size"]
            now += event["size"]
        else:
            assert held.pop(event["addr"]) == event["size"]
            now -= event["size"]
        peak = max(peak, now)
    assert peak == 6_629_508_096


def test_the_all_reduces_take_5_us_and_a_time_for_each_byte():
    found = rows("v100_pair")["allreduce"]
    assert {(row["backend"], row["ranks"]) for row in found} == {("nccl", 2)}
    assert sum(len(row["ms"]) for row in found) == 4 * 388  # of 404, these were copied before
    ms = {row["bytes"]: median(row["ms"]) for row in found}
    assert ms[1024] == 0.005 and ms[98_304_000] == pytest.approx(4.95, abs=0.05)
    assert list(ms) == sorted(ms)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_row_names_its_source_and_no_file_is_large(reduce, document):
    path = FOLDER / f"{document}.json"
    assert path.stat().st_size < 400_000
    for each in (each for kind in rows(document).values() for each in kind):
        source = each["source"]
        assert source in reduce.SOURCES.values()
        assert {"repository", "commit", "path", "licence", "date", "card", "sha256"} <= set(source)
    text = path.read_text("utf-8")
    assert not any(word in text for word in ("/home/", "anaconda", "facebook.com", "sraikund"))


# ── how they were made ───────────────────────────────────────────────────────────────────────


def old_event(cat, name, ts, dur, tid="1", **args):
    pid = 0 if tid.startswith("stream") else 7
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur} | {
        "args": {key.replace("_", " "): value for key, value in args.items()}
    }


OLD = [
    old_event("Operator", "ProfilerStep#3", 1_000, 90),
    old_event("Operator", "aten::mm", 1_010, 20, Input_Dims=[[2, 3], [3, 4], []]),
    old_event("Runtime", "cudaLaunchKernel", 1_012, 5, correlation=41),
    old_event("Runtime", "cudaEventRecord", 1_018, 1, correlation=42),
    old_event("Runtime", "cudaStreamSynchronize", 1_050, 30, correlation=43),
    old_event("Kernel", "void a::gemm<4, b::AddFunctor<float>>(int)", 1_020, 40, "stream 7",
              stream=7, correlation=41),
    old_event("Operator", "ProfilerStep#4", 1_090, 60),
]  # fmt: skip


def test_old_names_become_those_of_today(reduce):
    found = reduce.events({"traceEvents": [*OLD, {"ph": "i", "name": "[memory]", "ts": 5}]})
    chosen = list(reduce.steps(found, range(1), True))
    again = packed.unpack(packed.pack(chosen))
    assert [(e["cat"], e["name"], e["ts"], e["dur"]) for e in again] == [
        ("user_annotation", "ProfilerStep#3", 0, 90),
        ("cpu_op", "aten::mm", 10, 20),
        ("cuda_runtime", "cudaLaunchKernel", 12, 5),
        ("kernel", "gemm AddFunctor", 20, 40),
        ("cuda_runtime", "cudaStreamSynchronize", 50, 30),
    ]
    assert again[1]["args"] == {"Input Dims": [[2, 3], [3, 4]]}
    assert again[3]["args"] == {"correlation": 41, "stream": 7}
    assert list(reduce.steps(found, range(1), False)) == chosen  # no op is inside another
    inner = old_event("Operator", "aten::resize_", 1_015, 2)
    more = reduce.events({"traceEvents": [*OLD, inner]})
    assert list(reduce.steps(more, range(1), False)) == chosen
    assert len(list(reduce.steps(more, range(1), True))) == len(chosen) + 1


def test_a_changed_or_missing_original_is_refused(reduce, tmp_path):
    name = next(iter(reduce.SOURCES))
    with pytest.raises(SystemExit, match="it is in https://github.com/pytorch/kineto at be239c04"):
        reduce.read(tmp_path, name)
    (tmp_path / name).write_bytes(gzip.compress(b"{}"))
    with pytest.raises(SystemExit, match="is another file than the one that was reduced"):
        reduce.read(tmp_path, name)


@pytest.mark.skipif(not ORIGINALS, reason="PROFLAB_GPU_TRACES names no folder of originals")
def test_the_originals_reduce_to_the_documents(reduce, tmp_path):
    made = list(reduce.write(Path(ORIGINALS), tmp_path))
    assert [path.stem for path in made] == list(DOCUMENTS)
    for path in made:
        assert path.read_bytes() == (FOLDER / path.name).read_bytes()
