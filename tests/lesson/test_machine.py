"""Hide what a Python may lack: it is said in one sentence, and all else goes on.

`.ci/bare` runs the lessons' cells in a process from which threads, processes, psutil, fine clocks
and integers of 64 bits are taken away (tests/helpers/bare_python.py).
"""

import itertools
import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest
from clones import ROOT
from lesson_demos import beside
from nbformat.v4 import new_code_cell
from run_all import NAME, SOLUTIONS, filled, kinds, released, run_all, shown

from proflab.lesson import hardware, machine

CHEAP = ("05", "11")


@pytest.fixture
def without_threads(monkeypatch):
    def refused(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    machine.can.cache_clear()
    yield
    machine.can.cache_clear()


def test_what_this_python_has():
    assert machine.can("threads") and machine.can("processes")
    machine.need("threads", "nothing")
    with pytest.raises(ValueError, match="threads or processes"):
        machine.can("sockets")


def test_what_is_missing_is_said_with_what_a_cell_shows_elsewhere(without_threads):
    assert not machine.can("threads")
    with pytest.raises(machine.NotHere) as caught:
        machine.need("threads", "who waits")
    assert str(caught.value) == (
        "This cell needs threads, which this Python does not have; elsewhere it shows who waits."
    )


def test_a_process_knows_its_memory_without_psutil(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "psutil", None)
        from proflab.lesson.machine import psutil as stand_in
    block = np.ones(2**23)  # 64 MB
    seen, real = (p.Process().memory_info().rss for p in (stand_in, psutil))
    assert block.nbytes < seen and abs(seen - real) < block.nbytes / 2
    gone = stand_in.Process(2**30)
    with pytest.raises(machine.NotHere, match="psutil, which reads it, is not installed"):
        gone.memory_info()


def test_psutil_is_psutil_where_it_is():
    assert machine.psutil is psutil
    with pytest.raises(AttributeError):
        machine.numpy  # noqa: B018


def test_a_clock_of_coarse_steps_is_not_taken():
    """Windows' process_time moves every 1/64 s, a browser's never, whatever they say of it."""

    def windows():
        return time.perf_counter() // 0.015625 * 0.015625

    assert machine.tick_of(windows) == pytest.approx(0.015625)
    assert machine.steady(windows) is time.perf_counter
    assert machine.steady(lambda: 0.0) is time.perf_counter
    fine = itertools.count(0, 1e-6).__next__
    assert machine.steady(fine) is fine
    assert machine.TICK < 1e-3


def test_a_clock_of_long_steps_is_named_with_its_step(monkeypatch):
    assert machine.too_coarse() == ""
    for tick, words in ((1e-4, "steps of 0.1 ms"), (1e-3, "steps of 1 ms")):
        monkeypatch.setattr(machine, "TICK", tick)
        assert words in machine.too_coarse()


@pytest.mark.whole
def test_a_demo_that_divides_by_no_time_says_that_the_clock_is_too_coarse(tmp_path):
    folder = released(tmp_path) / NAME
    notebook = filled(folder, **SOLUTIONS)
    demo = next(cell for cell in notebook.cells if "demo" in cell.metadata.get("tags", ()))
    coarse = "from proflab.lesson import machine\nmachine.TICK = 1e-3"
    divides = "guess_field, area = 1, lambda *_: 1 / 0"
    at = notebook.cells.index(demo)
    notebook.cells[at:at] = [new_code_cell(coarse), new_code_cell(divides)]
    cells = run_all(folder, notebook)
    said = "This Python's clock advances in steps of 1 ms, and what this cell measures takes less."
    assert shown(cells["demo_field"]) == f"{said} (ZeroDivisionError: division by zero)"


def test_no_load_is_made_up_where_there_are_no_processes(monkeypatch):
    assert hardware.load_and_processors() is not None
    monkeypatch.setattr(hardware, "can", lambda what: what != "processes")
    assert hardware.load_and_processors() is None


@pytest.mark.whole
def test_run_all_goes_on_after_a_cell_that_cannot_run_here(tmp_path):
    folder = released(tmp_path) / NAME
    notebook = filled(folder, **SOLUTIONS)
    code = "from proflab.lesson.machine import NotHere\nraise NotHere('This cell needs a sail.')"
    notebook.cells.insert(1, new_code_cell(code, id="sail"))
    cells = run_all(folder, notebook)
    assert kinds(cells) == {"sail": "NotHere"} and shown(cells["sail"]) == "This cell needs a sail."
    assert "So far 100 of 100 points" in shown(cells["where_am_i"])


NEEDS = {  # what a demo calls, and the one thing without which it can show nothing
    "03_latency": ("demos", lambda beside: beside.first_calls(), "processes"),
    "05_profiler": ("demos", lambda beside: beside.sampled(int), "threads"),
    "08_benchmarking": ("demos", lambda beside: beside._sample(float, int, 0.1), "threads"),
    "09_optimization": ("demos", lambda beside: beside.run_loader(1, None, 3, "sleep"), "threads"),
    "11_gpu_training": ("two_processes", lambda beside: beside.measure([1024]), "processes"),
}


@pytest.mark.parametrize("lesson", NEEDS)
def test_a_demo_says_in_a_sentence_which_one_thing_is_missing(lesson, monkeypatch):
    name, call, lacking = NEEDS[lesson]
    monkeypatch.setattr(machine, "can", lambda what: what != lacking)
    with pytest.raises(
        machine.NotHere, match=f"^This cell needs {lacking}, which this Python does"
    ):
        call(beside(lesson, name))


def test_files_are_read_warm_alone_where_the_system_cannot_forget_them(monkeypatch):
    monkeypatch.delattr(os, "preadv")
    rows = beside("09_optimization", "demos").formats(4)
    assert len(rows) >= 4 and all(row["cold_ms"] is None and row["warm_ms"] for row in rows)


def test_without_processes_files_lie_where_they_can_be_mapped(monkeypatch, tmp_path):
    """In a browser the notebook's folder has files of which no memory can be mapped."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine, "can", lambda what: what != "processes")
    with beside("09_optimization", "demos")._folder() as folder:
        assert tmp_path not in folder.resolve().parents


# ── lessons ──────────────────────────────────────────────────────────────────────────────────


def bare(*lessons: str) -> subprocess.CompletedProcess:
    """Run .ci/bare."""
    command = [sys.executable, ROOT / ".ci/bare", *lessons]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def rows_of(out: str) -> dict[str, list[float]]:
    """Return of each lesson: cells that ran, that said why not, that failed; cases; seconds."""
    words = [line.split() for line in out.splitlines() if line[:2].isdigit() and "," not in line]
    return {row[0][:2]: [float(n) for n in row[1:]] for row in words}


@pytest.mark.whole
def test_what_is_hidden_is_hidden():
    see = """
import bare_python; bare_python.hide()
import importlib.util, os, subprocess, threading, time, sys
import numpy as np
from proflab.lesson import machine
from proflab.lesson.race.plans import given_cost

try:
    np.bincount(np.array([1, 2], np.int64))
except TypeError as error:
    refused = "according to the rule 'safe'" in str(error)
print([hasattr(os, "preadv"), sys.modules["psutil"], np.array([1]).dtype.name,
       np.arange(3).dtype.name, np.array([2**40]).dtype.name, int(np.prod([2**16, 2**16])),
       machine.can("threads"),
       machine.can("processes"), machine.tick_of(time.process_time) > 0.015,
       refused, given_cost("cache", {"n": 8, "lines": 8, "line": 4}) > 0])
"""
    path = os.pathsep.join([str(ROOT / "tests/helpers"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", see], env=os.environ | {"PYTHONPATH": path}, capture_output=True
    )
    assert done.stdout.decode().split(", ") == (
        "[False, None, 'int32', 'int32', 'int64', 0, False, False, True, True, True]\n".split(", ")
    ), done.stderr


@pytest.mark.whole
def test_lessons_run_or_say_why_not_in_a_python_that_lacks_much():
    done = bare(*CHEAP)
    rows = rows_of(done.stdout)
    assert tuple(rows) == CHEAP and done.returncode == 0, done.stdout + done.stderr
    assert all(failed == 0 for _, _, failed, *_ in rows.values())
    said = [line for line in done.stdout.splitlines() if ", demo_" in line]
    assert any("demo_sampler: This cell needs threads" in line for line in said)
    assert any("demo_two_processes: This cell needs processes" in line for line in said)


@pytest.mark.soak
def test_every_lesson_runs_or_says_why_not():
    done = bare()
    assert done.returncode == 0, done.stdout + done.stderr
    lessons = [path.name[:2] for path in sorted((ROOT / "modules").glob("[0-9][0-9]_*"))]
    assert list(rows_of(done.stdout)) == lessons


def test_a_cell_that_fails_is_shown(tmp_path):
    cells = [
        {"name": "good", "code": "x = 1\nx"},
        {"name": "bad", "code": "def f():\n    return 1 / 0\nf()"},
        {"name": "after", "code": "print('✅ one'); x += 1"},
    ]
    (tmp_path / "cells.json").write_text(json.dumps(cells))
    command = [sys.executable, ROOT / "tests/helpers/bare_python.py", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert (found["cells"], found["cases"], found["said"]) == (2, 1, [])
    [[name, told]] = found["failed"]
    assert name == "bad" and "ZeroDivisionError" in told
