"""Compare what the students' page shows of an assembled profiler with what it prints."""

from __future__ import annotations

import json
import pickle
import re
import shlex
from pathlib import Path

import pytest
from cohort.run import ROOT, solved

from proflab.standalone import compare, main

PAGE = (ROOT / "docs/students.md").read_text(encoding="utf-8")
PROGRAM = """\
import time
import numpy as np

def plain(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

def main():
    a = np.ones((1200, 1200))
    for _ in range(6):
        b = a @ a
    plain(4_000_000)
    time.sleep(0.5)
    return b

main()
"""


def sample(first: str) -> list[str]:
    """The lines of the page's sample that begins so."""
    [text] = [t for t in re.findall(r"```text\n(.*?)```", PAGE, re.S) if t.startswith(first)]
    return text.splitlines()


def without_clock(line: str) -> str:
    """A line without what the clock says: a number with a point or before a unit, and width.

    A whole number stays: of calls, of FLOPs, of a line.
    """
    line = re.sub(
        r"\d[\d,]*(?= ms| s\b| samples| +[\d.]+%)|[\d,]*\d\.\d+|(?<=% )\s*[\d,]+", "N", line
    )
    return " ".join(line.split())


@pytest.fixture(scope="module")
def names():
    numbers = ("02", "05", "06", "07", "08", "11")
    scopes = [solved(f"lesson_{number}").scope for number in numbers]
    return {k: v for scope in scopes for k, v in scope.items()} | {"__file__": "my_profiler.py"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def commands(what: str) -> list[list[str]]:
    """The words of the page's commands that begin with `what`, run as they stand."""
    found = re.findall(rf"^python my_profiler(?:_alone)?\.py ({what} .+)$", PAGE, re.M)
    return [shlex.split(words) for words in found]


def test_lines(names, capsys):
    """Rows are in the order of time, which is the machine's: each is looked for by itself."""
    Path("prog.py").write_text(PROGRAM)
    [command] = commands("lines")
    assert main(names, {}, command) == 0
    said = {without_clock(line) for line in capsys.readouterr().out.splitlines()}
    Path("prog.py").write_text("import time\ntime.sleep(0.3)")  # what waits on every machine
    assert main(names, {}, command) == 0
    said |= {without_clock(line) for line in capsys.readouterr().out.splitlines()}
    shown = sample("prog.py: ")
    rare = [line for line in shown if "np.ones" in line]  # over before a sample, perhaps
    assert {without_clock(line) for line in shown if line not in [*rare, "…"]} <= said
    for line in shown[3:7]:
        number, code = re.search(r"line (\d+) .+%\s+\d+\s+(.+)$", line).groups()
        assert PROGRAM.splitlines()[int(number) - 1].strip() == code


# ── trace ────────────────────────────────────────────────────────────────────────────────────


def trace_of(shown: list[str]) -> list[dict]:
    """A trace of which the sample's rows are true: ops of so many calls, ms and shapes."""
    dims = {
        "aten::mm": [[[64, 10], [10, 2048]], [[10, 64], [64, 2048]], [[2048, 64], [64, 512]]],
        "aten::addmm": [[[2048], [64, 512], [512, 2048]], [[10], [64, 2048], [2048, 10]]],
        "aten::clamp_min": [[[64, 2048], []]],
    }
    rows = [re.split(r"\s{2,}", line) for line in shown[4:8]]
    events, at = [], 0.0
    for name, calls, ms, own, *_ in rows:
        each, mine = (float(number) * 1000 / int(calls) for number in (ms, own))
        for n in range(int(calls)):
            kind = "user_annotation" if name.startswith("Optimizer") else "cpu_op"
            shapes = dims.get(name, [[]])
            args = {"Input Dims": shapes[n % len(shapes)]} if kind == "cpu_op" else {}
            timed = {"ph": "X", "pid": 1, "tid": 1, "cat": kind, "name": name, "args": args}
            events.append(timed | {"ts": at, "dur": each})
            inner = {"cat": "cpu_op", "name": "aten::empty", "ts": at + 1, "dur": each - mine}
            events += [timed | inner | {"args": {}}] if each - mine > 1e-3 else []
            at += each + 10
    return events


def test_trace(names, capsys):
    """A constructed trace has the page's calls, shapes and memory: words, FLOPs and columns."""
    shown = sample("trace.json: ")
    events = trace_of(shown)
    first = next(e["ts"] for e in events if e["name"] == "aten::mm")
    last = max(e["ts"] for e in events) + 1e6
    for at, address, mib in (
        (first + 1, 1, 4.08),
        (first + 2, 2, 0.5),
        (last, 1, -4.08),
        (last, 2, -0.5),
    ):
        args = {"Device Type": 0, "Device Id": -1, "Addr": address, "Bytes": int(mib * 2**20)}
        note = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "args": args}
        events.append(note | {"pid": 1, "tid": 1, "ts": at})
    Path("trace.json").write_text(json.dumps({"traceEvents": events}))
    assert [main(names, {}, words) for words in commands("trace") if "--diff" not in words] == [0]
    printed = capsys.readouterr().out.splitlines()
    said = {without_clock(line) for line in printed}
    of_op = {
        " ".join(line.split()[:2]): without_clock(line) for line in printed if "aten::" in line
    }
    for line in shown[4:6]:  # mm and addmm: calls, FLOPs and the first shapes
        name = " ".join(line.split()[:2])
        assert re.sub(r" and \d more$", "", without_clock(line)) in of_op[name]
    known = {without_clock(line) for line in shown if "::" not in line and "ops" not in line}
    assert known - {"…", without_clock(shown[6])} <= said
    assert re.sub(r"\d+", "N", shown[0]) == re.sub(r"\d+", "N", printed[0])


