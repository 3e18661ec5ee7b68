"""`--record`: a benchmark's output becomes a record, as it was printed, with date and machine."""

import json
import re
import sys
from datetime import date

import pytest
from imports import ROOT

BENCHMARKS = sorted((ROOT / "benchmarks").glob("bench_*.py"))
KEYS = {"title", "about", "date", "machine", "load", "command", "table"}


@pytest.fixture
def record(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import record

    return record


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "bench_thing.py"
    path.write_text('"""Measure a thing.\n\n    python bench_thing.py\n\nTwice.\n"""\n')
    return str(path)


def test_what_is_printed_is_recorded(record, script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, "--quick", "--record"])
    with record.recording(script, "A thing", tmp_path):
        assert sys.argv == [script, "--quick"]
        print("one  1\ntwo  2")
    made = json.loads((tmp_path / "thing.json").read_text())
    assert made.keys() == KEYS
    assert made["title"] == "A thing" and made["about"] == "Measure a thing.\n\nTwice."
    assert made["command"] == "python benchmarks/bench_thing.py --quick"
    assert made["table"] == "one  1\ntwo  2"
    assert date.fromisoformat(made["date"]) and "processors" in made["machine"]
    assert capsys.readouterr().out.startswith("one  1\ntwo  2\n")


def test_nothing_is_recorded_unless_asked(record, script, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", [script])
    with record.recording(script, "A thing", tmp_path):
        print("one  1")
    assert not list(tmp_path.glob("*.json"))


def test_a_benchmark_that_fails_leaves_the_former_record(record, script, tmp_path, monkeypatch):
    (tmp_path / "thing.json").write_text("former")
    monkeypatch.setattr(sys, "argv", [script, "--record"])
    with pytest.raises(SystemExit), record.recording(script, "A thing", tmp_path):
        sys.exit("no compiler")
    assert (tmp_path / "thing.json").read_text() == "former"


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_every_benchmark_can_be_recorded(path):
    text = path.read_text()
    assert re.search(r'__main__":\n    with recording\(__file__, "[A-Z]', text)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs/figures").glob("*.json")), ids=lambda p: p.stem
)
def test_a_record_is_of_a_benchmark_and_whole(path):
    made = json.loads(path.read_text())
    assert made.keys() == KEYS and all(made.values())
    assert ROOT / "benchmarks" / f"bench_{path.stem}.py" in BENCHMARKS
    assert made["command"].startswith(f"python benchmarks/bench_{path.stem}.py")
