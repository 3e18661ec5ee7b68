"""A student's processes, seen from outside: which they are, what they use, how to end them."""

from __future__ import annotations

import os
import re
import select
import signal
from pathlib import Path
from typing import Protocol

import psutil


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
        """Whether the process has ended."""
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

    def cpu_seconds(self) -> float:
        """CPU seconds that they have used, those that ended included as far as is known."""

    def memory(self, enough: int) -> int:
        """Bytes of memory that they take together; beyond `enough` it is counted with care."""

    def adopt(self, pid: int) -> bool:
        """Whether the process `pid` is one of them; if so it stays one when its parent ends."""

    def death(self, name: int) -> str:
        """How the process that calls itself `name` ended; empty while it lives, or if unknown."""

    def starved(self) -> bool:
        """Whether the system ended one of them for want of memory."""


class Family:
    """The processes below `roots`, as psutil sees them."""

    def __init__(self, *roots: int) -> None:
        self.roots = list(roots)
        self.spent = 0.0

    def members(self) -> list[psutil.Process]:
        """The roots and all their descendants that are alive."""
        found: dict[int, psutil.Process] = {}
        for root in self.roots:
            try:
                process = psutil.Process(root)
                found |= {p.pid: p for p in (process, *process.children(recursive=True))}
            except psutil.Error:
                continue
        return list(found.values())

    def cpu_seconds(self) -> float:
        """CPU seconds of the living and of those whose parents waited for them; never falls."""
        total = 0.0
        for process in self.members():
            try:
                total += sum(process.cpu_times()[:4])
            except psutil.Error:
                continue
        self.spent = max(self.spent, total)
        return self.spent

    def memory(self, enough: int) -> int:
        """Bytes that they take together; where that may exceed `enough`, shared pages once."""
        members = self.members()
        quick = sum(map(private_memory, members))
        return quick if quick <= enough else sum(map(proportional_memory, members))

    def adopt(self, pid: int) -> bool:
        """Whether `pid` is a root or descends from one; then it is a root from now on."""
        above = pid
        for _ in range(64):
            if above in self.roots:
                self.roots.append(pid)
                return True
            try:
                above = psutil.Process(above).ppid()
            except psutil.Error:
                break
        return False


def private_memory(process: psutil.Process) -> int:
    """Bytes of a process that no file backs: fast, and too much where a fork shares them."""
    try:
        text = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return 0
    return 1024 * sum(int(n) for n in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+)", text, re.M))


def proportional_memory(process: psutil.Process) -> int:
    """Bytes of a process that no file backs, a page that n processes share counted as 1/n."""
    try:
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    except OSError:
        return private_memory(process)
    return 1024 * sum(int(n) for n in re.findall(r"^Pss_(?:Anon|Shmem):\s+(\d+)", text, re.M))


def ending(code: int) -> str:
    """A sentence for an exit status as Popen.returncode has it."""
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
