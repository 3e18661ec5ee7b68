"""A student's processes, seen from outside: which they are, what they use, how to end them."""

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
_TICKS = os.sysconf("SC_CLK_TCK")


class Process:
    """One process, held so that its number can never come to mean another."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.fd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None

    def signal(self, number: int) -> None:
        """Send a signal, if the process is still there."""
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
        """Let go of the process."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


class Body(Protocol):
    """All processes of one turn."""

    def usage(self, enough: int) -> tuple[float, int]:
        """Return (CPU seconds used, bytes of memory taken) by all together.

        The seconds include those that ended, as far as is known; bytes beyond `enough` are counted
        with care.
        """

    def adopt(self, pid: int) -> bool:
        """Return True if the process `pid` is one of them; it stays one when its parent ends."""

    def death(self, name: int) -> str:
        """Return how the process that calls itself `name` ended; "" if it lives or is unknown."""

    def resting(self) -> bool:
        """Return True if, when last looked at, none of them computed or wanted to."""

    def starved(self) -> bool:
        """Return True if the system ended one of them for want of memory."""

    def tidy(self, waiting: list[int]) -> str:
        """End all but the copies `waiting`, before a hidden block, and wake the first of them.

        Undoes what the hidden block before it wrote. Returns a sentence where that failed.
        """


class Family:
    """The processes below `roots`, seen in one pass over all processes of the machine."""

    def __init__(self, *roots: int) -> None:
        self.roots = list(roots)
        self.spent = 0.0
        self._resting = False

    def usage(self, enough: int) -> tuple[float, int]:
        """Return CPU seconds of the living and those waited for, which never fall, and bytes."""
        members = self.members()
        spent = max(self.spent, sum(members.values()))
        self._resting = spent == self.spent and not any(map(_wants_to_run, members))
        self.spent = spent
        return self.spent, self.memory(members, enough)

    def resting(self) -> bool:
        """Return True if none wants to run; who waits for a core on a busy machine does."""
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
        """Return the bytes that they take together; beyond `enough`, count shared pages once."""
        quick = sum(map(_private_memory, members))
        return quick if quick <= enough else sum(map(_proportional_memory, members))

    def adopt(self, pid: int) -> bool:
        """Return True if `pid` descends from a root, and make it a root: its parent may end."""
        above = pid
        for _ in range(64):
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
    """Return a process's parent and CPU seconds; None if there is none of that number."""
    if _LINUX:
        try:
            with open(f"/proc/{pid}/stat", "rb", 0) as file:
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
    """Return True if a thread of the process computes, waits for a core, or waits for a disk."""
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


# As bytes: the name that a process gives itself stands there, too, and need not be text.
_PRIVATE = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+)", re.M)
_PROPORTIONAL = re.compile(rb"^Pss_(?:Anon|Shmem):\s+(\d+)", re.M)


def _private_memory(pid: int) -> int:
    """Return a process's bytes that no file backs: fast, and too much where a fork shares them."""
    try:
        status = Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return 0
    return 1024 * sum(map(int, _PRIVATE.findall(status)))


def _proportional_memory(pid: int) -> int:
    """Return a process's bytes that no file backs, a page of n processes counted as 1/n."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
    except OSError:
        return _private_memory(pid)
    return 1024 * sum(map(int, _PROPORTIONAL.findall(rollup)))


def socket_memory(pid: int) -> int:
    """Return the most bytes that one process can make a network namespace's sockets hold.

    They belong to no process. Each holds what was sent and not yet read, up to the system's limit.
    """
    try:
        text = Path(f"/proc/{pid}/net/sockstat").read_text()
        each = int(Path("/proc/sys/net/core/wmem_default").read_text())
    except (OSError, ValueError):
        return 0
    found = re.match(r"sockets: used (\d+)", text)
    return int(found[1]) * each if found else 0


def describe_exit(code: int) -> str:
    """Return a sentence for an exit status as Popen.returncode has it."""
    if code >= 0:
        return f"the notebook's process ended itself (exit status {code})"
    known = {
        signal.SIGSEGV: "crashed (segmentation fault)",
        signal.SIGABRT: "aborted",
        signal.SIGKILL: "was killed",
        signal.SIGXCPU: "used more CPU seconds than it may",
        signal.SIGBUS: "crashed (bus error)",
        signal.SIGSYS: "made a system call that is not allowed",
    }
    return f"the notebook's process {known.get(-code, f'was ended by signal {-code}')}"
