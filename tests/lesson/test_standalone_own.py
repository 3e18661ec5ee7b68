"""The profiler in one file: models of one's own, and what each form of the file says of itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from assembled import course_profiler, names_of
from cohort.run import ROOT

from proflab.standalone import main
from proflab_course.cli import main as proflab

OWN = """
from proflab import nn
import beside

def small():
    return nn.Sequential(nn.Linear(beside.WIDTH, 4), nn.ReLU()), (beside.WIDTH,)

def shapeless():
    return nn.ReLU()

def broken():
    raise KeyError("weights")

def ends():
    raise SystemExit("done")
"""


@pytest.fixture(scope="module")
def names(once):
    """The names of the instructor's solutions in one file."""
    return names_of(course_profiler(once))


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets/net.py").write_text(OWN)
    (tmp_path / "nets/beside.py").write_text("WIDTH = 8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.proves
def test_a_model_of_ones_own_is_profiled(names, own, capsys):
    assert main(names, {}, ["nets/net.py:small", "--batch", "2", "--passes", "1"]) == 0
    said = capsys.readouterr().out
    assert "nets/net.py:small, batch 2: a forward pass" in said
    assert re.findall(r"^(?:parameters|FLOPs of).* (\d+)$", said, re.M) == ["36", "128"]
    assert "nets/net.py:small" in Path("report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "model, sentence",
    [
        ("nets/none.py:small", "none.py:small cannot be read: No such file or directory"),
        ("nets/net.py:large", "net.py defines no function 'large'"),
        ("nets/net.py:shapeless", "must return a model of ProfLab and an input's shape, a tuple"),
        ("nets/net.py:broken", "net.py:broken raises KeyError: 'weights'"),
        ("nets/net.py:ends", "net.py:ends raises SystemExit: done"),
    ],
)
def test_a_model_of_ones_own_that_cannot_be_made(names, own, capsys, model, sentence):
    with pytest.raises(SystemExit) as stopped:
        main(names, {}, [model])
    assert stopped.value.code == 2 and sentence in " ".join(capsys.readouterr().err.split())


@pytest.mark.whole
@pytest.mark.parametrize("options", [[], ["--standalone", "--own"]])
def test_each_form_of_the_file_helps_and_says_what_lacks(tmp_path, options):
    """With the lessons' stubs alone: help needs no exercise."""
    file = tmp_path / "my_profiler.py"
    assert proflab(["assemble", str(ROOT / "release"), "-o", str(file), *options]) == 0
    for command, said in {
        "": "FILE.py:FUNCTION",
        "compare": "--start-up",
        "gate": "--strict",
        "lines": "scalene",
        "trace": "export_chrome_trace",
        "memory": "_dump_snapshot",
    }.items():
        words = [sys.executable, file, *command.split(), "--help"]
        ran = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
        assert (ran.returncode, ran.stderr) == (0, "") and said in ran.stdout
        assert f"usage: my_profiler.py {command}" in ran.stdout
    words = [sys.executable, file, "trace", "trace.json"]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 2 and "still lacks gpu_busy (11_gpu_training)" in ran.stderr
