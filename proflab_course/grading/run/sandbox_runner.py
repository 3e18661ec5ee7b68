"""Run untrusted code: each job has a zygote inside bubblewrap, which forks a worker a session.

This is the grader's side. `zygote_client.py` talks to a zygote, `bubblewrap.py` lists what the
student's process may see, and `inside/zygote.py` confines it further before any student code runs.
`docs/security.md` describes what is defended and what is not.
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

from proflab_course.course.layout import CourseError
from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import Isolation, Plan, Result, Runner, Submission, statements
from proflab_course.grading.run.bubblewrap import find_bubblewrap
from proflab_course.grading.run.runners import SharedLock, conditions_of, run_fairly
from proflab_course.grading.run.student_files import gather_files
from proflab_course.grading.run.subprocess_runner import SubprocessRunner
from proflab_course.grading.run.time_allowance import Allowance
from proflab_course.grading.run.zygote_client import SandboxError, ZygoteClient, ZygoteOptions

_DRAWING = re.compile(r"matplotlib|pylab|pyplot|\bplot\.\w")
_HOW_TO_GO_WITHOUT = "or grade with --no-sandbox, for notebooks whose authors you trust"


def make_runner(
    isolation: Isolation = "auto",
    jobs: int = 1,
    limits: Limits | None = None,
    plots: bool = False,
) -> Runner:
    """Return the runner for `jobs` sessions at a time; raise CourseError if it cannot isolate.

    plots: True if nearly all code will draw, as it does when demo cells are executed.
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
            f"students' code cannot be isolated: {error}. `proflab doctor` lists what is missing; "
            f"{_HOW_TO_GO_WITHOUT[3:]}"
        ) from None
    return runner


class RunnerClosed(Exception):
    """The runner was closed while a thread waited for it."""


_open: weakref.WeakSet[SandboxRunner] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for runner in list(_open):
        runner.close()


class SandboxRunner:
    """Runs submissions in isolation, from up to `jobs` threads at once, each in its own slot."""

    def __init__(self, limits: Limits | None = None, jobs: int = 1, nested: bool = True) -> None:
        self.limits = limits or Limits()
        self.conditions = conditions_of(True, self.limits)
        self.jobs, self.nested = jobs, nested
        self.cores = sorted(os.sched_getaffinity(0))
        self._lock = SharedLock()
        # Zygotes die with the thread that started them, so one thread starts them all.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="proflab-sandbox")
        self._all = [JobSlot(self, number) for number in range(jobs)]
        self.closed, self._closing = False, threading.Lock()
        # Last in, first out: few hand-ins stay with the slots whose zygotes have started.
        self._slots: queue.LifoQueue[JobSlot | None] = queue.LifoQueue()  # None: no more
        for slot in reversed(self._all):
            self._slots.put(slot)
        _open.add(self)

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Execute a plan; raise CourseError if the sandbox fails even with an empty plan."""
        files = gather_files(submission)
        slot = self._take()
        try:
            return run_fairly(self._lock, plan, self.limits, partial(slot.run_session, files, plan))
        except SandboxError as error:
            if not slot.works():
                problem = f"the sandbox failed: {error}; run `proflab doctor` to find the cause"
                raise CourseError(problem) from None
            raise  # only this hand-in is not graded
        finally:
            self._give_back(slot)

    def _take(self) -> JobSlot:
        """Wait for a free slot and take it; raise RunnerClosed after close()."""
        slot = self._slots.get()
        if slot is None:
            self._slots.put(None)  # for the other threads that wait
            raise RunnerClosed
        return slot

    def _give_back(self, slot: JobSlot) -> None:
        with self._closing:
            if not self.closed:
                self._slots.put(slot)
                return
        slot.close()

    def warm(self, plots: bool = False) -> dict:
        """Start one zygote now and the others in the background; return what the first reports.

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
        cores = self.share(number)
        options = ZygoteOptions(self.limits, number, cores, self.nested, plots)
        zygote = ZygoteClient(options)
        if self.nested and not zygote.about["nested"]:
            zygote.close()
            self.nested = False  # from now on each session starts a zygote of its own
            zygote = ZygoteClient(replace(options, nested=False))
        return zygote

    def share(self, number: int) -> list[int]:
        """Return the cores of one slot; slots have equal shares, which overlap only if cores lack.

        Grader and student alternate: on one core, no message has to wake another core.
        """
        return self.cores[number :: self.jobs] or [self.cores[number % len(self.cores)]]

    def close(self) -> None:
        """End all zygotes with their sessions, and wake the threads that wait for a slot."""
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


class JobSlot:
    """A place for one session at a time, with zygotes that are replaced when worn or broken.

    One zygote serves code that draws nothing, another, which has imported pyplot, code that draws.
    """

    def __init__(self, runner: SandboxRunner, number: int) -> None:
        self.runner, self.number = runner, number
        self.cores = runner.share(number)
        self.zygotes: dict[bool, Future[ZygoteClient]] = {}

    def begin(self, plots: bool = False) -> Future[ZygoteClient]:
        """Start the slot's zygote for code that draws or does not, unless it exists."""
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

    def run_session(self, files: dict[str, bytes], plan: Plan, allowance: Allowance) -> Result:
        """Carry out a session; repeat it once if the sandbox fails or is ended from outside."""
        plots = draws(plan)
        try:
            return self._run_session(files, plan, allowance, plots)
        except SandboxError as error:
            allowance.undo(error.result)
            return self._run_session(files, plan, allowance, plots, last=True)

    def _run_session(
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
                result = zygote.run_session(files, plan, allowance)
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
            return self.run_session({}, (), Allowance(self.runner.limits)).status == "finished"
        except SandboxError:
            return False

    def _end(self, plots: bool) -> None:
        with contextlib.suppress(SandboxError):
            if starting := self.zygotes.pop(plots, None):
                starting.result().close()

    def kill(self) -> None:
        """Kill the slot's zygotes from another thread; the slot's own thread notices and closes."""
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
    """Return True if a plan's code seems to draw; a wrong guess only costs an import."""
    return any(_DRAWING.search(code) for item in plan for _, code in statements(item))
