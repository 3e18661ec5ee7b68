"""A CUDA device as a lesson's cells use it: a clock, a cache to flush, sensors, two libraries.

CuPy compiles the course's kernels and torch runs library code. Either gives events, which are
time stamps that the device takes when the work queued before them is done. `Gpu` holds the
measuring loops and is told by a `backend` how to mark, wait and flush, so that the loops are
tested without a device. What may not enter: a count of FLOPs or bytes.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from proflab.lesson.hardware import processor_name

_INSTALL = "pip install cupy-cuda12x torch nvidia-ml-py"
_FLUSH_BYTES = 64 * 1024**2  # at least; otherwise four times the L2 cache
_NO_CONDITIONS = {"sm_mhz": None, "watts": None, "celsius": None}


class NoDevice(RuntimeError):
    """There is no CUDA device that can be used; the sentence says what was tried."""


class MissingTool(ImportError):
    """A library that a device cell needs is not installed; the sentence says how to install it."""


class _Backend(Protocol):
    """The calls that a GPU library must offer to be measured with: the classes below do."""

    module: Any

    def card(self) -> dict:
        """Return name, compute_capability, multiprocessors, l2_bytes and memory_bytes."""

    def mark(self) -> Any:
        """Return an event, queued behind what was launched so far."""

    def between(self, first: Any, second: Any) -> float:
        """Return the ms from one event to the other."""

    def wait(self) -> None:
        """Return when the device has done all that was queued."""

    def flush(self) -> None:
        """Write over the L2 cache."""

    def free(self) -> None:
        """Give back unused memory."""


@dataclass
class Gpu:
    """A device to measure on: `backend` marks and waits, `conditions` reads clock, power, heat.

    clock is the host's, in seconds; device is torch's name for the card.
    """

    backend: _Backend
    conditions: Callable[[], dict] = lambda: dict(_NO_CONDITIONS)
    clock: Callable[[], float] = time.perf_counter
    device: str = "cuda"
    card: dict = field(init=False)

    def __post_init__(self) -> None:
        self.card = self.backend.card()

    @property
    def cupy(self) -> Any:
        """Return the module cupy. Raises MissingTool where it is not installed."""
        return _import_cupy()

    @property
    def torch(self) -> Any:
        """Return the module torch. Raises MissingTool where it is not installed."""
        return _import_torch()

    def dtypes(self) -> list[str]:
        """Return what this card's GEMMs are measured in: float32 and what its tensor cores take."""
        major = self.card["compute_capability"][0]
        return ["float32"] + ["float16"] * (major >= 7) + ["tf32", "bfloat16"] * (major >= 8)

    def wait(self) -> None:
        """Return when the device has done all that was queued."""
        self.backend.wait()

    def row(
        self,
        what: dict,
        launch: Callable[[int], Any],
        repeats: int = 25,
        flush: bool = True,
    ) -> dict:
        """Return `what`, with the events of launch(0), launch(1), … and the card's conditions.

        Everything is queued before anything is waited for, so that the device never idles between
        an event and the work after it. flush writes over the L2 cache before each launch, outside
        the timed part. Returns {**what, "events": [[start_ms, end_ms], …], "sm_mhz", …}.
        """
        self.backend.flush()  # the device is busy while the first launch is queued
        origin, pairs = self.backend.mark(), []
        for number in range(repeats):
            if flush:
                self.backend.flush()
            start = self.backend.mark()
            launch(number)
            pairs.append((start, self.backend.mark()))
        conditions = self.conditions()  # while the device is still at work
        self.wait()
        return {**what, "events": self._events(origin, pairs), **conditions}

    def host_row(self, what: dict, action: Callable[[int], Any], repeats: int = 25) -> dict:
        """Return `what`, with the host's times of action(0), …, which does its own waiting.

        Returns {**what, "host_ms": […], "sm_mhz", …}.
        """
        self.wait()
        times = []
        for number in range(repeats):
            before = self.clock()
            action(number)
            times.append(round(1e3 * (self.clock() - before), 5))
        return {**what, "host_ms": times, **self.conditions()}

    def both_row(
        self,
        what: dict,
        launch: Callable[[int], Any],
        repeats: int = 10,
        synchronize: bool = True,
    ) -> dict:
        """Return `what`, with each launch seen by both clocks, the device's and the host's.

        synchronize: whether the host waits before it stops its clock. Returns both rows' keys.
        """
        self.wait()
        origin, pairs, times = self.backend.mark(), [], []
        for number in range(repeats):
            before = self.clock()
            start = self.backend.mark()
            launch(number)
            pairs.append((start, self.backend.mark()))
            if synchronize:
                self.wait()
            times.append(round(1e3 * (self.clock() - before), 5))
            self.wait()
        conditions = self.conditions()
        return {**what, "host_ms": times, "events": self._events(origin, pairs), **conditions}

    def empty_ms(self, repeats: int = 25) -> float:
        """Return the ms between two events with nothing between them: the least measurable."""
        events = self.row({}, lambda number: None, repeats)["events"]
        return round(sorted(end - start for start, end in events)[repeats // 2], 5)

    def free(self) -> None:
        """Give back the memory that both libraries keep for later."""
        self.backend.free()

    def _events(self, origin: Any, pairs: list[tuple[Any, Any]]) -> list[list[float]]:
        # The end by way of the start: single precision, far from the origin, is coarse.
        starts = [self.backend.between(origin, start) for start, _ in pairs]
        lengths = [self.backend.between(start, end) for start, end in pairs]
        rounded = [(round(s, 5), round(n, 5)) for s, n in zip(starts, lengths, strict=True)]
        return [[start, round(start + length, 5)] for start, length in rounded]


# ── the libraries ────────────────────────────────────────────────────────────────────────────


def _import_cupy() -> Any:
    try:
        import cupy
    except ImportError:
        problem = "CuPy, which compiles and launches the kernels, is not installed"
        hint = "pip install cupy-cuda12x, or cupy-cuda13x where nvidia-smi says CUDA 13"
        raise MissingTool(f"{problem}: {hint}") from None
    return cupy


def _import_torch() -> Any:
    try:
        import torch
    except ImportError:
        problem = "torch, which runs the matrix products and workloads, is not installed"
        raise MissingTool(f"{problem}: pip install torch") from None
    return torch


class _CupyBackend:
    """Events, waiting and flushing by CuPy, on the stream that torch uses too."""

    def __init__(self) -> None:
        self.module = _import_cupy()
        self.runtime = self.module.cuda.runtime
        try:
            count = self.runtime.getDeviceCount()
        except RuntimeError as error:  # CuPy's CUDARuntimeError: no driver, or no device
            raise NoDevice(f"CuPy finds no CUDA device ({str(error).split(':')[0]})") from None
        if not count:
            raise NoDevice("CuPy finds no CUDA device")
        self._scrap: Any = None

    def card(self) -> dict:
        properties = self.runtime.getDeviceProperties(0)
        return {
            "name": properties["name"].decode(),
            "compute_capability": [properties["major"], properties["minor"]],
            "multiprocessors": properties["multiProcessorCount"],
            "l2_bytes": properties["l2CacheSize"],
            "memory_bytes": properties["totalGlobalMem"],
        }

    def mark(self) -> Any:
        event = self.module.cuda.Event()
        event.record()
        return event

    def between(self, first: Any, second: Any) -> float:
        return self.module.cuda.get_elapsed_time(first, second)

    def wait(self) -> None:
        self.runtime.deviceSynchronize()

    def flush(self) -> None:
        if self._scrap is None:
            size = max(_FLUSH_BYTES, 4 * self.card()["l2_bytes"])
            self._scrap = self.module.empty(size // 4, dtype="float32")
        self._scrap.fill(0)

    def free(self) -> None:
        self.module.get_default_memory_pool().free_all_blocks()
        if sys.modules.get("torch"):
            sys.modules["torch"].cuda.empty_cache()

    def address(self) -> str:
        """Return the card's place on the bus, by which NVML finds the same one."""
        return self.runtime.deviceGetPCIBusId(0)


class _TorchBackend:
    """The same by torch, where there is no CuPy."""

    def __init__(self) -> None:
        self.module = _import_torch()
        if not self.module.cuda.is_available():
            raise NoDevice("torch finds no CUDA device")
        self._scrap: Any = None

    def card(self) -> dict:
        properties = self.module.cuda.get_device_properties(0)
        return {
            "name": properties.name,
            "compute_capability": [properties.major, properties.minor],
            "multiprocessors": properties.multi_processor_count,
            "l2_bytes": properties.L2_cache_size,
            "memory_bytes": properties.total_memory,
        }

    def mark(self) -> Any:
        event = self.module.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, first: Any, second: Any) -> float:
        return first.elapsed_time(second)

    def wait(self) -> None:
        self.module.cuda.synchronize()

    def flush(self) -> None:
        if self._scrap is None:
            size = max(_FLUSH_BYTES, 4 * self.card()["l2_bytes"])
            self._scrap = self.module.empty(size // 4, device="cuda")
        self._scrap.zero_()

    def free(self) -> None:
        self.module.cuda.empty_cache()

    def address(self) -> str:
        card = self.module.cuda.get_device_properties(0)
        return f"{card.pci_domain_id:04x}:{card.pci_bus_id:02x}:{card.pci_device_id:02x}.0"


def find() -> Gpu:
    """Return the first CUDA device. Raises NoDevice, one sentence, where none can be used."""
    reasons = []
    for kind in (_CupyBackend, _TorchBackend):
        try:
            backend = kind()
        except MissingTool as error:
            reasons.append(str(error).split(",")[0] + " is not installed")
        except NoDevice as error:
            reasons.append(str(error))
        else:
            return Gpu(backend, _sensors(backend))
    raise NoDevice(f"{' and '.join(reasons)}; where there is a card: {_INSTALL}")


class _ProcessorBackend:
    """torch on the processor: there is no queue, so that nothing is waited for."""

    def __init__(self) -> None:
        try:
            self.module = _import_torch()
        except MissingTool:
            raise NoDevice("torch, which could measure this processor, is not installed") from None

    def card(self) -> dict:
        """Return the processor's name; "CPU" comes first."""
        return {"name": f"CPU ({processor()})"}

    def mark(self) -> float:
        """Return the time in ms."""
        return 1e3 * time.perf_counter()

    def between(self, first: float, second: float) -> float:
        """Return the ms from one time to the other."""
        return second - first

    def wait(self) -> None:
        """Return at once."""

    def flush(self) -> None:
        """Leave the caches as they are."""

    def free(self) -> None:
        """Leave memory to Python."""


def find_processor() -> Gpu:
    """Return the processor as torch uses it. Raises NoDevice where torch is not installed."""
    return Gpu(_ProcessorBackend(), device="cpu")


def find_any() -> Gpu:
    """Return the first CUDA device, else the processor. Raises NoDevice where there is no torch."""
    try:
        return find()
    except NoDevice:
        return find_processor()


def processor() -> str:
    """Return the name of the host's processor, as far as known, and how many threads it has."""
    return f"{processor_name() or platform.machine()}, {os.cpu_count()} threads"


# ── the card's sensors ───────────────────────────────────────────────────────────────────────


def _sensors(backend: Any) -> Callable[[], dict]:
    """Return a function that reads clock (MHz), power (W), heat (°C); None for each unknown."""
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(backend.address())
    except Exception:  # not installed, or a driver that does not answer
        return lambda: dict(_NO_CONDITIONS)
    readings = {
        "sm_mhz": lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
        "watts": lambda: round(_milliwatts(pynvml, handle) / 1000, 1),
        "celsius": lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
    }
    return lambda: {name: _or_none(read) for name, read in readings.items()}


def _milliwatts(pynvml: Any, handle: Any) -> float:
    """Return the power at this moment; where the driver has no such reading, the usual one.

    From Ampere on the usual one is the average of the last second, longer than most measurements.
    """
    try:
        [reading] = pynvml.nvmlDeviceGetFieldValues(handle, [pynvml.NVML_FI_DEV_POWER_INSTANT])
        if reading.nvmlReturn == pynvml.NVML_SUCCESS:
            return reading.value.uiVal
    except Exception:  # an old driver, or an old nvidia-ml-py
        pass
    return pynvml.nvmlDeviceGetPowerUsage(handle)


def _or_none(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Exception:  # some cards, and some clouds, hide a sensor
        return None


def driver_version() -> str:
    """Return the driver's version by NVML; "unknown" where NVML does not answer."""
    try:
        import pynvml

        pynvml.nvmlInit()
        version = pynvml.nvmlSystemGetDriverVersion()
    except Exception:
        return "unknown"
    return version.decode() if isinstance(version, bytes) else version
