"""Run a program to its end and count the CPU time of all its processes, exactly.

A program that starts others may wait for few of them: the orphans of a sandbox are reaped by its
first process, and what that one used is in nobody's account. So the kernel counts here, whatever
else the machine does: in a control group (version 2) of the program's own, where this account may
make one, and else as the children of this process, which then adopts orphans.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_END_SECONDS = 5.0


@dataclass(frozen=True)
class Run:
    """One program, run once: seconds, CPU seconds of all its processes, and bytes at most.

    own: CPU seconds of the program's first process alone.
    """

    seconds: float
    cpu: float
    memory: int
    own: float = 0.0


def how() -> str:
    """Return how CPU time is counted on this machine."""
    with _group() as group:
        return "a cgroup counts all CPU" if group else "a subreaper counts all CPU"


def run(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], watched: bool = True
) -> Run:
    """Run a program to its end in a folder; exit with what it said if it fails.

    watched: look how much memory it takes.
    """
    with _group() as group:
        before, began = _children(), time.perf_counter()
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: _join(group),
        )
        most = [0]
        watch = threading.Thread(target=watch_memory, args=(process, most))
        if watched:
            watch.start()
        said, _ = process.communicate()
        seconds = time.perf_counter() - began
        own = _children() - before
        if watched:
            watch.join()
        if process.returncode:
            sys.exit(f"{' '.join(words)} failed:\n{said.decode(errors='replace')[-3000:]}")
        _reap()
        if group:
            _wait_until_empty(group)
        cpu = used(group) if group else _children() - before
    return Run(seconds, cpu, most[0], own)


@contextlib.contextmanager
def _group() -> Iterator[Path | None]:
    """Make a control group for one program; yield None where this is not allowed."""
    group = None
    for mount in map(Path, _MOUNTS):
        place = mount / f"account-{os.getpid()}"
        with contextlib.suppress(OSError):
            place.mkdir()
            if (place / "cpu.stat").exists():
                group = place
                break
            place.rmdir()
    if group is None:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield group
    finally:
        if group is not None:
            with contextlib.suppress(OSError):
                (group / "cgroup.kill").write_text("1")  # where this program was interrupted
            _wait_until_empty(group)
            group.rmdir()


def _join(group: Path | None) -> None:
    """Enter the group: everything that this process starts will be in it, too."""
    if group is not None:
        (group / "cgroup.procs").write_text(str(os.getpid()))


@contextlib.contextmanager
def inside() -> Iterator[Path | None]:
    """Have this process, and all that it starts meanwhile, in a group; None if not allowed."""
    with _group() as group:
        _join(group)
        try:
            yield group
        finally:
            if group is not None:
                (group.parent / "cgroup.procs").write_text(str(os.getpid()))


def used(group: Path) -> float:
    """Return the CPU seconds of all that ever was in a group."""
    stat = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(stat["usage_usec"]) / 1e6


def _wait_until_empty(group: Path) -> None:
    deadline = time.monotonic() + _END_SECONDS
    while "populated 1" in (group / "cgroup.events").read_text():
        if time.monotonic() > deadline:
            sys.exit(f"a process of the program does not end: see {group}/cgroup.procs")
        time.sleep(0.01)


def _children() -> float:
    """Return the CPU seconds of all children that have been waited for, with their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _reap() -> None:
    """Wait for all orphans that were adopted."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def watch_memory(process: subprocess.Popen, most: list[int]) -> None:
    """Look now and then, seldom enough to cost nothing: how much all of its processes take."""
    while process.poll() is None:
        most[0] = max(most[0], tree_memory(process.pid))
        time.sleep(0.5)


def tree_memory(pid: int) -> int:
    """Return the bytes of a process and all below it, pages that they share counted once."""
    try:
        leader = psutil.Process(pid)
        family = [leader, *leader.children(recursive=True)]
    except psutil.Error:
        return 0
    total = 0
    for each in family:
        try:
            text = Path(f"/proc/{each.pid}/smaps_rollup").read_text()
            total += next(int(x.split()[1]) for x in text.splitlines() if x.startswith("Pss:"))
        except (OSError, StopIteration, psutil.Error):
            continue
    return total * 1024
