"""The document of measurements: what it must hold, and the sentence for what it must not."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from lesson_demos import beside

from proflab.lesson.cuda.document import text_of
from proflab.lesson.cuda.sheets import DATA_SHEETS, data_sheet, print_ratios

doubles = beside("10_cuda_roofline", "kernel_doubles")
documents = beside("10_cuda_roofline", "roofline_document")


def whole() -> dict:
    """A document with a row of every kind."""
    events, host = doubles.events(2.0, 1.0), [1.5, 1.25]
    curves = {
        kind: [{"points": [[1.0] * len(numbers), [2.0] * len(numbers)]}]
        for kind, numbers in documents.COLUMNS.items()
    }
    return doubles.document(
        **curves,
        stream=[
            doubles.stream([2.0, 1.0], 1000) | {"sm_mhz": 1500, "watts": 50.5, "celsius": None}
        ],
        in_flight=[doubles.stream([2.0, 1.0], 1000) | {"threads": 64}],
        fma=[doubles.fma([2.0, 1.0], 64, 10, 4)],
        sweep=[{"elements": 8, "fmas": 2, "itemsize": 4, "events": events}],
        gemm=[doubles.gemm([2.0, 1.0], 2, 3, 4)],
        workload=[{"name": "softmax", "dtype": "float32", "events": events}],
        copy=[{"bytes": 8, "direction": "to", "pinned": True, "events": events}],
        crossover=[
            {"n": 8, "where": "cpu", "host_ms": host},
            {"n": 8, "where": "gpu", "events": events},
        ],
        launch=[{"launches": 10, "graph": False, "host_ms": host}],
        trial=[doubles.trial("right", host, [2.0, 1.0], 10, 20)],
    )


def test_a_document_with_every_kind_is_accepted_and_comes_back_the_same(tmp_path):
    documents.check(whole())
    documents.save(whole(), tmp_path / "d.json")
    assert documents.load(tmp_path / "d.json") == whole()
    text = (tmp_path / "d.json").read_text()
    assert text == text_of(json.loads(text))
    assert set(whole()["rows"]) == set(documents.KINDS)


def put(*path, value):
    def change(document):
        *way, last = path
        for key in way:
            document = document[key]
        document[last] = value

    return change


def drop(*path):
    def change(document):
        *way, last = path
        for key in way:
            document = document[key]
        del document[last]

    return change


BAD = {
    "constructed is missing": drop("constructed"),
    "constructed must be true or false": put("constructed", value="no"),
    "command must be a text": put("command", value=""),
    "date must be a date as 2026-01-31": put("date", value="yesterday"),
    "driver is missing": drop("driver"),
    "versions must be an object": put("versions", value=[]),
    "empty_ms must be a positive number": put("empty_ms", value=0),
    "card must be an object": put("card", value="T4"),
    "card.l2_bytes must be an int of at least 1": put("card", "l2_bytes", value=4e6),
    "card.multiprocessors must be an int": put("card", "multiprocessors", value=True),
    "card.name must be a text": drop("card", "name"),
    "card.compute_capability must be a pair": put("card", "compute_capability", value=7.5),
    "rows must be an object": put("rows", value=[]),
    "rows.streams is of no known kind": put("rows", "streams", value=[]),
    "rows.gemm must be a list": put("rows", "gemm", value={}),
    "rows.gemm[0] must be an object": put("rows", "gemm", 0, value=3),
    "rows.gemm[0]: k is missing": drop("rows", "gemm", 0, "k"),
    "rows.gemm[0]: m must be an int of at least 1, not 0": put("rows", "gemm", 0, "m", value=0),
    "rows.gemm[0]: dtype must be a text, not None": put("rows", "gemm", 0, "dtype", value=None),
    "rows.stream[0]: reads must be an int of at least 0": put(
        "rows", "stream", 0, "reads", value=-1
    ),
    "rows.copy[0]: pinned must be true or false": put("rows", "copy", 0, "pinned", value=1),
    "rows.fma[0]: events is missing": drop("rows", "fma", 0, "events"),
    "rows.fma[0]: events must be a list of at least two": put("rows", "fma", 0, "events", value=[]),
    "rows.fma[0]: events[1] must be a pair": put("rows", "fma", 0, "events", 1, value=[1.0]),
    "rows.fma[0]: events[0] must be a pair of numbers": put(
        "rows", "fma", 0, "events", 0, value=[0.0, float("nan")]
    ),
    "rows.fma[0]: events[1] ends before": put("rows", "fma", 0, "events", 1, value=[2.0, 1.0]),
    "rows.launch[0]: host_ms is missing": drop("rows", "launch", 0, "host_ms"),
    "rows.crossover[0]: host_ms is missing": drop("rows", "crossover", 0, "host_ms"),
    "rows.launch[0]: host_ms must be a list": put("rows", "launch", 0, "host_ms", value=[]),
    "rows.trial[0]: host_ms must be a list": put("rows", "trial", 0, "host_ms", value=[1.0, 0.0]),
    "rows.in_flight[0]: threads is missing": drop("rows", "in_flight", 0, "threads"),
    "rows.cache[0]: points must be a list": put("rows", "cache", 0, "points", value=[[1.0, 2.0]]),
    "rows.latency[0]: points[1] must be 2 positive numbers": put(
        "rows", "latency", 0, "points", 1, value=[3.0, -1.0]
    ),
    "rows.roofline[0]: points[0] must be 4 positive": put(
        "rows", "roofline", 0, "points", 0, value=[1.0, 2.0]
    ),
    "rows.occupancy[0]: points must rise": put(
        "rows", "occupancy", 0, "points", 0, value=[9.0, 9.0]
    ),
    "rows.stream[0]: watts must be a number": put("rows", "stream", 0, "watts", value="hot"),
    "rows.stream[0]: watts must be a number, ": put(
        "rows", "stream", 0, "watts", value=np.float32(70)
    ),
    "rows.stream[0]: watts must be a number, or null": put(
        "rows", "stream", 0, "watts", value=10**400
    ),
}


@pytest.mark.parametrize("sentence", BAD)
def test_what_is_wrong_is_said_in_one_sentence_that_names_the_place(sentence):
    document = copy.deepcopy(whole())
    BAD[sentence](document)
    with pytest.raises(ValueError) as error:
        documents.check(document)
    assert str(error.value).startswith(sentence) and "\n" not in str(error.value)


@pytest.mark.parametrize("thing", [None, [], 3, "document"])
def test_what_is_no_object_is_no_document(thing):
    with pytest.raises(ValueError, match="a document is a JSON object"):
        documents.check(thing)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ValueError, match="nowhere.json cannot be read: No such file"):
        documents.load(tmp_path / "nowhere.json")
    (tmp_path / "text.json").write_text("a text")
    with pytest.raises(ValueError, match="text.json is not JSON: "):
        documents.load(tmp_path / "text.json")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(ValueError, match="list.json: a document is a JSON object"):
        documents.load(tmp_path / "list.json")


def test_nothing_that_is_no_document_is_saved(tmp_path):
    with pytest.raises(ValueError, match="rows is missing"):
        documents.save({k: v for k, v in whole().items() if k != "rows"}, tmp_path / "d.json")
    assert not (tmp_path / "d.json").exists()


# ── against data sheets ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name, sheet",
    [
        ("Tesla T4", "T4"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB"),
        ("NVIDIA H100 80GB HBM3", "H100 80GB HBM3"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA L40", None),
        ("NVIDIA T400", None),
        ("a card that does not exist", None),
    ],
)
def test_a_card_finds_its_data_sheet_and_no_others(name, sheet):
    assert data_sheet(name) == (DATA_SHEETS[sheet] if sheet else {})


def test_a_t4s_data_sheet_is_what_its_clock_and_bus_give():
    sheet = DATA_SHEETS["T4"]
    assert abs(40 * 64 * 2 * 1.59e9 / sheet["float32"] - 1) < 0.01
    assert sheet["dram"] == 256 // 8 * 10 * 10**9  # 256 bits, 10 Gbit/s a pin


def test_ratios_stand_beside_what_was_promised(capsys):
    roofs = {"flops": {"float32": 6.48e12, "int8": 1e12}, "bandwidth": {"dram": 240e9, "l2": 1e12}}
    document = doubles.document()
    document["card"]["name"] = "Tesla T4"
    print_ratios(document, roofs)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Tesla T4, constructed ")
    assert lines[1].split() == ["float32", "6.48", "TFLOP/s", "8.1", "TFLOP/s", "0.80"]
    assert "says nothing" in lines[2] and lines[-1].endswith("says nothing")
    assert lines[3].split() == ["dram", "0.24", "TB/s", "0.32", "TB/s", "0.75"]


def test_of_an_unknown_card_no_sheet_says_anything(capsys):
    source = {"card": "Voodoo 2", "constructed": False, "date": "2026-01-31"}
    print_ratios(source, {"flops": {"float32": 9e10}, "bandwidth": {"dram": 2e9}})
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("Voodoo 2, 2026-01-31 ")
    assert [line.endswith("says nothing") for line in lines] == [True, True]
