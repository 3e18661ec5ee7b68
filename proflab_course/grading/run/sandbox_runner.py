"""Runs strangers' code: one warm zygote a job slot inside bubblewrap, one forked student a turn.

The grader's side. How it holds a zygote is in `zygote_client.py`, what the student's process may
see in `bubblewrap.py`, what it does to itself before any student code in `inside/zygote.py`.
`docs/security.md` says what is defended and what is not.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import re
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Literal

from proflab_course.course.layout import CourseError
from proflab_course.grading.plan import Limits, Plan, Result, Runner, Submission, statements
from proflab_course.grading.run.bubblewrap import find_bubblewrap
from proflab_course.grading.run.runners import SharedLock, run_fairly
from proflab_course.grading.run.student_files import gather_files
from proflab_course.grading.run.subprocess_runner import SubprocessRunner
from proflab_course.grading.run.time_allowance import Allowance
from proflab_course.grading.run.zygote_client import SandboxError, Wanted, ZygoteClient

_DRAWING = re.compile(r"matplotlib|pylab|pyplot|\bplot\.\w")
_HOW_TO_GO_WITHOUT = "or grade with --no-sandbox, for notebooks whose authors you trust"


def make_runner(
    isolation: Literal["auto", "none"] = "auto",
    jobs: int = 1,
    limits: Limits | None = None,
    plots: bool = False,
) -> Runner:
    """Return the runner for `jobs` turns at a time; raise CourseError where it cannot isolate.

    plots: nearly all code will draw, as it does where demo cells are executed.
    """
    if isolation == "none":
        return SubprocessRunner(limits)
    if not sys.platform.startswith("linux"):
        raise CourseError(
            f"isolation needs Linux: grade in a container or virtual machine, {_HOW_TO_GO_WITHOUT}"
        )
    if find_bubblewrap() is None:
        raise CourseError(
            "students' code cannot be isolated: bubblewrap is not installed. Install it "
            f"(apt install bubblewrap, dnf install bubblewrap), {_HOW_TO_GO_WITHOUT}"
        )
    runner = SandboxRunner(limits, jobs)
    try:
        runner.warm(plots)
    except SandboxError as error:
        runner.close()
        raise CourseError(
            f"students' code cannot be isolated: {error}. `proflab doctor` says what is missing; "
            f"{_HOW_TO_GO_WITHOUT[3:]}"
        ) from None
    return runner


class RunnerClosed(Exception):
    """The runner was closed while somebody waited for it."""


_open: weakref.WeakSet[SandboxRunner] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
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
        self._lock = SharedLock()
        # Zygotes die with the thread that started them, so one thread starts them all.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="proflab-sandbox")
        self._all = [Slot(self, number) for number in range(jobs)]
        self.closed, self._closing = False, threading.Lock()
        self._slots: queue.LifoQueue[Slot | None] = queue.LifoQueue()  # None: no more
        for slot in reversed(self._all):
            self._slots.put(slot)
        _open.add(self)

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Execute a plan; raise CourseError where the sandbox fails, for an empty plan, too."""
        files = gather_files(submission)
        slot = self._take()
        try:
            return run_fairly(self._lock, plan, self.limits, partial(slot.turn, files, plan))
        except SandboxError as error:
            if not slot.works():
                problem = f"the sandbox failed: {error}; `proflab doctor` says more"
                raise CourseError(problem) from None
            raise  # for this hand-in alone
        finally:
            self._give_back(slot)

    def _take(self) -> Slot:
        """Wait for a free slot and take it; raise RunnerClosed when there will be none."""
        slot = self._slots.get()
        if slot is None:
            self._slots.put(None)  # for whoever else waits
            raise RunnerClosed
        return slot

    def _give_back(self, slot: Slot) -> None:
        with self._closing:
            if not self.closed:
                self._slots.put(slot)
                return
        slot.close()

    def warm(self, plots: bool = False) -> dict:
        """Start one zygote now, the others behind the scenes; return what it found here.

        Raises SandboxError.
        """
        slot = self._take()
        try:
            about = slot.zygote(plots).about
            if self.nested:
                for other in self._all:
                    other.begin(plots)
            return about
        finally:
            self._give_back(slot)

    def start(self, number: int, plots: bool) -> Future[ZygoteClient]:
        """Return a new zygote for a slot."""
        if self.closed:
            raise RunnerClosed
        return self._starter.submit(self._start, number, plots)

    def _start(self, number: int, plots: bool) -> ZygoteClient:
        wanted = Wanted(self.limits, number, self.share(number), self.threads, self.nested, plots)
        zygote = ZygoteClient(wanted)
        if self.nested and not zygote.about["nested"]:
            zygote.close()
            self.nested = False  # from now on a cold one each turn
            zygote = ZygoteClient(replace(wanted, nested=False))
        return zygote

    def share(self, number: int) -> list[int]:
        """Return the cores of one slot: as many for each, none another's while there are enough.

        Grader and student take turns: on one core they need not wake another for every message.
        """
        return self.cores[number :: self.jobs] or [self.cores[number % len(self.cores)]]

    def close(self) -> None:
        """End all zygotes, the turns that they carry out, and the waiting for a slot."""
        with self._closing:
            self.closed = True
            free = []
            with contextlib.suppress(queue.Empty):
                while True:
                    free.append(self._slots.get_nowait())
            self._slots.put(None)
        for slot in self._all:
            if slot in free:
                slot.close()
            else:
                slot.kill()
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
        self.zygotes: dict[bool, Future[ZygoteClient]] = {}

    def begin(self, plots: bool = False) -> Future[ZygoteClient]:
        """Start the slot's zygote for code that draws or does not, if there is none yet."""
        if plots not in self.zygotes:
            self.zygotes[plots] = self.runner.start(self.number, plots)
        return self.zygotes[plots]

    def zygote(self, plots: bool = False) -> ZygoteClient:
        """Return the slot's zygote for code that draws or does not; raise SandboxError."""
        try:
            return self.begin(plots).result()
        except Exception:
            del self.zygotes[plots]
            raise

    def turn(self, files: dict[str, bytes], plan: Plan, allowance: Allowance) -> Result:
        """Carry out a turn; once more, where the sandbox fails or is ended from outside."""
        plots = draws(plan)
        try:
            return self._turn(files, plan, allowance, plots)
        except SandboxError as error:
            allowance.undo(error.result)
            return self._turn(files, plan, allowance, plots, last=True)

    def _turn(
        self,
        files: dict[str, bytes],
        plan: Plan,
        allowance: Allowance,
        plots: bool,
        last: bool = False,
    ) -> Result:
        zygote = self.zygote(plots)
        try:
            with _keeping_to(self.cores):
                result = zygote.turn(files, plan, allowance)
            if zygote.lost and not last and result.status in ("process died", "tampered"):
                raise SandboxError("its warm process ended", result)  # and the student's with it
        except BaseException:
            self._end(plots)
            raise
        if not zygote.usable or result.status == "tampered":
            self._end(plots)
        return result

    def works(self) -> bool:
        """Return True if an empty plan can be carried out here."""
        try:
            return self.turn({}, (), Allowance(self.runner.limits)).status == "finished"
        except SandboxError:
            return False

    def _end(self, plots: bool) -> None:
        with contextlib.suppress(SandboxError):
            if starting := self.zygotes.pop(plots, None):
                starting.result().close()

    def kill(self) -> None:
        """End what runs in the slot, from another thread than its own, which notices and closes."""
        for starting in list(self.zygotes.values()):
            if starting.done() and not starting.cancelled() and starting.exception() is None:
                starting.result().process.kill()

    def close(self) -> None:
        """End the slot's zygotes."""
        for plots in list(self.zygotes):
            self._end(plots)


@contextlib.contextmanager
def _keeping_to(cores: list[int]) -> Iterator[None]:
    """Let this thread run on these cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def draws(plan: Plan) -> bool:
    """Return True if a plan's code seems to draw: a wrong guess merely makes an import longer."""
    return any(_DRAWING.search(code) for item in plan for _, code in statements(item))
