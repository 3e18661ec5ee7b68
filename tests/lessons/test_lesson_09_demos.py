"""What lesson 09 trains and its demo cells run: images, the slow step, loaders, formats, fixes."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import struct
import subprocess
import sys
import time
import zipfile
import zlib

import numpy as np
import pytest
from cohort.run import ROOT, solved
from lesson_09_counts import count_steps
from lesson_cells import lesson_text
from lesson_demos import demos_of, module_at

from proflab import Tensor
from proflab.lesson.digits import DATA
from proflab.lesson.race.plans import RULES, WORKLOADS

SIZE = 6  # images in a batch whose steps are counted


@pytest.fixture(scope="module")
def demos():
    return demos_of("09_optimization")


@pytest.fixture(scope="module")
def scope():
    return solved("lesson_09").scope


@pytest.fixture(scope="module")
def script(demos):
    return sys.modules["slow_training"]


@pytest.fixture(scope="module")
def half_bits(script):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(script.ARCHIVE.parent))
        return importlib.import_module("half_bits")


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setenv("PROFLAB_DEMO", "small")


def packing():
    """The script that wrote the archive, as a module."""
    return module_at(ROOT / "docs" / "digits" / "pack.py")


# ── the images ───────────────────────────────────────────────────────────────────────────────


def png(rows: list[tuple[int, bytes]], width: int) -> bytes:
    """A PNG file in shades of grey, of rows as they are stored, and the filter of each."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    packed = zlib.compress(b"".join(bytes([kind]) + row for kind, row in rows))
    header = struct.pack(">IIBBBBB", width, len(rows), 8, 0, 0, 0, 0)
    halves = chunk(b"IDAT", packed[:20]), chunk(b"IDAT", packed[20:])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(halves) + chunk(b"IEND", b"")


def test_the_archive_is_what_the_script_writes(tmp_path, script):
    pytest.importorskip("PIL")
    packing().main(tmp_path / "digits.zip")
    with zipfile.ZipFile(tmp_path / "digits.zip") as new, zipfile.ZipFile(script.ARCHIVE) as old:
        assert new.namelist() == old.namelist()
        decoded = [script.decode(archive.read(new.namelist()[7])) for archive in (new, old)]
    assert (decoded[0] == decoded[1]).all()


def test_the_images_are_lesson_08s(script):
    images = script.Images()
    with np.load(DATA) as data:
        pixels, labels = data["images"].reshape(-1, 8, 8), data["labels"]
    assert len(images.names) == len(pixels) == 360
    assert [images.label(name) for name in images.names] == labels.tolist()
    for at in range(0, 360, 40):
        found = images.read(images.names[at])
        assert found.dtype == np.uint8 and (found[::4, ::4] == pixels[at] * 15).all()
        assert (found == found[::4, ::4].repeat(4, 0).repeat(4, 1)).all()
    assert [name for name, _ in images.reads] == images.names[::40]
    assert script.ARCHIVE.stat().st_size < 110_000


def test_every_filter_of_png_is_decoded(script):
    """Against Pillow, for rows of random bytes under each of the five filters."""
    image = pytest.importorskip("PIL.Image")
    import io

    rng = np.random.default_rng(0)
    for first in range(5):
        rows = [((first + at) % 5, rng.bytes(9)) for at in range(11)]
        content = png(rows, width=9)
        assert (script.decode(content) == np.array(image.open(io.BytesIO(content)))).all()


def test_tokens_are_the_same_one_by_one_and_together(script):
    images = script.Images()
    names = images.names[:5]
    together = images.tokens(Tensor(np.stack([images.read(name) for name in names])))
    one_by_one = script.load(images, names)
    assert together.shape == one_by_one.shape == (5, 64, 1)
    assert together.dtype == one_by_one.dtype == np.float32
    assert (together.numpy() == one_by_one.numpy()).all()
    every = images.tokens(Tensor(np.stack([images.read(name) for name in images.names]))).numpy()
    assert abs(every.mean()) < 0.01 and abs(every.std() - 1) < 0.01


