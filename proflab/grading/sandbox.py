"""Runs strangers' code: one warm zygote a job slot inside bubblewrap, one forked student a turn.

The grader's side. What the student's process may see is in `bubblewrap.py`, what it does to itself
before any student code in `zygote.py`. `docs/security.md` says what is defended and what is not.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import queue
import re
import select
import socket
import struct
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from proflab.course.layout import CourseError
from proflab.grading.bubblewrap import (
    LIBRARY,
    find_bubblewrap,
    make_view,
    site_folders,
    unprivileged_user,
    writable_folders,
)
from proflab.grading.cgroups import Group
from proflab.grading.channel import Channel
from proflab.grading.conversation import new_channel
from proflab.grading.files import gather_files
from proflab.grading.plan import Limits, Plan, Result, Runner, Submission, statements
from proflab.grading.processes import Family, Process, ending
from proflab.grading.runner import SPARE_SECONDS, PlainRunner, Turnstile, run_fairly
from proflab.grading.syscalls import SeccompMissing, seccomp_program
from proflab.grading.turn import Turn

LAUNCH = Path(__file__).with_name("launch.py")
START_SECONDS = 120.0
END_SECONDS = 30.0
TURNS = 200
NUMBERS = itertools.count()
DESCRIPTORS = 256
DRAWING = re.compile(r"matplotlib|pylab|pyplot|\bplot\.\w")
HOW_TO_GO_WITHOUT = "or grade with --no-sandbox, for notebooks whose authors you trust"


class SandboxError(Exception):
    """The sandbox itself failed, not the student's code; the sentence says how."""


def make_runner(
    isolation: Literal["auto", "none"] = "auto", jobs: int = 1, limits: Limits | None = None
) -> Runner:
    """The runner for `jobs` turns at a time; CourseError where isolation is not to be had."""
    if isolation == "none":
        return PlainRunner(limits)
    if not sys.platform.startswith("linux"):
        raise CourseError(
            f"isolation needs Linux: grade in a container or virtual machine, {HOW_TO_GO_WITHOUT}"
        )
    if find_bubblewrap() is None:
        raise CourseError(
            "students' code cannot be isolated: bubblewrap is not installed. Install it "
            f"(apt install bubblewrap, dnf install bubblewrap), {HOW_TO_GO_WITHOUT}"
        )
    runner = SandboxRunner(limits, jobs)
    try:
        runner.warm()
    except SandboxError as error:
        runner.close()
        raise CourseError(
            f"students' code cannot be isolated: {error}. `proflab doctor` says what is missing; "
            f"{HOW_TO_GO_WITHOUT[3:]}"
        ) from None
    return runner


_open: weakref.WeakSet[SandboxRunner] = weakref.WeakSet()


@atexit.register
def close_all() -> None:
    """End what is still running when the grader ends in good order."""
    for runner in list(_open):
        runner.close()


