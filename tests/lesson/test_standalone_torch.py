"""The profiler in one file reads what torch writes: traces and snapshots of memory."""

from __future__ import annotations

import gzip
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cohort.run import ROOT, solved

from proflab.standalone import main
from proflab.standalone.torch_report import NEEDED_TO_READ
from proflab_course.cli import main as proflab

OF_2021 = {
    "cpu_op": "Operator",
    "user_annotation": "Operator",
    "cuda_runtime": "Runtime",
    "kernel": "Kernel",
}
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@pytest.fixture(scope="module")
def names():
    return solved("lesson_11").scope | {"__file__": "my_profiler.py"}


def event(category, name, start, ms, number=None, **more):
    """An event of a trace that began at 7 s, in µs as torch writes them."""
    card = category == "kernel"
    place = {"pid": 0, "tid": 7} if card else {"pid": 70, "tid": 70}
    args = {} if number is None else {"correlation": number, "stream": 7}
    times = {"ts": 7_000_000 + start * 1000, "dur": ms * 1000}
    return {"ph": "X", "cat": category, "name": name} | place | times | {"args": args} | more


def note(at, address, size, device=1):
    """An event of the profiler's memory."""
    args = {"Device Type": device, "Device Id": 0, "Addr": address, "Bytes": size}
    place = {"pid": 70, "tid": 70, "ts": 7_000_000 + at * 1000}
    kind = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]"}
    return kind | place | {"args": args}


EVENTS = [
    {"name": "process_name", "ph": "M", "ts": 0, "pid": 70, "tid": 0, "args": {}},
    event("Trace", "PyTorch Profiler (0)", -50, 500, tid="PyTorch Profiler", pid="Spans"),
    event("cpu_op", "aten::conv2d", 0, 40),
    event("cpu_op", "aten::cudnn_convolution", 5, 30),
    event("cuda_runtime", "cudaLaunchKernel", 10, 5, 1),
    event("kernel", "gemm", 20, 30, 1),
    event("user_annotation", LOADER, 50, 100),
    event("cpu_op", "aten::relu", 160, 10),
    event("cuda_runtime", "cudaLaunchKernel", 162, 4, 2),
    event("kernel", "clamp", 170, 20, 2),
]
NOTES = [note(6, 512, 3 * 2**20), note(161, 9728, 2**20), note(185, 512, -3 * 2**20)]


def write_trace(path, events) -> str:
    data = json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def table(text: str, head: str) -> dict[str, list[str]]:
    """The rows of the printed table that begins with `head`, by their first column."""
    lines = text.split(f"\n{head}", 1)[1].split("\n\n")[0].splitlines()[1:]
    return {cells[0]: cells[1:] for cells in (re.split(r"\s{2,}", line) for line in lines)}


# ── traces ───────────────────────────────────────────────────────────────────────────────────


def test_a_trace_says_waits_ops_and_memory(names, tmp_path, capsys):
    file = write_trace(tmp_path / "trace.json", [*EVENTS[::-1], *NOTES])
    assert main(names, {}, ["trace", file]) == 0
    said = capsys.readouterr().out
    assert "3 ops, 2 kernels" in said
    assert "the card worked 50.00 ms and waited 140.00 ms (74%)" in said
    waits = {"data": "100.00", "copy": "0.00", "sync": "0.00", "launch": "30.00", "other": "10.00"}
    assert table(said, "what it waited for") == {name: [ms] for name, ms in waits.items()}
    ops = table(said, "op ")
    assert ops["aten::cudnn_convolution"] == ["1", "30.000", "30.000", "30.000"]
    assert ops["aten::conv2d"] == ["1", "40.000", "10.000", "0.000"]
    assert ops["aten::relu"] == ["1", "10.000", "10.000", "20.000"]
    assert "memory of the card: 4.00 MB at the peak, 1.00 MB left at the end" in said
    owners = {"aten::cudnn_convolution": ["3.00"], "aten::relu": ["1.00"]}
    assert table(said, "whose ") == owners