# ── the slow step ────────────────────────────────────────────────────────────────────────────


def test_batches_hold_each_image_at_most_once(script):
    names = [str(number) for number in range(100)]
    first, again, other = (list(script.batches(names, 32, seed)) for seed in (1, 1, 2))
    assert [len(batch) for batch in first] == [32] * 3 and first == again != other
    assert len({name for batch in first for name in batch}) == 96


def test_the_script_learns_to_read(script, scope):
    means = script.train(scope["fixed_step"], epochs=4)
    assert means[0] < 2.5 and means == sorted(means, reverse=True) and means[-1] < 1


def test_the_slow_attention_is_attention(script):
    from proflab.nn import functional as F

    q, k, v = (Tensor(x) for x in np.random.default_rng(1).normal(size=(3, 2, 4, 16, 8)))
    q, k, v = (x.to(np.float32) for x in (q, k, v))
    plain = F.scaled_dot_product_attention(q, k, v)
    assert np.abs(script.attend(q, k, v).numpy() - plain.numpy()).max() < 1e-6


@pytest.fixture(scope="module")
def counted(demos, scope):
    """What is counted of a step with some of the faults."""
    ways = {"none": (), "loading": ("loading",), "attention": ("attention",), "losses": ("losses",)}
    tools = scope["rows_of"], scope["find_leak"]
    steps = {name: demos.with_faults(scope["fixed_step"], put) for name, put in ways.items()}
    return {
        name: count_steps(step, *tools, size=SIZE)
        for name, step in {**steps, "slow": scope["slow_step"]}.items()
    }


@pytest.mark.whole
def test_the_loss_is_the_same_with_and_without_faults(counted):
    for found in counted.values():
        assert found["losses"] == pytest.approx(counted["slow"]["losses"], abs=1e-5)
        assert found["noted"] == pytest.approx(found["losses"])


def test_the_fixed_step_learns_what_the_slow_one_does(demos, scope):
    assert demos.largest_difference(scope["fixed_step"]) < 1e-5


@pytest.mark.whole
def test_each_fault_alone_is_seen(counted):
    clean = counted["none"]
    assert (clean["float64"], clean["read_again"], clean["grows_in"]) == (0, 0, None)
    slow = counted["slow"]
    assert slow["ops"] > 1.8 * clean["ops"] and slow["bytes"] > 5 * clean["bytes"]
    assert counted["loading"]["read_again"] >= slow["read_again"] == 3 * SIZE
    assert counted["loading"]["ops"] > clean["ops"] + 4 * SIZE
    assert counted["attention"]["float64"] > 0 and counted["attention"]["bytes"] > slow["bytes"] / 2
    assert counted["losses"]["grows_in"] is not None and slow["grows_in"] == "attend"
    assert counted["losses"]["ops"] == clean["ops"] and counted["losses"]["bytes"] == clean["bytes"]


@pytest.mark.whole
def test_fixes_are_timed_in_pairs(demos, scope):
    rows = demos.time_fixes(scope["fixed_step"], 6, scope["run_order"], scope["speedup_interval"])
    assert [row["name"] for row in rows] == list(demos.WAYS)
    assert all(0 < row["low"] <= row["speedup"] <= row["high"] for row in rows)
    picture = demos.waterfall(rows, "Fixes")
    assert "all three" in picture.alt and picture.png().startswith(b"\x89PNG")


@pytest.mark.whole
def test_fixes_are_timed_where_a_clock_moves_every_16_ms(demos, scope):
    """As time.process_time does on Windows: many a step would take no time at all."""
    coarse = lambda: time.perf_counter() // 0.016 * 0.016  # noqa: E731
    by = scope["run_order"], scope["speedup_interval"]
    rows = demos.time_fixes(scope["fixed_step"], 6, *by, clock=coarse)
    assert all(0 < row["low"] <= row["speedup"] <= row["high"] for row in rows)