def test_trace_diff(names, capsys):
    events = trace_of(sample("trace.json: "))
    for file in "before.json", "after.json":
        Path(file).write_text(json.dumps({"traceEvents": events}))
    [command] = [words for words in commands("trace") if "--diff" in words]
    assert main(names, {}, command) == 0
    said = capsys.readouterr().out
    verdicts = re.findall(r"^aten::\w+ .+ (\w+)$", said, re.M)
    assert set(verdicts) == {"same", "unclear"} and "Each op gets a verdict of your `gate`" in PAGE


# ── memory, gate, table ──────────────────────────────────────────────────────────────────────


def test_memory(names, capsys):
    step = {"action": "alloc", "addr": 0, "size": 2**20, "stream": 0, "frames": []}
    Path("snapshot.pickle").write_bytes(pickle.dumps({"segments": [], "device_traces": [[step]]}))
    [command] = commands("memory")
    assert main(names, {}, command) == 0
    assert "memory of the card: 1.00 MB at the peak" in capsys.readouterr().out


@pytest.mark.parametrize("strict", [[], ["--strict"]])
def test_gate_ends_as_the_pages_table_says(names, capsys, monkeypatch, strict):
    """With times that a double gives: what the verdict is, is not the machine's to say."""
    [command] = commands("gate")
    rows = re.findall(r"^\| (faster|same|unclear|slower) \| (\d) \| (\d) \|$", PAGE, re.M)
    assert len(rows) == 4
    noise = [0.8, 1.25, 1.0, 0.7, 1.3, 1.1]
    factors = {"faster": [0.5], "same": [1.0], "slower": [2.0], "unclear": noise}
    for verdict, plain, when_strict in rows:
        count = {"n": 0}

        def timed(words, threads, verdict=verdict, count=count):
            count["n"] += 1
            factor = factors[verdict][count["n"] % len(factors[verdict])]
            return (10.0 * (factor if "new.py" in words else 1), 1.0)

        monkeypatch.setattr(compare, "_time_run", timed)
        status = main(names, {}, [*command, *strict])
        assert json.loads(capsys.readouterr().out)["verdict"] == verdict
        assert status == int(when_strict if strict else plain), verdict
    for command in commands("compare"):
        assert main(names, {}, command) == 0


def test_table_knows_the_options_of_the_page(names, capsys):
    """Say that torch is not there, and of the options nothing."""
    asked = commands("table")
    assert len(asked) == 2
    for command in asked:
        assert main(names, {}, command) == 2
        said = capsys.readouterr().err
        assert "table needs torch" in said or "net.py:model cannot be read" in said
