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
# By others, and by record.py --processor, in documents of their own.
MEASURED = {"trace", "memory", "allreduce"} | {"profile", "pairwise", "loss", "loader"}
BESIDE = ("solved", "construct_train")


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
    assert set(kept["rows"]) == set(train_document.KINDS) - MEASURED


def test_it_has_the_labs_seven_parts(kept):
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
    images = [row["batch"] / row["ms"] for row in rows["step"]]
    assert 2.5 < images[-1] / images[0] < 3.2 and images[4] < images[3]


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
    assert "all that helped: 932 images/s, 2.91 times" in out


def test_the_device_cells_measure_every_kind(script):
    record = script("record")
    scope = record["solved"](train_document.LESSON)
    on_card, anywhere = (
        set(record["measures"](scope, train_document.LESSON, name))
        for name in ("record", "anywhere")
    )
    assert on_card | anywhere == set(train_document.KINDS) and not on_card & anywhere
    path = ROOT / "modules" / train_document.LESSON / "cpu_train.json"
    kept = train_document.load(path)
    assert set(kept["rows"]) == anywhere and not kept["constructed"]
    assert kept["command"].endswith("python docs/gpu/record.py --processor")
    assert kept["versions"]["torch"].startswith("2.13") and path.stat().st_size < 400_000


def test_the_lab_was_measured_on_a_processor_and_channels_last_alone_gained(script, kept):
    record = script("record")
    path = ROOT / "modules" / train_document.LESSON / "cpu_lab.json"
    lab = train_document.load(path)
    assert set(lab["rows"]) == set(record["LAB"]) and not lab["constructed"]
    assert lab["command"] == "python docs/gpu/record.py --processor --lab"
    assert lab["note"] == record["LAB_NOTE"] and lab["versions"]["torch"].startswith("2.13")
    parts = [row["name"] for row in lab["rows"]["step"]]
    assert parts == [row["name"] for row in kept["rows"]["step"]]
    interval = record["solved"](train_document.LESSON)["speedup_interval"]
    gains = {r["name"]: interval(*zip(*r["pairs"], strict=True)) for r in lab["rows"]["step"][1:]}
    assert [name for name, each in gains.items() if each["low"] > 1] == ["channels-last"]
    assert gains["channels-last"]["high"] * gains["AMP"]["high"] < 1
