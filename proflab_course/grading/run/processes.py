"""Observe a student's processes from outside: find them, measure what they use, end them."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import psutil

_LINUX = sys.platform.startswith("linux")
_TICKS = os.sysconf("SC_CLK_TCK")  # a second, in which /proc counts times of the processor


class Process:
    """One process, held by a descriptor so that its number cannot be reused for another."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.fd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None

    def signal(self, number: int) -> None:
        """Send a signal, if the process still exists."""
        try:
            if self.fd is None:
                os.kill(self.pid, number)
            else:
                signal.pidfd_send_signal(self.fd, number)
        except (ProcessLookupError, PermissionError):
            pass

    def ended(self) -> bool:
        """Return True if the process has ended."""
        if self.fd is None:
            return not psutil.pid_exists(self.pid)
        return bool(select.select([self.fd], [], [], 0)[0])

    def close(self) -> None:
        """Close the descriptor."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


class SessionProcesses(Protocol):
    """All processes of one session."""

    def usage(self, enough: int) -> tuple[float, int]:
        """Return (CPU seconds used, bytes of memory in use) of all together.

        The seconds include those of processes that ended, as far as they are known; above `enough`
        bytes, shared pages are counted once (slower).
        """

    def adopt(self, pid: int) -> bool:
        """Return True if `pid` is one of them; it remains one when its parent ends."""

    def death(self, name: int) -> str:
        """Return how the process that calls itself `name` ended; "" if it lives or is unknown."""

    def resting(self) -> bool:
        """Return True if, at the last measurement, none computed or waited for a core."""

    def starved(self) -> bool:
        """Return True if the system killed one of them because memory ran out."""

    def tidy(self, waiting: list[int]) -> str:
        """End all except the copies `waiting`, before a hidden block, and wake the first of them.

        Undoes what the hidden block before it wrote. Returns a sentence if that failed.
        """


class ProcessTree:
    """The processes `roots` and all their descendants, found among all processes of the machine."""

    def __init__(self, *roots: int) -> None:
        self.roots = list(roots)
        self.spent = 0.0
        self._resting = False

    def usage(self, enough: int) -> tuple[float, int]:
        """Return CPU seconds, with those of children waited for, which never fall; and bytes."""
        members = self.members()
        spent = max(self.spent, sum(members.values()))
        self._resting = spent == self.spent and not any(map(_wants_to_run, members))
        self.spent = spent
        return self.spent, self.memory(members, enough)

    def resting(self) -> bool:
        """Return True if none runs or waits for a core."""
        return self._resting

    def members(self) -> dict[int, float]:
        """Return the roots and all their descendants that are alive, each with its CPU seconds."""
        table = _all_processes()
        children: dict[int, list[int]] = {}
        for pid, (parent, _) in table.items():
            children.setdefault(parent, []).append(pid)
        found: dict[int, float] = {}
        left = [root for root in self.roots if root in table]
        while left:
            pid = left.pop()
            if pid not in found:
                found[pid] = table[pid][1]
                left += children.get(pid, ())
        return found

    def memory(self, members: Iterable[int], enough: int) -> int:
        """Return the bytes that they use together; above `enough`, count shared pages once."""
        quick = sum(map(_private_memory, members))
        return quick if quick <= enough else sum(map(_proportional_memory, members))

    def adopt(self, pid: int) -> bool:
        """Return True if `pid` descends from a root, and make it a root: its parent may end."""
        above = pid
        for _ in range(64):  # no chain is longer: limits.py allows no more processes
            if above in self.roots:
                self.roots.append(pid)
                return True
            state = read_process(above)
            if state is None:
                break
            above = state[0]
        return False


def _all_processes() -> dict[int, tuple[int, float]]:
    """Return every process's parent, and its CPU seconds with those of children it waited for."""
    pids = map(int, filter(str.isdigit, os.listdir("/proc"))) if _LINUX else psutil.pids()
    states = {pid: read_process(pid) for pid in pids}
    return {pid: state for pid, state in states.items() if state is not None}


def read_process(pid: int) -> tuple[int, float] | None:
    """Return a process's parent and CPU seconds; None if no process has this number."""
    if _LINUX:
        try:
            with open(f"/proc/{pid}/stat", "rb", 0) as file:
                # From behind the name, which the student chooses and may hold brackets and blanks:
                # the parent is second; times of the process and its children are 12th to 15th.
                fields = file.read(4096).rpartition(b")")[2].split()
            return int(fields[1]), sum(map(int, fields[11:15])) / _TICKS
        except (OSError, ValueError, IndexError):
            return None
    try:
        process = psutil.Process(pid)
        return process.ppid(), sum(process.cpu_times()[:4])
    except psutil.Error:
        return None


def _wants_to_run(pid: int) -> bool:
    """Return True if a thread of the process runs, waits for a core, or waits for a disk."""
    if not _LINUX:
        try:
            return psutil.Process(pid).status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)
        except psutil.Error:
            return False
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", "rb", 0) as file:
                if file.read(4096).rpartition(b")")[2].strip()[:1] in (b"R", b"D"):
                    return True
    except OSError:
        pass
    return False


# Read as bytes: the file contains the process's name, which need not be valid UTF-8.
_PRIVATE = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+)", re.M)
_PROPORTIONAL = re.compile(rb"^Pss_(?:Anon|Shmem):\s+(\d+)", re.M)


def _private_memory(pid: int) -> int:
    """Return a process's bytes that no file backs: fast, but counts pages shared after a fork."""
    try:
        status = Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return 0
    return 1024 * sum(map(int, _PRIVATE.findall(status)))


def _proportional_memory(pid: int) -> int:
    """Return a process's bytes that no file backs; a page shared by n processes counts 1/n."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
    except OSError:
        return _private_memory(pid)
    return 1024 * sum(map(int, _PROPORTIONAL.findall(rollup)))


def socket_memory(pid: int) -> int:
    """Return the most bytes that the sockets in a process's network namespace can hold.

    This memory belongs to no process: each socket buffers unread data up to the system's limit.
    """
    try:
        text = Path(f"/proc/{pid}/net/sockstat").read_text()
        each = int(Path("/proc/sys/net/core/wmem_default").read_text())
    except (OSError, ValueError):
        return 0
    found = re.match(r"sockets: used (\d+)", text)
    return int(found[1]) * each if found else 0


def describe_exit(code: int) -> str:
    """Return a sentence for an exit status in the form of Popen.returncode."""
    if code >= 0:
        return f"the notebook's process ended itself (exit status {code})"
    known: dict[int, str] = {
        signal.SIGSEGV: "crashed (segmentation fault)",
        signal.SIGABRT: "aborted",
        signal.SIGKILL: "was killed",
        signal.SIGXCPU: "used more CPU seconds than it may",
        signal.SIGBUS: "crashed (bus error)",
        signal.SIGSYS: "made a system call that is not allowed",
    }
    return f"the notebook's process {known.get(-code, f'was ended by signal {-code}')}"
