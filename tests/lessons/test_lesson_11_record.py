"""Lesson 11's constructed document and the command that records another."""

from __future__ import annotations

import runpy
import sys

import pytest
from cohort.run import ROOT
from lesson_demos import beside

from proflab.lesson.cuda import NoDevice

train_document = beside("11_gpu_training", "train_document")

CONSTRUCTED = ROOT / "modules" / train_document.LESSON / "constructed_train.json"
BESIDE = ("solved", "construct_train", "constructed_trace", "constructed_memory")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "gpu"))
    yield lambda name: runpy.run_path(str(ROOT / "docs" / "gpu" / f"{name}.py"))
    for name in (*BESIDE, "measures", "train", "two_processes"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def kept():
    return train_document.load(CONSTRUCTED)


def same(a, b) -> bool:
    """Return True if equal, but for the last digits of a float, which depend on the processor."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == pytest.approx(b, rel=1e-6, abs=2e-3) if isinstance(a, float) else a == b


def test_the_constructed_document_is_what_its_script_makes(script, kept):
    assert same(script("construct_train")["construct"](), kept)
    assert kept["constructed"] and "No card ran anything" in kept["note"]
    assert set(kept["rows"]) == set(train_document.KINDS)


def test_it_has_the_labs_seven_parts_and_three_traces(kept):
    rows = kept["rows"]
    assert [row["name"] for row in rows["step"]] == [
        "as written",
        "data loading",
        "AMP",
        "channels-last",
        "checkpointing",
        "compile, one shape",
        "all that helped",
    ]
    assert [row["name"] for row in rows["trace"]] == ["starved", "synchronous", "good"]
    images = [row["batch"] / row["ms"] for row in rows["step"]]
    assert 2.5 < images[-1] / images[0] < 3.2 and images[4] < images[3]


def test_the_history_follows_the_program_that_is_shipped(kept):
    """Its ReLUs work in place, and allocate nothing: of memory.peak 3,022 MB, with checkpoints 43 %
    less."""
    histories = {row["name"]: row["history"] for row in kept["rows"]["memory"]}
    assert not any("relu" in e.get("frame", "") for each in histories.values() for e in each)
    peaks = {name: _peak(history) for name, history in histories.items()}
    assert [round(peak / 2**20) for peak in peaks.values()] == [3022, 1735]
    assert round(100 * (1 - peaks["checkpoint"] / peaks["plain"])) == 43


def test_mixed_precision_halves_activations_and_nothing_else(kept, script):
    made = script("construct_train")["training_step"]
    plain, half = (made(16, False, amp).history for amp in (False, True))
    sizes = [{e["frame"]: e["size"] for e in h if e["action"] == "alloc"} for h in (plain, half)]
    halved = {name for name in sizes[0] if sizes[1][name] * 2 == sizes[0][name]}
    whole = {name for name in sizes[0] if sizes[1][name] == sizes[0][name]}
    assert halved | whole == set(sizes[0])
    owners = ("batch", ".weight", ".bias", ".weight.grad", ".bias.grad", ".momentum")
    assert all(name.endswith(owners) or name == "loss.grad" for name in whole)
    assert not any(name.endswith(owners) for name in halved)
    steps = {row["name"]: row["peak_bytes"] for row in kept["rows"]["step"]}
    assert steps["data loading"] / 2 < steps["AMP"] < 0.53 * steps["data loading"]


def _peak(history) -> int:
    live, peak, held = 0, 0, {}
    for event in history:
        if event["action"] == "alloc":
            held[event["addr"]] = -(-event["size"] // 512) * 512
            live += held[event["addr"]]
        else:
            live -= held.pop(event["addr"])
        peak = max(peak, live)
    return peak


def test_no_op_of_a_trace_begins_before_the_one_before_has_ended(kept):
    """Else rounding would put one into the other."""
    for row in kept["rows"]["trace"]:
        last: dict = {}
        events = [e for e in row["trace"]["traceEvents"] if e.get("cat") == "cpu_op"]
        for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
            stack = last.setdefault(event["tid"], [])
            while stack and stack[-1] <= event["ts"]:
                stack.pop()
            end = event["ts"] + event["dur"]
            assert not stack or end < stack[-1] + 0.01
            stack.append(end)


def test_a_kernel_starts_after_its_launch_and_runs_alone_on_its_stream(kept):
    for row in kept["rows"]["trace"]:
        events = [e for e in row["trace"]["traceEvents"] if "correlation" in e.get("args", {})]
        calls = {e["args"]["correlation"]: e for e in events if e["cat"] == "cuda_runtime"}
        work = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy")]
        assert all(calls[e["args"]["correlation"]]["ts"] < e["ts"] for e in work)
        for stream in {e["args"]["stream"] for e in work}:
            own = sorted((e["ts"], e["dur"]) for e in work if e["args"]["stream"] == stream)
            for (at, us), (after, _) in zip(own, own[1:], strict=False):
                assert at + us <= after + 0.01


def test_recording_without_a_device_says_why_and_fails(script, tmp_path, capsys):
    def nothing_here():
        raise NoDevice("CuPy is not installed")

    assert script("record")["record"](tmp_path / "r.json", nothing_here, "11") == 1
    assert capsys.readouterr().err == "nothing is recorded: CuPy is not installed\n"


def test_a_documents_report_says_how_busy_and_how_fast(script, kept, capsys):
    record = script("record")
    record["report_training"](record["solved"](train_document.LESSON), kept)
    out = capsys.readouterr().out
    assert out.startswith("This document is constructed")
    assert "starved: a kernel runs for 26% of the time" in out
    assert "all that helped: 932 images/s, 2.91 times" in out


def test_the_device_cells_measure_every_kind(script):
    """But the all-reduce, which the lesson measures without a card."""
    record = script("record")
    found = record["measures"](record["solved"](train_document.LESSON), train_document.LESSON)
    assert set(found) | {"allreduce"} == set(train_document.KINDS)
