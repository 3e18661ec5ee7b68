"""A memory cgroup for a job slot, where this process may make one: root's extra.

The kernel then counts what no watch sees in time, tmpfs included, and ends a student's process
rather than let the machine run short. Where it cannot be had, the watch alone remains.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

# version → (where its memory controller is mounted, file of the limit, file with the kills)
MOUNTS = {
    2: ("/sys/fs/cgroup", "memory.max", "memory.events"),
    1: ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"),
}
PREFIX = "proflab-"
OWN = "/proc/self/cgroup"


@dataclass(frozen=True)
class Group:
    """One cgroup below the one that this process is in."""

    path: Path
    version: int

    @classmethod
    def make(cls, name: str) -> Group | None:
        """Return a new group, or None where there can be none."""
        if os.geteuid() != 0:
            return None
        for version in MOUNTS:
            parent = _own_group(version)
            if parent is None:
                continue
            _remove_stale(parent)
            group = cls(parent / f"{PREFIX}{os.getpid()}-{name}", version)
            try:
                group.path.mkdir(exist_ok=True)
                group.limit(2**40)
            except OSError:
                group.remove()
                continue
            return group
        return None

    @property
    def entry(self) -> str:
        """The file into which a process writes its number to join."""
        return str(self.path / "cgroup.procs")

    def limit(self, size: int) -> None:
        """Let the group's processes take `size` bytes together; raise OSError."""
        (self.path / MOUNTS[self.version][1]).write_text(str(size))

    def used(self) -> int:
        """Return the bytes that the group takes now."""
        name = "memory.current" if self.version == 2 else "memory.usage_in_bytes"
        try:
            return int((self.path / name).read_text())
        except (OSError, ValueError):
            return 0

    def kills(self) -> int:
        """Return how many processes the kernel has ended here for want of memory."""
        try:
            text = (self.path / MOUNTS[self.version][2]).read_text()
        except OSError:
            return 0
        found = re.search(r"^oom_kill (\d+)", text, re.M)
        return int(found[1]) if found else 0

    def remove(self) -> None:
        """Remove the group as soon as its last process is gone; if that lasts, leave it behind."""
        for _ in range(50):
            try:
                return self.path.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.02)


def _own_group(version: int) -> Path | None:
    """Return the folder of this process's group, if memory can be limited below it."""
    mount = Path(MOUNTS[version][0])
    try:
        lines = Path(OWN).read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        mine = not controllers if version == 2 else "memory" in controllers.split(",")
        folder = mount / path.lstrip("/")
        if mine and folder.is_dir():
            if version == 1:
                return folder
            # In version 2 a group that holds processes may not hand memory on; the root may.
            shared = mount / "cgroup.subtree_control"
            return mount if shared.exists() and "memory" in shared.read_text() else None
    return None


def _remove_stale(parent: Path) -> None:
    """Remove the empty groups that a grader left which was killed."""
    for folder in parent.glob(f"{PREFIX}*"):
        number = folder.name.removeprefix(PREFIX).split("-")[0]
        if number.isdigit() and not Path("/proc", number).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
