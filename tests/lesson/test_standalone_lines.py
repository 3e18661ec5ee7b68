"""The profiler in one file says which lines of a program take its time, and pins BLAS's threads."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from assembled import assemble
from cohort.run import ROOT, solved

from proflab.standalone import main, pinned

PROGRAM = """\
import json, sys, time

def squares(n):
    return sum(i * i for i in range(n))

print(sys.argv[1:])
squares(1_500_000)
json.dumps([1.5] * 600_000)
time.sleep(0.1)
sys.exit(3)
"""
ROW = re.compile(r"^prog\.py line (\d+) +(\S+) +(\S+)% +(\S+)  +(.+)$", re.M)


@pytest.fixture
def program(tmp_path, monkeypatch):
    (tmp_path / "prog.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def names():
    return solved("lesson_05").scope | {"__file__": "my_profiler.py"}


def test_a_programs_lines_have_their_time_and_it_runs_unchanged(names, program, capsys):
    argv, path = sys.argv, sys.path[:]
    assert main(names, {}, ["lines", "prog.py", "--fast", "7"]) == 3
    assert (sys.argv, sys.path) == (argv, path)
    said = capsys.readouterr().out
    assert said.startswith("['--fast', '7']\n")
    rows = {int(line): (float(share), code) for line, _, share, _, code in ROW.findall(said)}
    assert rows[9][1] == "time.sleep(0.1)" and {4, 8, 9} <= set(rows)
    assert sum(share for share, _ in rows.values()) > 90
    cpu = {int(line): float(cpu.replace(",", "")) for line, _, _, cpu, _ in ROW.findall(said)}
    assert cpu[9] < 0.5 * min(cpu[4], cpu[8])  # what sleeps takes no processor
    assert "it waited" in said and "pyinstrument" in said and "scalene" in said


def test_json_is_time_of_the_line_that_calls_it(names, program, capsys):
    """No file of Python's own is in the table, nor one of this project."""
    main(names, {}, ["lines", "prog.py"])
    places = re.findall(r"^(\S+\.py) line", capsys.readouterr().out, re.M)
    assert set(places) == {"prog.py"}


@pytest.mark.parametrize(
    "text, status, out, err",
    [
        ("raise KeyError('weights')", 1, "it ended before|line 1", "KeyError: 'weights'"),
        ("import sys; sys.exit('no data')", 1, "", "no data\n"),
        ("import threading, time\nthreading.Thread(target=time.sleep, args=[0.1]).start()\n"
         "time.sleep(0.05)", 0, "it has other threads: their CPU time", ""),
    ],
)  # fmt: skip
def test_a_program_that_ends_otherwise(names, program, capsys, text, status, out, err):
    Path("prog.py").write_text(text)
    assert main(names, {}, ["lines", "prog.py"]) == status
    said = capsys.readouterr()
    assert re.search(out, said.out) and err in said.err


def test_what_is_no_program_is_refused(names, program, capsys):
    assert main(names, {}, ["lines", "none.py"]) == 2
    assert "none.py is no file: give the program to run" in capsys.readouterr().err
    assert main({}, {}, ["lines", "prog.py"]) == 2
    assert "still lacks top_operations (05_profiler)" in capsys.readouterr().err


@pytest.mark.whole
def test_one_thread_is_pinned_before_numpy_where_nothing_sets_it_later(program, tmp_path):
    """In a Python that hides threadpoolctl, and an environment that says nothing."""
    file = assemble(ROOT / "modules", tmp_path / "my_profiler.py")
    Path("prog.py").write_text("import os, json\nprint(json.dumps(dict(os.environ)))")
    hide = tmp_path / "hidden/threadpoolctl.py"
    hide.parent.mkdir()
    hide.write_text("raise ImportError('not here')")
    environment = {k: v for k, v in os.environ.items() if k not in pinned.VARIABLES}
    environment["PYTHONPATH"] = str(hide.parent)
    for words, number in ([], "1"), (["--threads", "2"], "2"):
        command = [sys.executable, file, "lines", *words, "prog.py"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        first, *others = ran.stdout.splitlines()
        seen = json.loads(first)
        assert {seen[name] for name in pinned.VARIABLES} == {number}
        assert f"matrix products on {number} thread" in " ".join(others)


def test_another_program_is_never_started_anew(monkeypatch):
    monkeypatch.setattr(pinned, "blas_threads", lambda: None)
    monkeypatch.setattr(pinned, "threads_here", lambda: None)
    monkeypatch.setattr(pinned.subprocess, "call", lambda *words, **options: 5)
    assert pinned.begin_anew(["lenet5"], 1) is None
    monkeypatch.setattr(sys, "argv", ["my_profiler.py", "lenet5"])
    assert pinned.begin_anew(["lenet5"], 1) == 5
    monkeypatch.setattr(pinned, "threads_here", lambda: 1)
    assert pinned.begin_anew(["lenet5"], 1) is None
