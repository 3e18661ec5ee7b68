"""The measuring loops on a scripted device: what is queued, in which order, by whose clock."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest
from cuda_on_cpu import CARD, FakeBackend, fake_gpu

from proflab.lesson.cuda import Gpu, MissingTool, NoDevice
from proflab.lesson.cuda import device as devices


@pytest.fixture
def backend():
    return FakeBackend()


@pytest.fixture
def gpu(backend):
    return Gpu(backend, clock=backend.clock)


def lengths(row: dict) -> list[float]:
    return [round(end - start, 5) for start, end in row["events"]]


def test_events_show_what_each_launch_took(gpu, backend):
    row = gpu.row({"name": "x"}, lambda number: backend.work([3, 1, 2][number]), repeats=3)
    assert row["name"] == "x"
    assert lengths(row) == [3.002, 1.002, 2.002]
    starts = [start for start, _ in row["events"]]
    assert starts == sorted(starts) and starts[0] >= 0


def test_a_launch_is_told_its_number_so_that_its_inputs_can_be_fresh(gpu):
    seen = []
    gpu.row({}, seen.append, repeats=4)
    assert seen == [0, 1, 2, 3]


def test_the_cache_is_flushed_before_each_launch_and_outside_the_events(gpu, backend):
    gpu.row({}, lambda number: backend.work(1), repeats=2)
    each = ["flush", "mark", "work", "mark"]
    assert backend.log == ["flush", "mark", *each, *each, "wait"]


def test_without_a_flush_only_the_first_launch_waits_behind_one(gpu, backend):
    gpu.row({}, lambda number: backend.work(1), repeats=2, flush=False)
    each = ["mark", "work", "mark"]
    assert backend.log == ["flush", "mark", *each, *each, "wait"]


def test_a_short_kernel_is_timed_without_the_host(gpu, backend):
    """Queueing takes longer than the kernel: behind a flush, the device never waits for it."""
    row = gpu.row({}, lambda number: backend.work(0.004), repeats=5)
    assert max(lengths(row)) < 0.0065  # a launch costs the host 0.01


def test_conditions_are_read_while_the_device_is_busy(backend):
    def conditions():
        backend.log.append("read")
        return {"sm_mhz": 1000, "watts": 50.5, "celsius": 60}

    row = Gpu(backend, conditions).row({}, lambda number: backend.work(1), repeats=1)
    assert backend.log[-2:] == ["read", "wait"]
    assert (row["sm_mhz"], row["watts"], row["celsius"]) == (1000, 50.5, 60)


def test_the_hosts_clock_sees_what_the_action_waits_for(gpu, backend):
    def action(number):
        backend.work(2)
        backend.wait()

    row = gpu.host_row({"n": 1}, action, repeats=2)
    assert all(2 < ms < 2.1 for ms in row["host_ms"]) and len(row["host_ms"]) == 2
    assert row["sm_mhz"] is None


@pytest.mark.parametrize("synchronize", [True, False])
def test_both_clocks_agree_only_if_the_host_waits(gpu, backend, synchronize):
    row = gpu.both_row({}, lambda number: backend.work(2), repeats=3, synchronize=synchronize)
    assert all(2 < ms < 2.1 for ms in lengths(row))
    assert all((ms > 2) is synchronize for ms in row["host_ms"])


def test_a_cached_result_leaves_nothing_for_the_device_to_do(gpu):
    assert max(lengths(gpu.both_row({}, lambda number: None, repeats=3))) < 0.01


def test_the_least_that_can_be_measured(gpu):
    assert gpu.empty_ms() == 0.002


@pytest.mark.parametrize(
    "capability, dtypes",
    [
        ([6, 1], ["float32"]),
        ([7, 5], ["float32", "float16"]),
        ([8, 0], ["float32", "float16", "tf32", "bfloat16"]),
    ],
)
def test_data_types_by_what_a_cards_tensor_cores_take(backend, capability, dtypes):
    backend.card = lambda: {**CARD, "compute_capability": capability}
    assert Gpu(backend).dtypes() == dtypes


# ── libraries that are not there ─────────────────────────────────────────────────────────────


@pytest.fixture
def nothing_installed(monkeypatch):
    for name in ("cupy", "torch", "pynvml"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it raises ImportError


def test_what_is_missing_is_named_with_the_command_that_installs_it(gpu, nothing_installed):
    with pytest.raises(MissingTool, match="CuPy, which .* is not installed: pip install cupy-cuda"):
        _ = gpu.cupy
    with pytest.raises(MissingTool, match="torch, which .* is not installed: pip install torch"):
        _ = gpu.torch
    with pytest.raises(NoDevice, match="CuPy is not installed and torch is not installed; .* pip"):
        devices.find()
    assert devices.driver_version() == "unknown"


def test_the_lessons_tools_import_none_of_them():
    code = (
        "import sys; import proflab; from proflab.lesson import cuda;"
        "record = cuda.Record('nowhere.json', form=cuda);"
        "sys.exit(any(n in sys.modules for n in ('cupy', 'torch', 'pynvml', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def module(name: str, **attributes) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(attributes)
    return made


class Event:
    """An event of either library: it knows when it was recorded."""

    now = 0.0

    def __init__(self, enable_timing=True):
        assert enable_timing

    def record(self):
        Event.now += 1.5
        self.at = Event.now

    def elapsed_time(self, other):
        return other.at - self.at


def fake_cupy(count=1, error=None):
    def device_count():
        if error:
            raise error
        return count

    properties = {
        "name": b"Tesla T4",
        "major": 7,
        "minor": 5,
        "multiProcessorCount": 40,
        "l2CacheSize": 2**22,
        "totalGlobalMem": 2**34,
    }
    runtime = SimpleNamespace(
        getDeviceCount=device_count,
        getDeviceProperties=lambda index: properties,
        deviceSynchronize=lambda: None,
        deviceGetPCIBusId=lambda index: "0000:00:04.0",
    )
    scrap = SimpleNamespace(fill=lambda value: None)
    pool = SimpleNamespace(free_all_blocks=lambda: None)
    cuda = SimpleNamespace(
        runtime=runtime, Event=Event, get_elapsed_time=lambda a, b: a.elapsed_time(b)
    )
    return module(
        "cupy", cuda=cuda, empty=lambda size, dtype: scrap, get_default_memory_pool=lambda: pool
    )


def fake_torch(available=True):
    properties = SimpleNamespace(
        name="NVIDIA L4", major=8, minor=9, multi_processor_count=58, L2_cache_size=48 * 2**20,
        total_memory=2**34, pci_domain_id=0, pci_bus_id=0, pci_device_id=4,
    )  # fmt: skip
    cuda = SimpleNamespace(
        is_available=lambda: available,
        get_device_properties=lambda index: properties,
        Event=Event,
        synchronize=lambda: None,
        empty_cache=lambda: None,
    )
    scrap = SimpleNamespace(zero_=lambda: None)
    return module("torch", cuda=cuda, empty=lambda size, device: scrap)


def fake_nvml(**broken):
    def handle(address):
        assert address == "0000:00:04.0"
        return "the card"

    def fails(*arguments):
        raise RuntimeError("not supported")

    sensors = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetHandleByPciBusId": handle,
        "nvmlDeviceGetClockInfo": lambda card, clock: 1590,
        "nvmlDeviceGetPowerUsage": lambda card: 65_432,
        "nvmlDeviceGetTemperature": lambda card, sensor: 61,
        "nvmlSystemGetDriverVersion": lambda: b"580.1",
    }
    sensors |= dict.fromkeys(broken, fails)
    return module("pynvml", NVML_CLOCK_SM=1, NVML_TEMPERATURE_GPU=0, **sensors)


def fake_nvml_with_instant_power(returned=0):
    """As a newer driver answers: power at the moment is one of its field values."""
    nvml = fake_nvml()
    nvml.NVML_FI_DEV_POWER_INSTANT, nvml.NVML_SUCCESS = 186, 0

    def values(card, fields):
        assert (card, fields) == ("the card", [186])
        return [SimpleNamespace(nvmlReturn=returned, value=SimpleNamespace(uiVal=301_250))]

    nvml.nvmlDeviceGetFieldValues = values
    return nvml


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_a_card_is_found_by_either_library(monkeypatch, nothing_installed, library):
    monkeypatch.setitem(sys.modules, library, fake_cupy() if library == "cupy" else fake_torch())
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml())
    gpu = devices.find()
    assert gpu.card["name"] == {"cupy": "Tesla T4", "torch": "NVIDIA L4"}[library]
    assert gpu.card["compute_capability"] == {"cupy": [7, 5], "torch": [8, 9]}[library]
    row = gpu.row({}, lambda number: None, repeats=2)
    assert lengths(row) == [1.5, 1.5]
    assert (row["sm_mhz"], row["watts"], row["celsius"]) == (1590, 65.4, 61)
    assert devices.driver_version() == "580.1"
    gpu.free()


def test_torch_without_a_device_and_cupy_without_a_driver_are_told_apart(monkeypatch):
    error = RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(error=error))
    monkeypatch.setitem(sys.modules, "torch", fake_torch(available=False))
    wanted = r"CuPy finds no CUDA device \(cudaErrorInsufficientDriver\) and torch finds no CUDA"
    with pytest.raises(NoDevice, match=wanted):
        devices.find()
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(count=0))
    with pytest.raises(NoDevice, match="CuPy finds no CUDA device and torch"):
        devices.find()


@pytest.mark.parametrize("returned, watts", [(0, 301.2), (3, 65.4)])
def test_power_is_read_at_the_moment_where_the_driver_can(
    monkeypatch, nothing_installed, returned, watts
):
    """The usual reading is an average of the last second from Ampere on."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml_with_instant_power(returned))
    assert devices.find().conditions()["watts"] == watts


def test_a_sensor_that_a_cloud_hides_is_none(monkeypatch, nothing_installed):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(nvmlDeviceGetPowerUsage=True))
    assert devices.find().conditions() == {"sm_mhz": 1590, "watts": None, "celsius": 61}
    monkeypatch.setitem(sys.modules, "pynvml", fake_nvml(nvmlInit=True))
    assert devices.find().conditions() == {"sm_mhz": None, "watts": None, "celsius": None}


def test_the_fake_has_what_a_device_has():
    assert fake_gpu().dtypes() == ["float32", "float16", "tf32", "bfloat16"]
