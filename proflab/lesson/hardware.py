"""The machine that runs a model: its two roofs, and its own description.

What may not enter: formulas. What follows from the roofs is for the student to work out. What a
machine does not tell is None here, never a guess.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from proflab.lesson.blas import blas_name, blas_threads
from proflab.lesson.machine import can

_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True)
class Hardware:
    """The roofs of one machine: peak_flops in FLOP/s, bandwidth of its main memory in bytes/s.

    name, source: what it is, and who says so. Raises ValueError for roofs that are not positive
    and finite.

    >>> Hardware(peak_flops=2e12, bandwidth=50e9, name="laptop", source="its data sheet").bandwidth
    50000000000.0
    """

    peak_flops: float
    bandwidth: float
    name: str = "this machine"
    source: str = ""

    def __post_init__(self) -> None:
        for what, roof in (("peak_flops", self.peak_flops), ("bandwidth", self.bandwidth)):
            if not (isinstance(roof, (int, float)) and 0 < roof < math.inf):
                raise ValueError(f"{self.name}: {what} must be positive and finite, not {roof}")


def read_hardware(path: str | Path, name: str) -> Hardware:
    """Return the machine `name` of a JSON document {name: {peak_flops, bandwidth, source}}.

    Raises ValueError with a sentence for a document that cannot be used, or lacks the name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "machines.json")
    ...     entry = {"peak_flops": 2e12, "bandwidth": 50e9, "source": "its data sheet"}
    ...     _ = file.write_text(json.dumps({"laptop": entry}))
    ...     read_hardware(file, "laptop").name
    'laptop'
    """
    try:
        machines = json.loads(Path(path).read_text("utf-8"))
        entry = machines[name]
        return Hardware(entry["peak_flops"], entry["bandwidth"], name, entry["source"])
    except (OSError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}") from None
    except (KeyError, TypeError) as error:
        wants = "peak_flops, bandwidth and source"
        raise ValueError(f"{path} does not describe {name!r} by {wants}: {error}") from None


# ── what a machine says of itself ────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Cache:
    """A cache for data: its level (1, 2, 3), its size in bytes, and how many processors share it.

    shared_by is None where that is not known.

    >>> in_bytes(Cache(level=2, size=512 * 1024, shared_by=2).size)
    '512 KB'
    """

    level: int
    size: int
    shared_by: int | None = None


@dataclass(frozen=True)
class Machine:
    """A machine as it describes itself; what is not known is None, or for caches ().

    processors: that this process may run on. limit: how many of them it may use at a time, where a
    container sets one. clock_mhz: now. load: how many processes have wanted a processor over the
    last minute. blas, threads: the library that multiplies matrices, and its threads.
    """

    name: str | None = None
    processors: int | None = None
    limit: float | None = None
    caches: tuple[Cache, ...] = ()
    clock_mhz: float | None = None
    load: float | None = None
    blas: str | None = None
    threads: int | None = None

    def sentences(self) -> str:
        """Return all of it in three lines of text; what is not known is said to be so.

        >>> print(Machine("CPU 9", processors=8, limit=2, caches=(Cache(1, 32768),)).sentences())
        CPU 9: 8 processors, of which a container may use 2, clock now unknown, load unknown
        data caches: L1 32 KB
        matrix products: library unknown, threads unknown
        """
        unknown = "unknown"
        limit = f", of which a container may use {self.limit:g}" if self.limit else ""
        clock = f"{self.clock_mhz:,.0f} MHz" if self.clock_mhz else unknown
        caches = ", ".join(
            f"L{cache.level} {in_bytes(cache.size)}"
            + (f" for {cache.shared_by} processors" if (cache.shared_by or 1) > 1 else "")
            for cache in self.caches
        )
        load = unknown if self.load is None else f"{self.load:.2f}"
        return (
            f"{self.name or 'processor of unknown name'}: {self.processors or unknown} processors"
            f"{limit}, clock now {clock}, load {load}\n"
            f"data caches: {caches or unknown}\n"
            f"matrix products: {self.blas or 'library unknown'}, threads {self.threads or unknown}"
        )


def this_machine(sys: Path = Path("/sys"), proc: Path = Path("/proc")) -> Machine:
    """Describe this machine, as far as system files (and psutil, if there) tell. Raises nothing.

    >>> this_machine().processors >= 1
    True
    """
    return Machine(
        name=processor_name(proc) or None,
        processors=_processors(),
        limit=_limit(sys),
        caches=_caches(sys),
        clock_mhz=_clock_mhz(sys, proc),
        load=_number((_read(proc / "loadavg") or "").partition(" ")[0]),
        blas=blas_name(),
        threads=blas_threads(),
    )


def load_and_processors() -> tuple[float, int] | None:
    """Return how many processes wanted a processor over the last minute, and the processors.

    All the machine's processors, for the load is the whole machine's; None where it is not known.
    """
    if not can("processes"):  # a browser's Python answers with a load that nobody measured
        return None
    try:
        return os.getloadavg()[0], os.cpu_count() or 1
    except (AttributeError, OSError):  # Windows
        return None


def in_bytes(size: float) -> str:
    """Return a number of bytes in the largest unit of 1024 that keeps it at 1 or above.

    >>> in_bytes(32 * 1024), in_bytes(1.5 * 1024**2)
    ('32 KB', '1.5 MB')
    """
    for unit in ("bytes", "KB", "MB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GB"


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def processor_name(proc: Path = Path("/proc")) -> str:
    """Return the name of the processor; "" where nothing tells it."""
    found = re.search(r"^model name\s*:\s*(.+)$", _read(proc / "cpuinfo") or "", re.MULTILINE)
    return found[1].strip() if found else platform.processor()


def _processors() -> int | None:
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count()


def _limit(sys: Path) -> float | None:
    """Return what a container's control group allows, as a number of processors."""
    pair = (_read(sys / "fs/cgroup/cpu.max") or "").split()  # µs of work, in so many µs of time
    quota, period = map(_number, pair) if len(pair) == 2 else (None, None)
    return quota / period if quota and period else None


def _caches(sys: Path) -> tuple[Cache, ...]:
    """Return the caches for data of the first processor, the nearest first."""
    found = []
    for folder in sorted((sys / "devices/system/cpu/cpu0/cache").glob("index*")):
        size = re.fullmatch(r"(\d+)([KMG]?)", _read(folder / "size") or "")
        level = _number(_read(folder / "level"))
        if size and level and _read(folder / "type") in ("Data", "Unified"):
            count = int(size[1]) * _UNITS.get(size[2], 1)
            found.append(Cache(int(level), count, _count(_read(folder / "shared_cpu_list"))))
    return tuple(sorted(found, key=lambda cache: cache.level))


def _count(listed: str | None) -> int | None:
    """Return how many processors a list such as "0-3,8" names."""
    if listed is None or not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", listed):
        return None
    ends = [part.split("-") for part in listed.split(",")]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)


def _clock_mhz(sys: Path, proc: Path) -> float | None:
    khz = _number(_read(sys / "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"))
    if khz:
        return khz / 1000
    found = re.search(r"^cpu MHz\s*:\s*([\d.]+)", _read(proc / "cpuinfo") or "", re.MULTILINE)
    return _number(found[1]) if found else _clock_by_psutil()


def _clock_by_psutil() -> float | None:
    try:
        import psutil

        clock = psutil.cpu_freq()
    except Exception:  # not installed, or it does not know this system
        return None
    return clock.current if clock and clock.current else None
