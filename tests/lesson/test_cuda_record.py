"""A record fills on a card, is read from a file elsewhere, and never mixes the two."""

from __future__ import annotations

import datetime
import json
import runpy
import sys

import pytest
from cohort.run import ROOT
from cuda_on_cpu import fake_gpu
from lesson_demos import beside

from proflab.lesson.cuda import Gpu, MissingTool, NoDevice, Record
from proflab.lesson.cuda.device import find_any, find_processor

doubles = beside("10_cuda_roofline", "kernel_doubles")
documents = beside("10_cuda_roofline", "roofline_document")

TODAY = datetime.date(2026, 3, 4)


@pytest.fixture
def constructed(tmp_path):
    path = tmp_path / "constructed.json"
    rows = [doubles.gemm([2.0, 1.0], 8, 8, 8), doubles.gemm([2.0, 1.0], 9, 9, 9)]
    documents.save(doubles.document(gemm=rows), path)
    return path


def nothing_here():
    raise NoDevice("CuPy is not installed")


def here(path):
    return Record(path, form=documents, find=fake_gpu, today=lambda: TODAY)


def one_row(gpu):
    yield gpu.row({"m": 2, "k": 2, "n": 2, "dtype": "float32"}, lambda number: None)


def test_without_a_device_a_cell_says_so_in_one_line_and_the_file_is_used(constructed, capsys):
    record = Record(constructed, form=documents, find=nothing_here)
    record.measure("gemm", one_row)
    whose = "a card that does not exist, constructed: measured by nobody"
    line = f"The 2 gemm rows are those of a document about {whose}.\n"
    assert capsys.readouterr().out == f"No CUDA device: CuPy is not installed. {line}"
    record.measure("gemm", one_row)
    assert capsys.readouterr().out == f"No CUDA device. {line}"
    assert [row["n"] for row in record.rows("gemm")] == [8, 9]
    assert record.title("Roofs") == "Roofs · a card that does not exist, constructed"


def test_nothing_is_looked_for_before_it_is_needed(tmp_path):
    def never():
        raise AssertionError("looked for a device")

    record = Record(tmp_path / "nowhere.json", form=documents, find=never)
    with pytest.raises(ValueError, match="nowhere.json cannot be read"):
        _ = record.document


def test_on_a_card_the_rows_are_measured_and_no_constructed_row_is_left(constructed, capsys):
    record = here(constructed)
    assert record.document["constructed"]  # as long as nothing was measured
    record.measure("gemm", one_row)
    said = "1 gemm rows measured on a processor (its sensors are not read: install nvidia-ml-py).\n"
    assert capsys.readouterr().out == said
    document = record.document
    assert (document["constructed"], document["date"]) == (False, "2026-03-04")
    assert document["card"]["name"] == "a processor" and document["empty_ms"] == 0.002
    assert [row["n"] for row in record.rows("gemm")] == [2]
    assert record.title("Roofs") == "Roofs · a processor, 2026-03-04"
    with pytest.raises(ValueError, match="no stream rows yet: run the device cell"):
        record.rows("stream")
    documents.check(document)


def test_clock_power_and_heat_are_told_where_they_are_known(constructed, capsys):
    def busy():
        gpu = fake_gpu()
        readings = iter([(1500, 60.2, 55), (1300, 69.8, 70)] + [(1400, 65, 60)] * 9)
        gpu.conditions = lambda: dict(
            zip(("sm_mhz", "watts", "celsius"), next(readings), strict=True)
        )
        return gpu

    def two_rows(gpu):
        yield from one_row(gpu)
        yield from one_row(gpu)

    record = Record(constructed, form=documents, find=busy, today=lambda: TODAY)
    record.measure("gemm", two_rows)
    assert "(1300 to 1400 MHz, 65 to 70 W, 60 to 70 °C)" in capsys.readouterr().out