def test_a_trace_of_2021_says_the_same(names, tmp_path, capsys):
    assert main(names, {}, ["trace", write_trace(tmp_path / "new.json", EVENTS)]) == 0
    today = capsys.readouterr().out.splitlines()[1:]
    old = [
        e | {"cat": OF_2021.get(e.get("cat"), e.get("cat")), "tid": str(e["tid"])} for e in EVENTS
    ]
    without = [n | {"args": {"Device Type": 1, "Device Id": 0, "Bytes": 4}} for n in NOTES]
    file = write_trace(tmp_path / "old.json.gz", [*old, *without])
    assert main(names, {}, ["trace", file]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == today
    assert "no block of memory is noted" in today[-1]


def test_without_a_card_ops_are_those_of_the_host(names, tmp_path, capsys):
    host = [e for e in EVENTS if e.get("cat") in ("cpu_op", "Trace")]
    file = write_trace(tmp_path / "trace.json", [*host, note(6, 512, 2**20, device=0)])
    assert main(names, {}, ["trace", file]) == 0
    said = capsys.readouterr().out
    assert "no kernel is noted" in said and "what it waited for" not in said
    assert list(table(said, "op ")) == ["aten::cudnn_convolution", "aten::conv2d", "aten::relu"]
    assert "memory of the host: 1.00 MB at the peak" in said


def test_a_card_that_only_copies_is_not_said_to_be_left_alone(names, tmp_path, capsys):
    call = event("cuda_runtime", "cudaMemcpyAsync", 10, 5, 1)
    copy = event("gpu_memcpy", "Memcpy HtoD", 20, 30, 1)
    file = write_trace(tmp_path / "trace.json", [event("cpu_op", "aten::copy_", 0, 60), call, copy])
    assert main(names, {}, ["trace", file]) == 0
    said = capsys.readouterr().out
    assert "the card copied or filled memory, and computed" in said and "nothing waited" not in said


def test_the_students_functions_are_asked(names, tmp_path, capsys):
    file = write_trace(tmp_path / "trace.json", EVENTS)
    own = {
        "ops_table": lambda trace: [
            dict.fromkeys(("cpu_us", "self_cpu_us", "self_gpu_us"), 0) | {"name": "mine"}
        ]
    }
    assert main(names | own, {}, ["trace", file]) == 0
    assert list(table(capsys.readouterr().out, "op ")) == ["mine"]
    assert main(names, {"gap_causes": "11_gpu_training"}, ["trace", file]) == 2
    assert "still lacks gap_causes (11_gpu_training)" in capsys.readouterr().err


# ── snapshots ────────────────────────────────────────────────────────────────────────────────


def step(action, address, size, *frames):
    places = [{"filename": file, "line": line, "name": name} for file, line, name in frames]
    return {"action": action, "addr": address, "size": size, "stream": 0, "frames": places}


def block(size, state, address=0):
    return {"size": size, "requested_size": size, "address": address, "state": state, "frames": []}


CPP = ("??", 0, "CUDACachingAllocator::malloc")
LINEAR = ("/x/lib/python3.12/site-packages/torch/nn/modules/linear.py", 134, "forward")
SNAPSHOT = {
    "segments": [
        {
            "device": 0,
            "address": 0,
            "total_size": 4 * 2**20,
            "stream": 0,
            "frames": [],
            "segment_type": "large",
            "segment_pool_id": (0, 0),
            "allocated_size": 2**20,
            "active_size": 2**20,
            "blocks": [block(2**20, "active_allocated"), block(3 * 2**20, "inactive", 2**20)],
        }
    ],
    "device_traces": [
        [
            step("segment_alloc", 0, 4 * 2**20, CPP),
            step("alloc", 0, 2**20, CPP, LINEAR, ("/home/me/net.py", 12, "forward")),
            step("alloc", 2**20, 2**21, CPP, LINEAR),
            step("free_requested", 2**20, 2**21, CPP),
            step("alloc", 3 * 2**20, 2**19, CPP, ("/home/me/net.py", 20, "loss")),
            step("free_completed", 2**20, 2**21, CPP),
            step("free_requested", 3 * 2**20, 2**19, CPP),
            step("free_completed", 3 * 2**20, 2**19, CPP),
        ],
        [],
    ],
}


def test_a_snapshot_says_whose_the_peak_is(names, tmp_path, capsys):
    """A block counts until its free is completed; its owner is the program, torch without one."""
    file = tmp_path / "snapshot.pickle"
    file.write_bytes(pickle.dumps(SNAPSHOT))
    assert main(names, {}, ["memory", str(file)]) == 0
    said = capsys.readouterr().out
    assert "memory of the card: 3.50 MB at the peak, 1.00 MB left at the end" in said
    assert table(said, "whose ") == {
        "CUDACachingAllocator::malloc, in nn/linear": ["2.00"],
        "forward, net.py line 12, in nn/linear": ["1.00"],
        "loss, net.py line 20": ["0.50"],
    }
    assert "of 4.00 MB reserved 3.00 are free, the largest piece 3.00" in said
    (tmp_path / "snapshot.json").write_text(json.dumps(SNAPSHOT))
    assert main(names, {}, ["memory", str(tmp_path / "snapshot.json")]) == 0
    assert capsys.readouterr().out == said


def test_the_optional_exercise_may_lack(names, tmp_path, capsys):
    file = tmp_path / "snapshot.pickle"
    file.write_bytes(pickle.dumps(SNAPSHOT))
    fewer = {name: value for name, value in names.items() if name != "largest_hole"}
    assert main(fewer, {}, ["memory", str(file)]) == 0
    said = capsys.readouterr().out
    assert "3.50 MB at the peak" in said and "reserved" not in said


class Evil:
    def __reduce__(self):
        return Path.touch, (Path("run.txt"),)


def test_a_pickle_that_runs_code_is_refused(names, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.pickle").write_bytes(pickle.dumps(SNAPSHOT | {"more": Evil()}))
    assert main(names, {}, ["memory", "evil.pickle"]) == 2
    said = capsys.readouterr().err
    assert "evil.pickle is no snapshot of a card's memory" in said and "it would run" in said
    assert not (tmp_path / "run.txt").exists()


@pytest.mark.parametrize("size", [None, "2", [2], float("inf"), float("nan")])
@pytest.mark.parametrize("place", ["segment", "block", "allocation"])
def test_a_size_that_is_no_whole_number_is_said(names, tmp_path, capsys, place, size):
    odd = json.loads(json.dumps(SNAPSHOT))
    segment, steps = odd["segments"][0], odd["device_traces"][0]
    used = segment["blocks"][0]
    where = {"segment": segment, "block": used, "allocation": steps[1]}
    where[place]["total_size" if place == "segment" else "size"] = size
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps(odd))
    assert main(names, {}, ["memory", str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"my_profiler.py: {file} is no snapshot") and said.count("\n") == 1


@pytest.mark.parametrize("what", ["trace", "memory"])
@pytest.mark.parametrize(
    "data",
    [
        b"", b"x", b"[]", b"[1]", b"{}", b'{"traceEvents": [{"ph": "X", "dur": 1}]}',
        b'{"traceEvents": 3}', b'{"segments": [], "device_traces": [[]]}', b"\x1f\x8bno",
        pickle.dumps([1]), pickle.dumps({"segments": []}), pickle.dumps(SNAPSHOT)[:60],
    ],
)  # fmt: skip
def test_what_torch_has_not_written_is_refused_in_a_sentence(names, tmp_path, capsys, what, data):
    file = tmp_path / "given"
    file.write_bytes(data)
    assert main(names, {}, [what, str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"my_profiler.py: {file} ") and said.count("\n") == 1


def test_a_file_that_is_not_there_is_named(names, capsys):
    assert main(names, {}, ["trace", "nowhere.json"]) == 2
    assert "nowhere.json cannot be read" in capsys.readouterr().err


def test_what_is_needed_is_an_exercise_of_lesson_11():
    text = (ROOT / "modules/11_gpu_training/11_gpu_training.py").read_text(encoding="utf-8")
    assert all(f"\ndef {name}(" in text for name in (*NEEDED_TO_READ, "largest_hole"))


# ── with torch ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.torch
@pytest.mark.parametrize("options", [[], ["--standalone"]])
def test_the_students_page_reads_a_program_of_torch(tmp_path, options):
    pytest.importorskip("torch", reason="torch is not installed: run `make test-torch`")
    page = (ROOT / "docs/students.md").read_text(encoding="utf-8")
    [program] = [p for p in re.findall(r"```python\n(.*?)```", page, re.S) if "torch" in p]
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    file = tmp_path / "my_profiler.py"
    assert proflab(["assemble", str(ROOT / "modules"), "-o", str(file), *options]) == 0
    assert "python my_profiler.py trace trace.json" in page
    said = ""
    for command in (["train.py"], ["my_profiler.py", "trace", "trace.json"]):
        ran = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        said = ran.stdout
    ops = table(said, "op ")
    assert {"aten::addmm", "aten::mm"} <= set(ops)
    found = re.search(r"memory of the host: ([\d.]+) MB at the peak", said)
    assert found and float(found[1]) > 1


@pytest.mark.torch
def test_the_snapshot_has_the_form_of_torch():
    pytest.importorskip("torch", reason="torch is not installed: run `make test-torch`")
    from torch.cuda import _memory_viz

    assert "total_free: 3.0MiB" in _memory_viz.segsum(SNAPSHOT)
    drawn = _memory_viz.trace(SNAPSHOT)
    assert "d = a[3145728:512.0KiB]" in drawn and "# free completed for c 2.0MiB" in drawn
