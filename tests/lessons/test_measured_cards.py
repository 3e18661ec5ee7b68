"""Published microbenchmarks of real cards, as docs/gpu/reduce_benches.py reduced them."""

import importlib
import os
import sys
from pathlib import Path

import pytest
from cohort.run import ROOT
from lesson_demos import beside

from proflab.lesson import cuda

FORM = beside("10_cuda_roofline", "roofline_document")
CARDS = ROOT / "modules" / "10_cuda_roofline" / "cards.json"
GPU = ROOT / "docs" / "gpu"
ORIGINALS = os.environ.get("PROFLAB_GPU_TRACES")  # a folder with the original files


@pytest.fixture(scope="module")
def script():
    """The script that made the document, as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(GPU))
        yield importlib.import_module("reduce_benches")
        sys.modules.pop("reduce_benches", None)


@pytest.fixture(scope="module")
def record():
    """The document, as the lesson reads it."""
    return cuda.Record(CARDS, form=FORM, own=False)


@pytest.fixture(scope="module")
def cards(record):
    """kind → card → points."""
    rows = record.document["rows"]
    return {k: {record.source(row)["card"]: row["points"] for row in rows[k]} for k in rows}


def test_the_document_is_small_and_each_row_says_where_it_is_from(record):
    assert CARDS.stat().st_size < 60_000
    for kind, rows in record.document["rows"].items():
        assert len({row["source"]["card"] for row in rows}) == len(rows), kind
        for row in rows:
            source = row["source"]
            assert source["path"].startswith("gpu-") and source["licence"] == "GPL-3.0"
            title = record.title("It", row)
            said = f"{source['card']}, 2025-02, RRZE-HPC/gpu-benches@1038c5d0 (GPL-3.0)"
            assert title == f"It · {said}"


def test_measured_roofs_lie_below_the_data_sheet(cards):
    from proflab.lesson.cuda.sheets import DATA_SHEETS

    for card, of_bandwidth, of_flops in (("A100-SXM4-40GB", 0.88, 0.97), ("H200", 0.79, 0.64)):
        sheet, rows = DATA_SHEETS[card], cards["roofline"][card]
        assert max(row[1] for row in rows) * 1e9 / sheet["dram"] == pytest.approx(
            of_bandwidth, abs=0.005
        )
        assert max(row[2] for row in rows) * 1e9 / sheet["float32"] == pytest.approx(
            of_flops, abs=0.015
        )


def test_the_knee_of_a_roofline_is_round_and_needs_most_power(cards):
    rows = cards["roofline"]["A100-SXM4-40GB"]
    [knee] = [row for row in rows if row[0] == 14.25]
    assert round(knee[2], -2) == 16_400 and knee[2] < 0.87 * max(row[2] for row in rows)
    most = max(rows, key=lambda row: row[3])
    assert 10 < most[0] < 15 and most[3] > rows[0][3] + 50 and most[3] > rows[-1][3] + 100
    for per_byte, rate, flops, _ in rows:
        assert flops == pytest.approx(per_byte * rate, rel=0.02)


def test_bandwidth_grows_with_the_threads_in_flight(cards):
    for rows in cards["occupancy"].values():
        assert [row[0] for row in rows] == sorted(row[0] for row in rows)
        assert rows[0][1] < 0.15 * rows[-1][1]


def test_caches_are_steps(cards):
    for card, largest in (("V100", 6e3), ("A100-SXM4-80GB", 40e3)):
        rows = cards["cache"][card]
        within = max(rate for size, rate in rows if size < 100)
        beyond = min(rate for size, rate in rows if size > 0.5 * largest)
        assert within > 3 * beyond
    first, *_, last = cards["latency"]["A100-SXM4-80GB"]
    assert (first[1], last[1]) == (33.0, 552.6)


def test_a_graph_halves_what_a_launch_costs(cards):
    for card in ("A100-SXM4-80GB", "H200"):
        alone, in_graph = cards["one by one"][card][0], cards["in a graph"][card][0]
        assert alone[0] == in_graph[0] == 65_536
        assert 1.8 < alone[1] / in_graph[1] < 2.1


def test_a_changed_or_missing_table_is_refused(script, tmp_path):
    _, _, table, digits = script.TABLES[0]
    with pytest.raises(SystemExit, match="it is in https://github.com/RRZE-HPC/gpu-benches"):
        script.read(tmp_path, table, digits)
    (tmp_path / f"benches_{table}").write_text("0 blocks")
    with pytest.raises(SystemExit, match="is another file than the one that was reduced"):
        script.read(tmp_path, table, digits)


def test_the_forms_of_the_tables(script):
    two = "0 8 blocks 0 its 0.250 Fl/B 100 GB/s 25 GF/s 1410 Mhz 200 W 40°C\n"
    two += "1 8 blocks 0 its 0.250 Fl/B 104 GB/s 27 GF/s 1410 Mhz 210 W 40°C\n7\n"
    assert script.roofline(two) == [[0.25, 102.0, 26.0, 205.0]]
    assert script.occupancy("  16  1728  0.8 %  |  GB/s:  54  20  39  55  37  37\nblock\n") == [
        [0.8, 55]
    ]
    assert script.cache("  512 kB  1536 kB  4ms  1.0%  13526.6 GB/s  0 GB/s\n") == [[1536, 13526.6]]
    assert script.latency("clock: 1 2\n  1000 1410 2.2 23.4 33.1 33.0 33.2\n") == [[2.2, 33.2]]
    whole = "1:4096  64kB  26  32\n"
    assert script.launches(whole) == [[65_536, 2.048]]
    assert script.launches(whole + "8192  128kB  26") == [[65_536, 2.048]]  # cut off


@pytest.mark.skipif(not ORIGINALS, reason="PROFLAB_GPU_TRACES names no folder of originals")
def test_the_originals_reduce_to_the_document(script):
    assert script.document(Path(ORIGINALS)) == FORM.load(CARDS)