def test_a_missing_library_leaves_its_kind_out_and_says_what_to_install(constructed, capsys):
    def needs_cupy(gpu):
        raise MissingTool("CuPy is not installed: pip install cupy-cuda12x")
        yield

    record = here(constructed)
    record.measure("stream", needs_cupy)
    assert capsys.readouterr().out == (
        "No stream rows: CuPy is not installed: pip install cupy-cuda12x.\n"
    )
    record.measure("gemm", one_row)
    assert list(record.document["rows"]) == ["gemm"]


def test_memory_is_given_back_after_each_kind_also_on_an_error(constructed):
    gpu = fake_gpu()

    def fails(gpu):
        raise RuntimeError("out of memory")
        yield

    record = Record(constructed, form=documents, find=lambda: gpu, today=lambda: TODAY)
    with pytest.raises(RuntimeError, match="out of memory"):
        record.measure("gemm", fails)
    assert gpu.backend.log[-1] == "free"


def test_a_recorded_document_beside_takes_the_constructed_ones_place(constructed, capsys):
    record = here(constructed)
    record.measure("gemm", one_row)
    record.save(constructed.with_name("recorded.json"))
    assert "1 rows of a processor are in" in capsys.readouterr().out
    again = Record(constructed, form=documents, find=nothing_here)
    again.measure("gemm", one_row)
    assert "rows are measured on a processor, 2026-03-04." in capsys.readouterr().out
    assert again.document == record.document


OTHERS = {
    "repository": "https://github.com/someone/benches",
    "commit": "0123abcd",
    "path": "results/gemm.txt",
    "licence": "MIT",
    "date": "2025-02",
    "card": "A100",
}


@pytest.fixture
def of_others(tmp_path):
    path = tmp_path / "measured.json"
    row = {**doubles.gemm([2.0, 1.0], 4, 4, 4), "source": OTHERS}
    unknown = dict.fromkeys(("card", "driver", "cpu", "empty_ms")) | {"constructed": False}
    documents.save(doubles.document(gemm=[row], stream=[]) | unknown, path)
    return path


def test_rows_of_several_documents_keep_their_sources(constructed, of_others, capsys):
    record = Record(of_others, constructed, form=documents, find=nothing_here)
    first, *others = record.rows("gemm")
    assert [row["n"] for row in record.rows("gemm")] == [4, 8, 9]
    assert not record.source(first)["constructed"] and record.source(others[0])["constructed"]
    theirs = "A100, 2025-02, someone/benches@0123abcd (MIT)"
    nobody = "a card that does not exist, constructed"
    assert record.title("Roofs", first) == f"Roofs · {theirs}"
    assert record.title("Roofs", *others) == f"Roofs · {nobody}"
    assert record.title("Roofs") == f"Roofs · {theirs}; {nobody}"
    with pytest.raises(ValueError, match=r"several documents: ask for one row's"):
        _ = record.document
    with pytest.raises(ValueError, match="none of the documents"):
        record.source(dict(first))
    record.measure("gemm", one_row)
    assert "are those of a document about A100" in capsys.readouterr().out


def test_cards_of_one_source_share_it_in_a_title(of_others):
    document = json.loads(of_others.read_text(encoding="utf-8"))
    [row] = document["rows"]["gemm"]
    document["rows"]["gemm"].append({**row, "source": {**OTHERS, "card": "V100"}})
    of_others.write_text(json.dumps(document), encoding="utf-8")
    record = Record(of_others, form=documents)
    theirs = "A100, V100, 2025-02, someone/benches@0123abcd (MIT)"
    assert record.title("Roofs", *record.rows("gemm")) == f"Roofs · {theirs}"


def test_measurements_of_others_may_stay_beside_ones_own(constructed, of_others):
    own = Record(constructed, form=documents, find=fake_gpu, today=lambda: TODAY)
    own.measure("gemm", one_row)
    own.save(constructed.with_name("recorded.json"))
    beside = Record(of_others, form=documents, own=False)
    assert [row["n"] for row in beside.rows("gemm")] == [4]
    assert [row["n"] for row in Record(of_others, form=documents).rows("gemm")] == [2]