class SandboxRunner:
    """Runs submissions isolated, from up to `jobs` threads at once, each in a slot of its own."""

    def __init__(self, limits: Limits | None = None, jobs: int = 1, nested: bool = True) -> None:
        self.limits = limits or Limits()
        self.jobs, self.nested = jobs, nested
        self.cores = sorted(os.sched_getaffinity(0))
        self.threads = max(1, len(self.cores) // jobs)
        self._turnstile = Turnstile()
        # Zygotes die with the thread that started them, so one thread starts them all.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="proflab-sandbox")
        self._all = [Slot(self, number) for number in range(jobs)]
        self._slots: queue.LifoQueue[Slot] = queue.LifoQueue()
        for slot in reversed(self._all):
            self._slots.put(slot)
        _open.add(self)

    def run(self, submission: Submission, plan: Plan) -> Result:
        """See Runner. Raises CourseError when the sandbox itself fails, twice."""
        files = gather_files(submission)
        slot = self._slots.get()
        try:
            return run_fairly(self._turnstile, lambda: slot.turn(files, plan))
        except SandboxError as error:
            raise CourseError(f"the sandbox failed: {error}; `proflab doctor` says more") from None
        finally:
            self._slots.put(slot)

    def warm(self) -> dict:
        """Start one zygote now, the other slots' behind the scenes; what it found on this machine.

        Raises SandboxError.
        """
        slot = self._slots.get()
        try:
            about = slot.zygote().about
            if self.nested:
                for other in self._all:
                    other.begin()
            return about
        finally:
            self._slots.put(slot)

    def start(self, number: int, plots: bool) -> Future[Zygote]:
        """A new zygote for a slot."""
        return self._starter.submit(self._start, number, plots)

    def _start(self, number: int, plots: bool) -> Zygote:
        zygote = Zygote(self, number, plots)
        if self.nested and not zygote.about["nested"]:
            zygote.close()
            self.nested = False  # from now on a cold one each turn
            zygote = Zygote(self, number, plots)
        return zygote

    def share(self, number: int) -> list[int]:
        """The cores of one slot: about as many for each, none another's while there are enough.

        Grader and student take turns: on one core they need not wake another for every message.
        """
        return self.cores[number :: self.jobs] or [self.cores[number % len(self.cores)]]

    def close(self) -> None:
        """End all zygotes."""
        for _ in range(self.jobs):
            with contextlib.suppress(queue.Empty):
                self._slots.get_nowait().close()
        self._starter.shutdown()

    def __enter__(self) -> SandboxRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Slot:
    """A place for one turn at a time, with zygotes that are replaced when worn or broken.

    One is for all whose code draws nothing; another, that has pyplot, for those whose code does.
    """

    def __init__(self, runner: SandboxRunner, number: int) -> None:
        self.runner, self.number = runner, number
        self.cores = runner.share(number)
        self.zygotes: dict[bool, Future[Zygote]] = {}

    def begin(self, plots: bool = False) -> Future[Zygote]:
        """Start the slot's zygote for code that draws or does not, if there is none yet."""
        if plots not in self.zygotes:
            self.zygotes[plots] = self.runner.start(self.number, plots)
        return self.zygotes[plots]

    def zygote(self, plots: bool = False) -> Zygote:
        """The slot's zygote for code that draws or does not. Raises SandboxError."""
        try:
            return self.begin(plots).result()
        except Exception:
            del self.zygotes[plots]
            raise

    def turn(self, files: dict[str, bytes], plan: Plan) -> Result:
        """One turn; where the sandbox fails before the student's code began, once more."""
        plots = draws(plan)
        try:
            return self._turn(files, plan, plots)
        except SandboxError:
            return self._turn(files, plan, plots)

    def _turn(self, files: dict[str, bytes], plan: Plan, plots: bool) -> Result:
        zygote = self.zygote(plots)
        try:
            with keeping_to(self.cores):
                result = zygote.turn(files, plan)
        except BaseException:
            self._end(plots)
            raise
        if not zygote.usable or result.status == "tampered":
            self._end(plots)
        return result

    def _end(self, plots: bool) -> None:
        with contextlib.suppress(SandboxError):
            self.zygotes.pop(plots).result().close()

    def close(self) -> None:
        """End the slot's zygotes."""
        for plots in list(self.zygotes):
            self._end(plots)


@contextlib.contextmanager
def keeping_to(cores: list[int]) -> Iterator[None]:
    """Let this thread run on these cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def draws(plan: Plan) -> bool:
    """Whether a plan's code seems to draw: where that is wrong, an import merely takes longer."""
    return any(DRAWING.search(code) for item in plan for _, code in statements(item))


class Zygote:
    """The grader's hold on one zygote; `plots`: it has pyplot in memory."""

    def __init__(self, runner: SandboxRunner, slot: int, plots: bool = False) -> None:
        self.limits, self.turns, self.usable = runner.limits, 0, True
        self.group = Group.make(f"{next(NUMBERS)}")
        ours, theirs = socket.socketpair()
        self.control = Channel(ours)
        ours.settimeout(START_SECONDS)
        with theirs, tempfile.TemporaryFile() as complaints:
            self.process = self._launch(runner, slot, theirs.fileno(), complaints)
            theirs.close()
            try:
                self._prepare(runner.nested, plots)
                self.about = self.control.receive()[0]
            except (EOFError, OSError, ValueError):
                self.close()
                complaints.seek(0)
                lines = complaints.read().decode(errors="replace").strip().splitlines()
                said = lines[-1] if lines else "it said nothing"
                raise SandboxError(f"the sandbox did not start ({said[:300]})") from None
        self.nested = self.about["nested"]
        ours.settimeout(END_SECONDS)
        if self.group is not None:
            # The scratch space counts, and what the zygote has already.
            self.group.limit(self.group.used() + runner.limits.memory + runner.limits.scratch)

    def _launch(
        self, runner: SandboxRunner, slot: int, channel: int, complaints
    ) -> subprocess.Popen:
        view = make_view(runner.limits, runner.threads, runner.nested, channel)
        orders = {
            "bubblewrap": find_bubblewrap(),
            "parent": os.getpid(),
            "user": unprivileged_user(slot),
            "cores": runner.share(slot),
            "groups": [self.group.entry] if self.group else [],
            "before": view.before,
            "binds": view.binds,
            "after": view.after,
        }
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCH), json.dumps(orders)],
            env={},
            cwd="/",
            pass_fds=[channel],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        )

    def _prepare(self, nested: bool, plots: bool) -> None:
        limits = self.limits
        try:
            program = seccomp_program()
        except SeccompMissing:
            program = b""
        inside = {
            "memory": limits.memory,
            "cpu": int(limits.notebook_seconds) + SPARE_SECONDS,
            "processes": limits.processes,
            "file": limits.file,
            "descriptors": DESCRIPTORS,
            "scratch": limits.scratch,
            "scratch_files": limits.scratch_files,
        }
        order = {
            "limits": inside,
            "nested": nested,
            "plots": plots,
            "site": site_folders(),
            "library": LIBRARY,
            "writable": writable_folders(),
        }
        self.control.send(order, program)

    def turn(self, files: dict[str, bytes], plan: Plan) -> Result:
        """Carry out a plan in a fork; returns when nothing of it is left running."""
        self.turns += 1
        init, init_theirs = new_channel()
        ours, theirs = new_channel()
        with init, ours:
            with init_theirs, theirs:
                self._announce(init_theirs, theirs)
            body = Body(init, files, self.group)
            try:
                return Turn(ours, body, self.limits).carry_out(plan)
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
            self.usable = False

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
        init.settimeout(START_SECONDS)
        self.group = group
        self.kills = group.kills() if group else 0
        self.init = Channel(init)
        self.endings: dict[int, int] = {}
        names = [(path, len(data)) for path, data in files.items()]
        try:
            self.init.send({"files": names}, b"".join(files.values()))
            super().__init__(sender(init))
            message = self.init.receive()[0]
        except (EOFError, OSError, ValueError) as error:
            raise SandboxError(f"a turn could not be started ({error})") from None
        if "failed" in message:
            raise SandboxError(f"a turn could not be started ({message['failed']})")
        self.process = Process(self.roots[0])

    def death(self, name: int) -> str:
        """See processes.Body."""
        self._hear()
        return ending(self.endings[name]) if name in self.endings else ""

    def _hear(self) -> None:
        while select.select([self.init.sock], [], [], 0)[0]:
            try:
                message = self.init.receive()[0]
            except (EOFError, OSError, ValueError):
                return
            if "failed" in message:
                raise SandboxError(f"a turn could not be started ({message['failed']})")
            self.endings[message["died"]] = message["code"]

    def starved(self) -> bool:
        """See processes.Body."""
        return self.group is not None and self.group.kills() > self.kills

    def close(self) -> None:
        """Let go of init's number."""
        self.process.close()


def sender(sock: socket.socket) -> int:
    """The process, as numbered here, whose message comes next; waits for it."""
    _, notes, _, _ = sock.recvmsg(1, socket.CMSG_SPACE(12), socket.MSG_PEEK)
    if not notes:
        raise EOFError("no message")
    return struct.unpack("3i", notes[0][2][:12])[0]