def test_the_picture_shows_what_was_measured(demos):
    """A record of many rounds on one machine: with all three fixes at least 2.5 times as fast."""
    record = json.loads((ROOT / "docs" / "pictures" / "lesson_09.json").read_text("utf-8"))
    rows = {row["name"]: row for row in record["rows"]}
    assert list(rows) == list(demos.WAYS)
    assert rows["all three"]["low"] > 2.5
    assert all(rows[fix]["speedup"] > 1 for fix in ("loading", "attention", "losses"))
    text = lesson_text(ROOT / "modules" / "09_optimization" / "09_optimization.py")
    now = {name: f"{row['speedup']:.2f}×" for name, row in rows.items()}
    both = now["loading, attention"]
    assert f"from {both} to {now['all three']}" in text
    alone = f"loading alone gives {now['loading']}, attention alone {now['attention']}, and both"
    assert f"On the cover, {alone} {both}" in text


def test_the_cover_says_on_which_machine_and_at_which_load_it_was_measured():
    picture = module_at(ROOT / "docs" / "pictures" / "lesson_09.py")
    record = json.loads(picture.RECORD.read_text("utf-8"))
    said = picture.caption(record)
    assert record["machine"].partition(":")[0] in said and said in picture.waterfall().alt
    load = float(re.search(r"load (\d+\.\d\d)$", said).group(1))
    assert load == round(record["load"], 2) <= picture.QUIET_LOAD
    quiet = record | {"load": 0.123}
    assert picture.caption(quiet).endswith(", load 0.12")


def test_the_cover_is_not_measured_on_a_busy_machine(monkeypatch):
    picture = module_at(ROOT / "docs" / "pictures" / "lesson_09.py")
    monkeypatch.setattr(picture, "load_and_processors", lambda: (0.51, 2))
    monkeypatch.setattr(picture, "solved", lambda lesson: pytest.fail("it measures"))
    with pytest.raises(SystemExit, match="measure when it is below 0.5"):
        picture.measure()


def test_a_row_of_diagnose_has_an_interval_over_the_runs(demos, scope):
    """Three runs of 4, 5 and 8 ms beside 4 ms that stay: the share is the median's, 5/9."""
    runs = [
        [dict(_ROW, op="region", module="loading", self_ms=ms), dict(_ROW, self_ms=4.0)]
        for ms in (5.0, 4.0, 8.0)
    ]
    found = demos.diagnosed(scope["diagnose"], runs, demos.Hardware(1e9, 1e9))
    loading = next(row for row in found if row["name"] == "loading")
    assert (loading["share"], loading["share"].low) == (5 / 9, 4 / 8)
    assert (loading["best"].low, loading["best"].high) == (8 / 4, 12 / 4)


_ROW = {
    "op": "relu",
    "phase": "forward",
    "module": "m",
    "matmul_flops": 0,
    "elementwise_flops": 0,
    "bytes_read": 0,
    "bytes_written": 0,
}


# ── loaders ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers, prefetch", [(1, 1), (2, 2), (3, 1)])
def test_workers_load_their_batches_in_order_and_not_too_early(demos, workers, prefetch):
    found = demos.run_loader(workers, 1.0, 9, kind="zlib", prefetch=prefetch)
    spans = {(lane.split()[0], at): span for lane, at, *span in found["spans"]}
    lanes = {at: lane for lane, at, *_ in found["spans"] if lane.startswith("worker")}
    assert lanes == {at: f"worker {at % workers}" for at in range(9)}
    for at in range(9):
        assert spans["worker", at][1] <= spans["step", at][0]
        if at >= workers:
            assert spans["worker", at][0] >= spans["worker", at - workers][1]
        if at >= workers * prefetch:
            assert spans["worker", at][0] >= spans["wait", at - workers * prefetch][1]
        if at:
            assert spans["step", at][0] >= spans["step", at - 1][1]
    assert 0 <= found["wait_ms"] < found["total_ms"]


