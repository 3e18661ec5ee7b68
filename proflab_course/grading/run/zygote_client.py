"""Start one zygote, have it fork a worker for each session, and track that session's processes.

This is the grader's side. `inside/launch.py` starts the zygote; `inside/zygote.py` runs in it.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from proflab_course.grading.inside.channel import Channel
from proflab_course.grading.limits import END_SECONDS, MAX_SESSIONS, START_SECONDS, Limits
from proflab_course.grading.plan import Plan, Result
from proflab_course.grading.run.bubblewrap import (
    LIBRARY,
    find_bubblewrap,
    make_view,
    site_folders,
    unprivileged_user,
    writable_folders,
)
from proflab_course.grading.run.cgroups import Group
from proflab_course.grading.run.connection import UCRED, new_channel
from proflab_course.grading.run.processes import Process, ProcessTree, describe_exit, socket_memory
from proflab_course.grading.run.seccomp import SeccompMissing, seccomp_program
from proflab_course.grading.run.session import Session
from proflab_course.grading.run.time_allowance import Allowance

_LAUNCH = Path(__file__).parents[1] / "inside" / "launch.py"
_NUMBERS = itertools.count()  # of cgroups: a slot may have an old zygote's and a new one's


class SandboxError(Exception):
    """The sandbox itself failed, not the student's code; the sentence is the reason.

    result: the result so far of the session, if it had begun.
    """

    def __init__(self, sentence: str, result: Result | None = None) -> None:
        super().__init__(sentence)
        self.result = result


@dataclass(frozen=True)
class ZygoteOptions:
    """The options with which a zygote is started.

    slot: number of its job. cores: processors on which it starts. nested: True if sessions have
    namespaces of their own. plots: True if it imports pyplot.
    """

    limits: Limits
    slot: int
    cores: list[int]
    nested: bool
    plots: bool


class ZygoteClient:
    """Client of one zygote.

    usable: False if it cannot carry out another session. lost: True if something outside the
    session ended it during one.
    """

    def __init__(self, options: ZygoteOptions) -> None:
        self.limits, self.sessions, self.usable, self.lost = options.limits, 0, True, False
        self.group = Group.make(f"{next(_NUMBERS)}")
        ours, theirs = socket.socketpair()
        self.control = Channel(ours)
        ours.settimeout(START_SECONDS)
        with theirs, tempfile.TemporaryFile() as errors:
            self.process = self._launch(options, theirs.fileno(), errors)
            theirs.close()
            try:
                self._prepare(options)
                self.about = self.control.receive()[0]
            except (EOFError, OSError, ValueError):
                self.close()
                errors.seek(0)
                lines = errors.read().decode(errors="replace").strip().splitlines()
                reason = lines[-1] if lines else "without a message"
                raise SandboxError(f"the sandbox did not start ({reason[:300]})") from None
        self.nested = self.about["nested"]
        ours.settimeout(END_SECONDS)
        if self.group is not None:
            # The group also counts the scratch space and the zygote's own memory.
            self.group.limit(self.group.used() + self.limits.memory + self.limits.scratch)

    def _launch(self, options: ZygoteOptions, channel: int, errors: IO) -> subprocess.Popen:
        view = make_view(options.limits, options.nested, channel)
        orders = {
            "bubblewrap": find_bubblewrap(),
            "parent": os.getpid(),
            "user": unprivileged_user(options.slot),
            "cores": options.cores,
            "groups": [self.group.entry] if self.group else [],
            "before": view.before,
            "binds": view.binds,
            "after": view.after,
        }
        return subprocess.Popen(
            # Nothing of the instructor's: no variable, no site-packages, no folder.
            [sys.executable, "-I", "-S", str(_LAUNCH), json.dumps(orders)],
            env={},
            cwd="/",
            pass_fds=[channel],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )

    def _prepare(self, options: ZygoteOptions) -> None:
        try:
            program = seccomp_program()
        except SeccompMissing:
            program = b""
        order = {
            "limits": asdict(self.limits) | {"process_seconds": self.limits.process_seconds},
            "nested": options.nested,
            "plots": options.plots,
            "site": site_folders(),
            "library": LIBRARY,
            "writable": writable_folders(),
        }
        self.control.send(order, program)

    def run_session(self, files: dict[str, bytes], plan: Plan, allowance: Allowance) -> Result:
        """Carry out a plan in a fork; return when all of its processes have ended."""
        self.sessions += 1
        init, init_theirs = new_channel()
        ours, theirs = new_channel()
        with init, ours:
            with init_theirs, theirs:
                self._announce(init_theirs, theirs)
            processes = SandboxProcesses(init, files, self.group)
            try:
                return Session(ours, processes, allowance).carry_out(plan)
            finally:
                processes.close()
                init.close()
                self._wait_for_the_end()

    def _announce(self, init: socket.socket, channel: socket.socket) -> None:
        order = json.dumps({"session": self.sessions}).encode()
        try:
            socket.send_fds(self.control.sock, [order], [init.fileno(), channel.fileno()])
        except OSError:
            raise SandboxError("its warm process ended") from None

    def _wait_for_the_end(self) -> None:
        if not self.nested or self.sessions >= MAX_SESSIONS:
            self.usable = False
        if not self.nested:
            self.close()
            return
        try:
            message = self.control.receive()[0]
            self.usable = self.usable and message == {"ended": self.sessions}
        except (EOFError, OSError, ValueError):
            self.usable, self.lost = False, True

    def close(self) -> None:
        """End the zygote; the kernel then ends every process in its namespaces."""
        self.usable = False
        self.control.sock.close()
        try:
            self.process.wait(2.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.group is not None:
            self.group.remove()


class SandboxProcesses(ProcessTree):
    """All processes of one session: those below its init, which reports how each one ended."""

    def __init__(
        self, init: socket.socket, files: dict[str, bytes], group: Group | None = None
    ) -> None:
        init.settimeout(START_SECONDS)
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
        """Return how a process of the session ended; see SessionProcesses."""
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
        """End all except the copies `waiting`, and wake the first; see SessionProcesses."""
        numbers = [inner for inner in map(_innermost_pid, waiting) if inner]
        try:
            self.init.send({"waiting": numbers, "more": len(waiting) > 1})
            while "tidied" not in (message := self.init.receive()[0]):
                self._note(message)
        except (EOFError, OSError, ValueError):
            return "the first of its processes ended"
        return message["tidied"]

    def memory(self, members: Iterable[int], enough: int) -> int:
        """Return the bytes that the processes use together, with those that sockets can hold."""
        return super().memory(members, enough) + socket_memory(self.process.pid)

    def starved(self) -> bool:
        """Return True if the system killed one because memory ran out; see SessionProcesses."""
        return self.group is not None and self.group.kills() > self.kills

    def close(self) -> None:
        """Close the descriptor of init."""
        self.process.close()


def _innermost_pid(pid: int) -> int:
    """Return a process's number in the innermost of its namespaces; 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            [line] = [line for line in file if line.startswith(b"NSpid:")]
    except (OSError, ValueError):
        return 0
    return int(line.split()[-1])


def _wait_for_sender(sock: socket.socket) -> int:
    """Wait for the next message; return the number of its sender in this namespace."""
    # The message itself stays for `Channel.receive`.
    _, notes, _, _ = sock.recvmsg(1, socket.CMSG_SPACE(UCRED.size), socket.MSG_PEEK)
    if not notes:
        raise EOFError("no message")
    return UCRED.unpack_from(notes[0][2])[0]
