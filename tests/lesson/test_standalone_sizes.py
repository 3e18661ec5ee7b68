"""The profiler in one file: what it predicts for sizes that it has not measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from assembled import course_profiler, expected_counts, names_of

from proflab.standalone import main


@pytest.fixture(scope="module")
def names(once):
    """The names of the instructor's solutions in one file."""
    return names_of(course_profiler(once))


def predicted_rows(text: str) -> dict[int, list[str]]:
    """The printed rows of the table of sizes: FLOPs, at least, predicted and measured, by size."""
    table = text.split("at least, ms", 1)[1].split("written:")[0].splitlines()[1:]
    cells = [line.split() for line in table if line.strip()]
    return {int(first.replace(",", "")): others for first, *others in cells}


def ms_of(cell: str) -> float:
    return float(cell.replace(",", ""))


@pytest.mark.whole
def test_other_sizes_are_predicted_from_the_recorded_one(names, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = ["gpt2-small", "--tokens", "8", "--passes", "1", "--at", "64", "16"]
    assert main(names, {}, arguments) == 0
    rows = predicted_rows(capsys.readouterr().out)
    assert list(rows) == [8, 16, 64]
    for size, row in rows.items():
        assert row[0] == expected_counts("gpt2-small", (1, size))[1]
        assert len(row) == (4 if size == 8 else 3)  # one size is measured
        assert 0 < ms_of(row[1])
    bounds = [ms_of(row[1]) for row in rows.values()]
    assert bounds == sorted(bounds) and bounds[-1] < 64 * bounds[0]
    assert "<h2>At other sizes</h2>" in Path("report.html").read_text(encoding="utf-8")


@pytest.mark.proves
def test_the_bound_is_that_of_the_roofs(names, tmp_path, monkeypatch, capsys):
    """With 100 GFLOP/s, 20 GB/s, and an overhead and factors that change nothing."""
    monkeypatch.chdir(tmp_path)
    own = names | {"op_factors": lambda *_: {"linear": 2.0}}
    own["measure_latency"] = lambda *_, **__: 0.0
    own["mfu"] = lambda *_: 0.5
    assert main(own, {}, ["mlp", "--passes", "1", "--at", "1000"]) == 0
    row = predicted_rows(capsys.readouterr().out)[1000]
    weights, work = (784 * 256 + 256 * 10), 2 * 1000
    assert row[0] == f"{work * weights:,}"
    relu = 2 * 1000 * 256 * 4 / 20e9
    last = max((work * 2560 + 10_000) / 100e9, (1000 * 266 + 2570) * 4 / 20e9)
    first = (work * 784 * 256 + 256_000) / 100e9
    assert ms_of(row[1]) == pytest.approx(1000 * (first + last + relu), abs=0.011)
    assert ms_of(row[2]) == pytest.approx(1000 * (2 * (first + last) + relu), abs=0.011)


def test_without_lesson_07_sizes_are_refused_in_a_sentence(names, capsys):
    fewer = {name: value for name, value in names.items() if name != "predict_ms"}
    assert main(fewer, {}, ["lenet5", "--at", "8"]) == 2
    assert "still lacks predict_ms (07_scaling): write it" in capsys.readouterr().err


def test_a_size_that_the_model_does_not_take_is_refused_before_anything_is_timed(names, capsys):
    assert main(names, {}, ["gpt2-small", "--tokens", "8", "--at", "2048"]) == 2
    said = capsys.readouterr()
    assert "2048 tokens exceed the context of 1024" in said.err and "building" not in said.out


def test_with_lesson_09_it_says_what_would_pay_most(names, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = ["lenet5", "--passes", "1", "--threads", "1"]
    assert main(names, {}, command) == 0
    line = r"^best target +(\w+): ([\d.]+)× at its roof$"
    [(name, best)] = re.findall(line, capsys.readouterr().out, re.M)
    assert name in ("conv2d", "linear", "tanh", "sigmoid", "avg_pool2d", "relu", "max_pool2d")
    assert 1 <= float(best) < 100

    def unwritten(*_):
        raise NotImplementedError

    for other in ({}, {"diagnose": unwritten}):
        fewer = {name: value for name, value in names.items() if name != "diagnose"} | other
        assert main(fewer, {}, command) == 0
        assert "best target" not in capsys.readouterr().out
