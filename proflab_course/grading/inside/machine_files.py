"""Cover the files of /proc that describe the whole machine and would show other users' activity.

Files that numerical libraries read become constants: their text at the zygote's start, without any
count. All other files become empty. This runs in process 1 of a session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

# Entries that contain no count, apart from the processes' own folders, whose names are numbers.
_HARMLESS = {
    "self", "thread-self", "mounts", "net", "version", "filesystems", "devices", "misc",
    "execdomains", "consoles", "dma", "iomem", "ioports", "config.gz", "mtrr", "partitions",
}  # fmt: skip
_NUMBER = re.compile(r"(?<= )\d+")  # counters: how busy the machine is tells of other hand-ins


def constants() -> dict[str, str]:
    """Return the constant texts that replace files of /proc, by name."""
    return {
        "cpuinfo": _read("cpuinfo"),
        "meminfo": _without_use(_read("meminfo")),
        "stat": _NUMBER.sub("0", _read("stat")),
        "loadavg": "0.00 0.00 0.00 1/1 1\n",
        "uptime": "0.00 0.00\n",
    }


def cover(texts: dict[str, str], room: str, mount: Callable[..., None], flag: int) -> None:
    """Bind a constant over each file and folder of /proc that does not belong to a process.

    room: a writable folder for the constants; the caller makes it read-only afterwards.
    """
    nothing, empty = f"{room}/nothing", f"{room}/empty"
    os.mkdir(nothing)
    for name, text in {"empty": "", **texts}.items():
        with open(f"{room}/{name}", "w") as file:
            file.write(text)
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() or entry.name in _HARMLESS or entry.is_symlink():
            continue
        if entry.is_dir():
            mount(nothing, entry.path, flags=flag)
        elif os.access(entry.path, os.R_OK) or entry.stat().st_mode & 0o044:
            source = f"{room}/{entry.name}" if entry.name in texts else empty
            mount(source, entry.path, flags=flag)


def _read(name: str) -> str:
    try:
        with open(f"/proc/{name}", encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _without_use(meminfo: str) -> str:
    """Return a meminfo in which all memory is free."""
    found = re.search(r"MemTotal: +(\d+) kB", meminfo)
    total = found[1] if found else "0"
    free = r"^(MemFree|MemAvailable|MemTotal): .*"
    lines = re.sub(r"(\w[^:\n]*): +\d+", r"\1: 0", meminfo)
    return re.sub(free, rf"\1: {total} kB", lines, flags=re.MULTILINE)