def test_a_kind_that_no_document_has_is_said_so(constructed, capsys):
    Record(constructed, form=documents, find=nothing_here).measure("sweep", one_row)
    assert capsys.readouterr().out.endswith("No document here has sweep rows.\n")


def test_on_a_card_none_of_several_documents_is_left(constructed, of_others):
    record = Record(of_others, constructed, form=documents, find=fake_gpu, today=lambda: TODAY)
    record.measure("gemm", one_row)
    assert [row["n"] for row in record.rows("gemm")] == [2]
    assert record.title("Roofs") == "Roofs · a processor, 2026-03-04"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"licence": ""}, r"rows.gemm\[0\]: source: licence must be a text"),
        (None, r"rows.gemm\[0\] needs a source, for card, driver, cpu, empty_ms is null"),
    ],
)
def test_others_rows_must_say_where_they_are_from(of_others, change, sentence):
    document = json.loads(of_others.read_text(encoding="utf-8"))
    [row] = document["rows"]["gemm"]
    row["source"].update(change) if change else row.pop("source")
    with pytest.raises(ValueError, match=sentence):
        documents.check(document)


def test_where_nothing_was_measured_nothing_is_saved(constructed, tmp_path, capsys):
    record = Record(constructed, form=documents, find=nothing_here)
    record.measure("gemm", one_row)
    record.save(tmp_path / "recorded.json")
    assert capsys.readouterr().out.endswith("Nothing was measured here, so nothing is saved.\n")
    assert not (tmp_path / "recorded.json").exists()


# ── the scripts of docs/gpu ──────────────────────────────────────────────────────────────────


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "gpu"))
    monkeypatch.setattr("cuda_on_cpu.compiled", lambda *kernel: lambda *launch: None)
    yield lambda name: runpy.run_path(str(ROOT / "docs" / "gpu" / f"{name}.py"))
    sys.modules.pop("solved", None)


def test_the_constructed_document_is_what_its_script_makes(script):
    made, kept = script("construct")["construct"](), documents.load(script("solved")["CONSTRUCTED"])
    assert same(made, kept)
    assert kept["constructed"] and "No card ran anything" in kept["note"]