def test_without_workers_the_main_program_loads(demos):
    found = demos.run_loader(0, 1.0, 3, kind="png")
    assert [span[:2] for span in found["spans"]] == [
        (lane, at) for at in range(3) for lane in ("wait", "step")
    ]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no thread")
def test_two_threads_are_pinned_to_one_processor_and_set_free_again(demos, capsys, monkeypatch):
    where, free = [], os.sched_getaffinity(0)
    seen = lambda at: where.append(os.sched_getaffinity(0))  # noqa: E731
    monkeypatch.setattr(demos, "_loading", lambda kind, count: seen)
    demos.tell_on_one_processor(0.01, 4)
    assert where and all(len(processors) == 1 for processors in where)
    assert os.sched_getaffinity(0) == free and "pinned to one processor" in capsys.readouterr().out


def test_a_system_that_pins_no_thread_says_so(demos, capsys, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    demos.tell_on_one_processor(0.01, 4)
    assert capsys.readouterr().out.endswith("this system pins no thread\n")


def test_loading_takes_time(demos):
    for kind in ("png", "zlib"):
        times = demos.load_times(3, kind)
        assert len(times) == 3 and min(times) > 0


def test_the_timeline_names_what_it_shows(demos):
    spans = [
        ("worker 0", 0, 0, 30),
        ("worker 1", 1, 0, 35),
        ("wait", 0, 0, 30),
        ("step", 0, 30, 40),
    ]
    picture = demos.timeline(spans, "Two workers")
    assert "2 workers; the main program waits 30 of 40 ms" in picture.alt
    labels = [label.get_text() for label in picture.figure.axes[0].get_yticklabels()]
    assert labels == ["worker 0", "worker 1", "main program"] and picture.png()


# ── formats, pieces, roofs ───────────────────────────────────────────────────────────────────


def test_formats_are_written_read_and_removed(demos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = demos.formats(20)
    assert [row["format"] for row in rows][:4] == list(demos.FORMATS) and os.listdir() == []
    for row in rows:
        assert row["warm_ms"] > 0 and row["one_ms"] > 0 and row["mb"] > 0
        assert row["cold_ms"] is None or row["cold_ms"] > 0
    mb = {row["format"]: row["mb"] for row in rows}
    assert mb["compressed"] < mb["one array"] < mb["a file each"]
    assert ("a file each, tmpfs" in mb) == os.access(demos.TMPFS, os.W_OK)
    assert ("HDF5" in mb) == bool(importlib.util.find_spec("h5py"))


def test_each_format_gives_the_images_back(demos, tmp_path):
    pixels = np.random.default_rng(2).integers(0, 240, (6, 32, 32), np.uint8)
    for name, way in demos.FORMATS.items():
        (tmp_path / name).mkdir()
        _, whole, one = way(tmp_path / name, pixels)
        assert (one(4) == pixels[4]).all()
        if name == "memory-mapped":
            assert whole() == pixels.sum()
        else:
            assert (np.stack(list(whole())) == pixels).all()


def test_cold_is_not_told_where_the_system_cannot(demos, tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(b"x" * 5000)
    monkeypatch.delattr(os, "posix_fadvise", raising=False)
    assert demos._forgotten([path]) is False


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="only Linux tells what is in memory")
def test_cold_is_not_told_where_pages_stay(demos, tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(b"x" * 5000)
    monkeypatch.setattr(os, "preadv", lambda *given: 64)
    assert demos._forgotten([path]) is False


def test_a_chain_in_pieces_has_a_time_for_each(demos, small):
    times = demos.in_blocks([None, 4096])
    assert list(times) == [None, 4096] and min(times.values()) > 0


def test_roofs_are_measured(demos, small):
    found = demos.roofs()
    assert found.peak_flops > 1e8 and found.bandwidth > 1e8


# ── half the bits ────────────────────────────────────────────────────────────────────────────


@pytest.mark.whole
def test_a_scaled_loss_trains_in_float16_and_another_does_not(half_bits, scope):
    found = half_bits.half_training(scope["half_gradients"], scope["scale_after"], steps=70)
    plain, half, scaled, unskipped = found.values()
    assert list(found) == ["float32", "float16", "float16, scaled", "no step skipped"]
    assert len(plain) == len(half) == len(scaled) == 70
    assert half[60] > 2.2 > 2.0 > max(scaled[60], plain[60])
    assert unskipped == scaled[: len(unskipped)] and len(unskipped) < 70


def test_the_training_asks_the_students_functions(half_bits):
    asked = []

    def gradients(given, scale):
        asked.append(scale)
        return None if len(asked) < 30 else given

    def scales(overflows, interval):
        return [2.0**16 / 2 ** sum(overflows)] * bool(overflows)

    found = half_bits.half_training(gradients, scales, steps=3)
    assert asked[0] == 1.0 and len(set(found["float16"])) == 1  # every step was skipped
    assert set(asked) >= {1.0, 2.0**16}


def test_an_epoch_by_a_plan_is_what_the_race_counts(demos):
    loads, rng = WORKLOADS["images48"], np.random.default_rng(2)
    for workers, room in ((1, 3), (3, 4), (4, 8)):
        plan = rng.integers(0, workers, len(loads)).tolist()
        spans = demos.planned(plan, loads, room, 9)
        end = RULES["loader"].simulate(plan, loads, workers, room, 9).cost
        assert spans[-1][3] == end and {span[1] for span in spans} == set(range(len(loads)))


# ── ops that float16 cannot hold, options of loaders ─────────────────────────────────────────


def test_each_cure_needs_no_op_in_float32_and_gives_the_loss(demos, scope):
    found = {}
    for name, (ops, x) in demos.losses(demos.digit_images()).items():
        half, single = (demos.run_in(kind, ops, x) for kind in (np.float16, np.float32))
        found[name] = [op for op, _ in scope["single_ops"](ops, x)]
        assert np.isfinite(single)
        assert np.isfinite(half) == (not found[name])
        if not found[name]:
            assert half == pytest.approx(single, rel=0.01)
    assert found == {
        "squared error, colours to 255": ["sum", "mean"],
        "the same, colours to 1": [],
        "log of the sum of exp": ["exp", "sum", "log"],
        "the same, less the largest": [],
    }


@pytest.mark.parametrize("kept, begun", [(False, 6), (True, 2)])
def test_worker_processes_begin_anew_or_stay(demos, monkeypatch, kept, begun):
    """Count the processes that begin: a reader sees them as time."""
    started = []

    class Counted(subprocess.Popen):
        def __init__(self, *words, **options):
            super().__init__(*words, **options)
            started.append(self)

    monkeypatch.setattr(demos.subprocess, "Popen", Counted)
    times, sums = demos.worker_epochs(kept)
    assert len(times) == 3 and sums == {48 * 28 * 28.0}  # each image once an epoch
    assert len(started) == begun and {process.returncode for process in started} == {0}


def test_without_processes_the_table_of_loaders_stays(demos, monkeypatch):
    monkeypatch.setattr(demos.machine, "can", lambda what: False)
    path = ROOT / "modules" / "09_optimization" / "loaders.json"
    *table, head, line = demos.loaders(str(path))
    assert len(table) > 10 and line == "    this Python starts no process"


def test_each_option_of_a_loader_says_who_measured_it(demos):
    path = ROOT / "modules" / "09_optimization" / "loaders.json"
    rows = json.loads(path.read_text("utf-8"))
    assert all(row["changes"] and row["measured"] and row["licence"] for row in rows)
    assert all(re.search(r"\d{4}", row["by"]) for row in rows)  # when
    assert all(row["link"] or row["by"].startswith("this course") for row in rows)
    told = "\n".join(demos.loaders(str(path)))
    assert all(word in told for word in ("persistent_workers", "DALI", "Kornia", "HDF5"))
