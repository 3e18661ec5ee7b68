"""The description of a machine, as lessons read it."""

import json
import math

import pytest

from proflab.lesson.hardware import (
    Cache,
    Hardware,
    Machine,
    in_bytes,
    read_hardware,
    this_machine,
)


def test_a_machine_is_read_by_its_name(tmp_path):
    path = tmp_path / "machines.json"
    entry = {"peak_flops": 3e14, "bandwidth": 2e12, "source": "data sheet"}
    path.write_text(json.dumps({"A": entry}))
    assert read_hardware(path, "A") == Hardware(3e14, 2e12, "A", "data sheet")
    with pytest.raises(ValueError, match="does not describe 'B'"):
        read_hardware(path, "B")
    with pytest.raises(ValueError, match="nowhere.json cannot be read"):
        read_hardware(tmp_path / "nowhere.json", "A")
    path.write_text("{")
    with pytest.raises(ValueError, match="cannot be read as JSON"):
        read_hardware(path, "A")
    path.write_text(json.dumps({"A": {"peak_flops": 1}}))
    with pytest.raises(ValueError, match="by peak_flops, bandwidth and source: 'bandwidth'"):
        read_hardware(path, "A")
    path.write_text(json.dumps({"A": {**entry, "bandwidth": "2 TB/s"}}))
    with pytest.raises(ValueError, match="A: bandwidth must be positive and finite, not 2 TB/s"):
        read_hardware(path, "A")
    path.write_text("[1, 2]")
    with pytest.raises(ValueError, match="does not describe 'A' by peak_flops"):
        read_hardware(path, "A")


@pytest.mark.parametrize("roofs", [(0, 1), (1, -1), (math.inf, 1), (1, math.nan), (None, 1)])
def test_roofs_are_positive_and_finite(roofs):
    with pytest.raises(ValueError, match="must be positive and finite"):
        Hardware(*roofs)


# ── what a machine says of itself ────────────────────────────────────────────────────────────


def tree(folder, files):
    """A system's files, as {path: text}, in a folder."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")
    return folder


CACHES = "devices/system/cpu/cpu0/cache"
FOUR_LEVELS = {
    f"{CACHES}/index{i}/{key}": text
    for i, values in enumerate(
        [
            ("1", "Data", "48K", "0,16"),
            ("1", "Instruction", "32K", "0,16"),
            ("3", "Unified", "30M", "0-15,32-47"),
            ("2", "Unified", "2048K", "0"),
        ]
    )
    for key, text in zip(("level", "type", "size", "shared_cpu_list"), values, strict=True)
}


def test_caches_for_data_come_nearest_first(tmp_path):
    found = this_machine(tree(tmp_path, FOUR_LEVELS), tmp_path).caches
    assert found == (Cache(1, 48 * 1024, 2), Cache(2, 2**21, 1), Cache(3, 30 * 2**20, 32))


@pytest.mark.parametrize(
    "broken",
    [{"size": "big"}, {"size": ""}, {"level": "L1"}, {"type": "Instruction"}],
)
def test_a_cache_that_is_not_understood_is_left_out(tmp_path, broken):
    first = {"level": "1", "type": "Data", "size": "32K"} | broken
    files = {f"{CACHES}/index0/{key}": text for key, text in first.items()}
    assert this_machine(tree(tmp_path, files), tmp_path).caches == ()


def test_who_shares_a_cache_may_be_unknown(tmp_path):
    one = {"level": "2", "type": "Unified", "size": "512"}
    files = {f"{CACHES}/index0/{key}": text for key, text in one.items()}
    assert this_machine(tree(tmp_path, files), tmp_path).caches == (Cache(2, 512, None),)
    tree(tmp_path, {f"{CACHES}/index0/shared_cpu_list": "all of them"})
    assert this_machine(tmp_path, tmp_path).caches == (Cache(2, 512, None),)


def test_clock_name_and_load_are_read(tmp_path):
    files = {
        "cpuinfo": "processor\t: 0\nmodel name\t: A Fine One @ 2 GHz\ncpu MHz\t\t: 2596.128",
        "loadavg": "1.25 0.81 0.55 3/114 23245",
    }
    machine = this_machine(tmp_path / "sys", tree(tmp_path, files))
    assert (machine.name, machine.clock_mhz, machine.load) == ("A Fine One @ 2 GHz", 2596.128, 1.25)
    tree(tmp_path, {"devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "3100000"})
    assert this_machine(tmp_path, tmp_path).clock_mhz == 3100


@pytest.mark.parametrize(
    "files, limit",
    [
        ({"fs/cgroup/cpu.max": "150000 100000"}, 1.5),
        ({"fs/cgroup/cpu.max": "max 100000"}, None),
        ({"fs/cgroup/cpu.max": "50000"}, None),
        ({}, None),
    ],
)
def test_a_containers_limit_is_known_where_one_is_set(tmp_path, files, limit):
    assert this_machine(tree(tmp_path, files), tmp_path).limit == limit


def test_what_is_not_known_is_none_and_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.processor", lambda: "")
    monkeypatch.setattr("proflab.lesson.hardware._clock_by_psutil", lambda: None)
    monkeypatch.setattr("proflab.lesson.hardware.blas_name", lambda: None)
    monkeypatch.setattr("proflab.lesson.hardware.blas_threads", lambda: None)
    machine = this_machine(tmp_path, tmp_path)
    assert machine == Machine(processors=machine.processors)
    assert "clock now unknown, load unknown" in machine.sentences()
    assert "data caches: unknown" in machine.sentences()
    assert "library unknown, threads unknown" in machine.sentences()


def test_psutil_is_asked_for_the_clock_only_where_the_system_is_silent(tmp_path, monkeypatch):
    import psutil

    monkeypatch.setattr(psutil, "cpu_freq", lambda: type("F", (), {"current": 1800.0})())
    assert this_machine(tmp_path, tmp_path).clock_mhz == 1800
    monkeypatch.setattr(psutil, "cpu_freq", lambda: None)
    assert this_machine(tmp_path, tmp_path).clock_mhz is None


def test_this_machine_is_described_in_three_lines():
    lines = this_machine().sentences().splitlines()
    assert len(lines) == 3 and "processors" in lines[0]
    caches = (Cache(1, 2**15, 1), Cache(3, 3 * 2**19, 8))
    said = Machine("X", 8, 1.5, caches, 2500.4, 0.5, "OpenBLAS 1.2.3 (Zen)", 4).sentences()
    assert said == (
        "X: 8 processors, of which a container may use 1.5, clock now 2,500 MHz, load 0.50\n"
        "data caches: L1 32 KB, L3 1.5 MB for 8 processors\n"
        "matrix products: OpenBLAS 1.2.3 (Zen), threads 4"
    )


@pytest.mark.parametrize(
    "size, text",
    [(512, "512 bytes"), (1024, "1 KB"), (1536, "1.5 KB"), (2**20, "1 MB"), (3 * 2**31, "6 GB")],
)
def test_bytes_are_said_in_units_of_1024(size, text):
    assert in_bytes(size) == text
