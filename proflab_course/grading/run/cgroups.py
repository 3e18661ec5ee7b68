"""Create an optional cgroup (version 2) for a job; this needs root.

The kernel enforces its limit of memory at once and also counts tmpfs; without it only the polling
monitor limits memory. Where the root hands processors on, too, each job's group weighs as much as
any other, however many processes it has.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PREFIX = "proflab-"  # by which a later run finds groups that a killed one left
MAX_TASKS = 512  # of a job: its zygote, and the tasks of one session


@dataclass(frozen=True)
class Group:
    """One cgroup below the root of the hierarchy."""

    path: Path

    @classmethod
    def make(cls, name: str) -> Group | None:
        """Return a new group, or None if memory cannot be limited in one."""
        if os.geteuid() != 0 or not _hands_memory_on():
            return None
        _remove_stale()
        group = cls(ROOT / f"{PREFIX}{os.getpid()}-{name}")
        try:
            group.path.mkdir(exist_ok=True)
            # A try: a group that cannot limit memory is none. zygote_client.py sets the real limit.
            group.limit(2**40)
        except OSError:
            group.remove()
            return None
        with contextlib.suppress(OSError):  # not handed on: the kernel's user limit is left
            (group.path / "pids.max").write_text(str(MAX_TASKS))
        return group

    @property
    def entry(self) -> str:
        """The file into which a process writes its number to join."""
        return str(self.path / "cgroup.procs")

    def limit(self, size: int) -> None:
        """Limit the group's processes to `size` bytes together; raise OSError."""
        (self.path / "memory.max").write_text(str(size))

    def used(self) -> int:
        """Return the bytes that the group uses now."""
        try:
            return int((self.path / "memory.current").read_text())
        except (OSError, ValueError):
            return 0

    def kills(self) -> int:
        """Return how many of the group's processes the kernel killed because memory ran out."""
        try:
            text = (self.path / "memory.events").read_text()
        except OSError:
            return 0
        found = re.search(r"^oom_kill (\d+)", text, re.M)
        return int(found[1]) if found else 0

    def remove(self) -> None:
        """Remove the group once its last process has ended; leave it behind after a second."""
        for _ in range(50):
            try:
                return self.path.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.02)


def _hands_memory_on() -> bool:
    """Return True if the root group lets the groups below it limit memory.

    Other groups may not delegate memory while they contain processes.
    """
    try:
        return "memory" in (ROOT / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False


def _remove_stale() -> None:
    """Remove the empty groups of graders that were killed."""
    for folder in ROOT.glob(f"{PREFIX}*"):
        number = folder.name.removeprefix(PREFIX).split("-")[0]
        if number.isdigit() and not Path("/proc", number).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