def same(a, b) -> bool:
    """Equal, but for the last digits of a float, which depend on the processor."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == pytest.approx(b, rel=1e-4, abs=1e-3) if isinstance(a, float) else a == b


def test_recording_without_a_device_says_why_and_fails(script, tmp_path, capsys):
    assert script("record")["record"](tmp_path / "r.json", nothing_here) == 1
    assert capsys.readouterr().err == "nothing is recorded: CuPy is not installed\n"


@pytest.mark.whole
def test_recording_runs_every_device_cell_and_compares_with_the_data_sheet(
    script, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("PROFLAB_DEMO", "small")

    def find():
        gpu = fake_gpu()
        gpu.card = {**gpu.card, "name": "Tesla T4", "l2_bytes": 2**20}
        return gpu

    record = script("record")["record"]
    small = record.__globals__["measures"]
    workload = lambda gpu: iter([gpu.row({"name": "x", "dtype": "float32"}, id)])  # noqa: E731
    record.__globals__["measures"] = lambda scope, *_: small(scope) | {"workload": workload}
    assert record(tmp_path / "r.json", find) == 0
    document = documents.load(tmp_path / "r.json")
    assert set(document["rows"]) == set(documents.KINDS) - set(documents.COLUMNS)
    assert not document["constructed"]
    out = capsys.readouterr().out
    assert "data sheet   ratio" in out and "dram" in out and "TB/s" in out


def test_recording_does_not_begin_without_what_launches_the_kernels(script, tmp_path, capsys):
    class Bare(Gpu):
        @property
        def cupy(self):
            raise MissingTool("CuPy is not installed: pip install cupy-cuda12x")

    find = lambda: Bare(fake_gpu().backend)  # noqa: E731
    assert script("record")["record"](tmp_path / "r.json", find) == 1
    said = "nothing is recorded: CuPy is not installed: pip install cupy-cuda12x\n"
    assert capsys.readouterr().err == said
    assert not (tmp_path / "r.json").exists()


def test_what_one_cell_fails_to_record_does_not_lose_the_others_rows(script, tmp_path, capsys):
    def fails(gpu):
        yield from one_row(gpu)
        raise MemoryError("80 GB are too many")

    record = script("record")["record"]
    record.__globals__["measures"] = lambda scope, *_: {"gemm": one_row, "workload": fails}
    assert record(tmp_path / "r.json", fake_gpu) == 1
    assert [row["n"] for row in documents.load(tmp_path / "r.json")["rows"]["gemm"]] == [2]
    first, last = capsys.readouterr().err.splitlines()
    assert first == "no workload rows: MemoryError: 80 GB are too many"
    assert last.endswith("r.json is not complete: workload rows are missing")


def test_the_constructed_documents_ratios_are_called_what_they_are(script, capsys):
    scope, path = script("solved")["solved"](), script("solved")["CONSTRUCTED"]
    script("record")["report"](scope, documents.load(path))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("This document is constructed")
    ratios = {line.split()[0]: line.split()[-1] for line in lines[2:] if line[0] in "fd"}
    assert 0.7 < float(ratios["float32"]) < 0.8 and 0.75 < float(ratios["dram"]) < 0.9
    assert "invalid: fresh kernel: first call" in lines


# ── a processor ──────────────────────────────────────────────────────────────────────────────


def on_processor() -> Gpu:
    """Return a processor as `find_processor` does where torch is installed."""
    gpu = fake_gpu()
    gpu.card = {"name": "CPU (Some Processor, 4 threads)"}
    return gpu


def test_on_a_processor_line_title_and_document_say_cpu(tmp_path, capsys):
    path = tmp_path / "cpu.json"
    record = Record(path, form=documents, find=on_processor, processor=True, today=lambda: TODAY)
    record.measure("gemm", one_row)
    said = capsys.readouterr().out
    assert said == "1 gemm rows measured on CPU (Some Processor, 4 threads).\n"
    title = "Roofs · CPU (Some Processor, 4 threads), 2026-03-04"
    assert record.title("Roofs") == title
    record.save(path)
    again = Record(path, form=documents, processor=True, find=nothing_here)
    assert again.title("Roofs") == title and not again.document["constructed"]
    again.measure("gemm", one_row)
    assert "The 1 gemm rows are measured on CPU (Some Processor" in capsys.readouterr().out


def test_what_a_processor_measured_does_not_become_a_cards(tmp_path, constructed, monkeypatch):
    monkeypatch.chdir(constructed.parent)
    anywhere = Record(constructed, form=documents, find=on_processor, processor=True)
    anywhere.measure("gemm", one_row)
    anywhere.save()
    card = Record(constructed, form=documents, find=nothing_here)
    assert [row["n"] for row in card.rows("gemm")] == [8, 9]
    assert card.document["constructed"]
    again = Record(constructed, form=documents, find=nothing_here, processor=True)
    assert [row["n"] for row in again.rows("gemm")] == [2]


def test_a_card_must_still_say_how_large_it_is(constructed):
    document = documents.load(constructed)
    document["card"] = {"name": "Tesla T4"}
    with pytest.raises(ValueError, match="card.multiprocessors must be an int"):
        documents.check(document)
    document["card"] = {"name": "CPU (a, 1 threads)"}
    documents.check(document)


def test_without_torch_a_processor_is_not_measured(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(NoDevice, match="torch, which could measure this processor, is not inst"):
        find_processor()


@pytest.mark.torch
def test_with_torch_and_no_card_the_processor_is_found(capsys):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a card")
    gpu = find_any()
    assert gpu.device == "cpu" and gpu.card["name"].startswith("CPU (")
    assert gpu.torch is torch and gpu.empty_ms() >= 0
