"""The grader's hold on one warm process: starts it, has it fork a turn, knows the turn's processes.

What runs at the other end is `zygote.py`; how it comes there, `launch.py`.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from proflab_course.grading.inside.channel import Channel
from proflab_course.grading.plan import Limits, Plan, Result
from proflab_course.grading.run.bubblewrap import (
    LIBRARY,
    find_bubblewrap,
    make_view,
    site_folders,
    unprivileged_user,
    writable_folders,
)
from proflab_course.grading.run.cgroups import Group
from proflab_course.grading.run.connection import new_channel
from proflab_course.grading.run.processes import Family, Process, describe_exit, socket_memory
from proflab_course.grading.run.runners import SPARE_SECONDS
from proflab_course.grading.run.seccomp import SeccompMissing, seccomp_program
from proflab_course.grading.run.session import Session
from proflab_course.grading.run.time_allowance import Allowance

_LAUNCH = Path(__file__).parents[1] / "inside" / "launch.py"
_START_SECONDS = 120.0
_END_SECONDS = 30.0
TURNS = 200
_NUMBERS = itertools.count()
_DESCRIPTORS = 256


class SandboxError(Exception):
    """The sandbox itself failed, not the student's code; the sentence says how.

    result: what the session had brought back until then, if it had begun.
    """

    def __init__(self, sentence: str, result: Result | None = None) -> None:
        super().__init__(sentence)
        self.result = result


@dataclass(frozen=True)
class Wanted:
    """The kind of zygote that is wanted.

    slot: its job's number; cores: where it starts; threads: how many BLAS may use; nested: turns
    have namespaces of their own; plots: it has pyplot in memory.
    """

    limits: Limits
    slot: int
    cores: list[int]
    threads: int
    nested: bool
    plots: bool


class ZygoteClient:
    """The grader's hold on one zygote.

    usable: it can carry out another turn; lost: it was ended in a turn, by what is outside of it.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.limits, self.turns, self.usable, self.lost = wanted.limits, 0, True, False
        self.group = Group.make(f"{next(_NUMBERS)}")
        ours, theirs = socket.socketpair()
        self.control = Channel(ours)
        ours.settimeout(_START_SECONDS)
        with theirs, tempfile.TemporaryFile() as complaints:
            self.process = self._launch(wanted, theirs.fileno(), complaints)
            theirs.close()
            try:
                self._prepare(wanted)
                self.about = self.control.receive()[0]
            except (EOFError, OSError, ValueError):
                self.close()
                complaints.seek(0)
                lines = complaints.read().decode(errors="replace").strip().splitlines()
                said = lines[-1] if lines else "it said nothing"
                raise SandboxError(f"the sandbox did not start ({said[:300]})") from None
        self.nested = self.about["nested"]
        ours.settimeout(_END_SECONDS)
        if self.group is not None:
            # The scratch space counts, and what the zygote has already.
            self.group.limit(self.group.used() + self.limits.memory + self.limits.scratch)

    def _launch(self, wanted: Wanted, channel: int, complaints: IO) -> subprocess.Popen:
        view = make_view(wanted.limits, wanted.threads, wanted.nested, channel)
        orders = {
            "bubblewrap": find_bubblewrap(),
            "parent": os.getpid(),
            "user": unprivileged_user(wanted.slot),
            "cores": wanted.cores,
            "groups": [self.group.entry] if self.group else [],
            "before": view.before,
            "binds": view.binds,
            "after": view.after,
        }
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(_LAUNCH), json.dumps(orders)],
            env={},
            cwd="/",
            pass_fds=[channel],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        )

    def _prepare(self, wanted: Wanted) -> None:
        limits = wanted.limits
        try:
            program = seccomp_program()
        except SeccompMissing:
            program = b""
        inside = {
            "memory": limits.memory,
            "cpu": int(limits.notebook_seconds) + SPARE_SECONDS,
            "processes": limits.processes,
            "file": limits.file,
            "descriptors": _DESCRIPTORS,
            "scratch": limits.scratch,
            "scratch_files": limits.scratch_files,
        }
        order = {
            "limits": inside,
            "nested": wanted.nested,
            "plots": wanted.plots,
            "site": site_folders(),
            "library": LIBRARY,
            "writable": writable_folders(),
        }
        self.control.send(order, program)

    def turn(self, files: dict[str, bytes], plan: Plan, allowance: Allowance) -> Result:
        """Carry out a plan in a fork; return when nothing of it is left running."""
        self.turns += 1
        init, init_theirs = new_channel()
        ours, theirs = new_channel()
        with init, ours:
            with init_theirs, theirs:
                self._announce(init_theirs, theirs)
            body = Body(init, files, self.group)
            try:
                return Session(ours, body, allowance).carry_out(plan)
            finally:
                body.close()
                init.close()
                self._wait_for_the_end()

    def _announce(self, init: socket.socket, channel: socket.socket) -> None:
        order = json.dumps({"turn": self.turns}).encode()
        try:
            socket.send_fds(self.control.sock, [order], [init.fileno(), channel.fileno()])
        except OSError:
            raise SandboxError("its warm process ended") from None

    def _wait_for_the_end(self) -> None:
        if not self.nested or self.turns >= TURNS:
            self.usable = False
        if not self.nested:
            self.close()
            return
        try:
            message = self.control.receive()[0]
            self.usable = self.usable and message == {"ended": self.turns}
        except (EOFError, OSError, ValueError):
            self.usable, self.lost = False, True

    def close(self) -> None:
        """End the zygote; with its process 1 all that is in its namespaces ends."""
        self.usable = False
        self.control.sock.close()
        try:
            self.process.wait(2.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.group is not None:
            self.group.remove()


class Body(Family):
    """All processes of one turn: those below its init, which reports who ended and how."""

    def __init__(
        self, init: socket.socket, files: dict[str, bytes], group: Group | None = None
    ) -> None:
        init.settimeout(_START_SECONDS)
        self.group = group
        self.kills = group.kills() if group else 0
        self.init = Channel(init)
        self.endings: dict[int, int] = {}
        names = [(path, len(data)) for path, data in files.items()]
        try:
            self.init.send({"files": names}, b"".join(files.values()))
            super().__init__(_wait_for_sender(init))
            message = self.init.receive()[0]
        except (EOFError, OSError, ValueError) as error:
            raise SandboxError(f"a submission could not be started ({error})") from None
        if "failed" in message:
            raise SandboxError(f"a submission could not be started ({message['failed']})")
        self.process = Process(self.roots[0])

    def death(self, name: int) -> str:
        """Return how a process of the turn ended; see Body."""
        while select.select([self.init.sock], [], [], 0)[0]:
            try:
                self._note(self.init.receive()[0])
            except (EOFError, OSError, ValueError):
                break
        return describe_exit(self.endings[name]) if name in self.endings else ""

    def _note(self, message: dict) -> None:
        if "failed" in message:
            raise SandboxError(f"a submission could not be started ({message['failed']})")
        if "died" in message:
            self.endings[message["died"]] = message["code"]

    def tidy(self, waiting: list[int]) -> str:
        """End all but the copies `waiting`, and wake the first of them; see Body."""
        numbers = [inner for inner in map(_innermost_pid, waiting) if inner]
        try:
            self.init.send({"waiting": numbers, "more": len(waiting) > 1})
            while "tidied" not in (message := self.init.receive()[0]):
                self._note(message)
        except (EOFError, OSError, ValueError):
            return "the first of its processes ended"
        return message["tidied"]

    def memory(self, members: Iterable[int], enough: int) -> int:
        """Return the bytes that the processes take together, with what their sockets can hold."""
        return super().memory(members, enough) + socket_memory(self.process.pid)

    def starved(self) -> bool:
        """Return True if the system ended one for want of memory; see Body."""
        return self.group is not None and self.group.kills() > self.kills

    def close(self) -> None:
        """Let go of init's number."""
        self.process.close()


def _innermost_pid(pid: int) -> int:
    """Return a process's number in the innermost of its namespaces; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            [line] = [line for line in file if line.startswith(b"NSpid:")]
    except (OSError, ValueError):
        return 0
    return int(line.split()[-1])


def _wait_for_sender(sock: socket.socket) -> int:
    """Wait for the next message; return the process, as numbered here, that sent it."""
    _, notes, _, _ = sock.recvmsg(1, socket.CMSG_SPACE(12), socket.MSG_PEEK)
    if not notes:
        raise EOFError("no message")
    return struct.unpack("3i", notes[0][2][:12])[0]
