"""Execute plans on a Dask cluster; verdicts, files and the gradebook stay with this process.

A worker is trusted like the grader's own machine. It receives code, files and limits, and isolates
as that machine would, or refuses; a refusal is reported, never graded. The plan of a lost worker is
executed again by another worker, or on this machine.
"""

from __future__ import annotations

import functools
import logging
import sys
import threading
import time
import uuid
from typing import Any

from proflab_course.course.harness import harness_fingerprint
from proflab_course.course.jobs import default_jobs
from proflab_course.course.layout import CourseError
from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import Isolation, Plan, Result, Runner, Submission
from proflab_course.grading.run.cluster_messages import (
    BadCrossing,
    Refusal,
    Task,
    pack_refusal,
    pack_result,
    pack_task,
    unpack_answer,
    unpack_task,
)
from proflab_course.grading.run.sandbox_runner import make_runner
from proflab_course.grading.run.student_files import gather_files

_CONNECT_SECONDS = 4
FIRST_WORKER_SECONDS = 15
NO_WORKER_SECONDS = 30.0
POLL_SECONDS = 2.0
_HOW_TO_INSTALL = "pip install 'proflab[cluster]'"


class Lost(Exception):
    """The cluster will not return a result; the sentence is the reason."""


class AllGone(Lost):
    """There has been no worker for so long that the runner no longer waits for one."""


class Workers:
    """The workers of a cluster: reports lost ones, and waits once if all were lost.

    most: the largest number of submissions that they executed at a time.
    """

    def __init__(self, client: Any) -> None:
        self._client, self._lock = client, threading.Lock()
        self._there = set(client.nthreads())
        self._looked, self._missed_since = time.monotonic(), 0.0
        self.most, self.gone = max(1, sum(client.nthreads().values())), False

    def look(self, at_once: bool = False) -> None:
        """Ask for the workers at intervals, or at once, and report those that were lost."""
        with self._lock:
            now = time.monotonic()
            if self.gone or not at_once and now - self._looked < POLL_SECONDS:
                return
            self._looked, there = now, self._ask()
            for lost in sorted(self._there - there):
                _print_above_bar(f"worker {lost} was lost: its submissions are executed again")
            if not there and self._there:
                self._missed_since = now
                most = f"{NO_WORKER_SECONDS:g} seconds"
                _print_above_bar(f"the cluster has no worker left: waiting {most} for one")
            self._there = there

    def _ask(self) -> set[str]:
        """Return the workers' addresses; none if the scheduler is lost, too."""
        try:
            return set(self._client.nthreads()) if self._client.status == "running" else set()
        except (OSError, TimeoutError, ValueError):
            return set()

    def wait_is_over(self) -> bool:
        """Return True if there has been no worker for too long; later ones are not used."""
        self.look()
        with self._lock:
            over = not self._there and time.monotonic() - self._missed_since > NO_WORKER_SECONDS
            if over and not self.gone:
                self.gone = True
                _print_above_bar("no worker has come: the rest is executed on this machine")
            return self.gone


class ClusterRunner:
    """Runs plans on a cluster, from as many threads at once as the cluster has."""

    def __init__(
        self, address: str, isolation: Isolation = "auto", limits: Limits | None = None
    ) -> None:
        self.address, self.isolation = address, isolation
        self.limits = limits or Limits()
        self._harness = harness_fingerprint()
        self._client = _connect(address)
        self._refusals: dict[str, str] = {}
        self._workers = Workers(self._client)
        self._local: Runner | None = None
        self._making, self._closed = threading.Lock(), False

    @property
    def jobs(self) -> int:
        """The number of submissions that the cluster executes at a time."""
        return self._workers.most

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Execute a plan, as a Runner does; raise CourseError if no worker can isolate."""
        if self._workers.gone:
            return self._run_here(submission, plan)
        files = gather_files(submission)
        task = pack_task(Task(plan, files, self.limits, self.isolation, self._harness))
        try:
            return self._run_there(task, plan)
        except AllGone:
            return self._run_here(submission, plan)
        except Lost as error:
            return self._run_here(submission, plan, str(error))
        finally:
            self._workers.look()

    def close(self) -> None:
        """Leave the cluster."""
        self._closed = True
        with quiet():
            self._workers.look(at_once=True)
            self._client.close(timeout=_CONNECT_SECONDS)
        if self._local is not None:
            self._local.close()

    def _run_there(self, task: bytes, plan: Plan) -> Result:
        while True:  # each refusal leaves one worker fewer; without any, _fit_workers raises
            answer = self._ask(task, self._fit_workers())
            try:
                answer = unpack_answer(answer, plan)
            except BadCrossing as error:
                raise Lost(str(error)) from None
            if isinstance(answer, Result):
                return answer
            if answer.where not in self._refusals:
                self._refusals[answer.where] = answer.sentence
                _print_above_bar(f"worker {answer.where} gets no more work: {answer.sentence}")

    def _fit_workers(self) -> list[str] | None:
        """Return the workers that have not refused; None if none has refused."""
        if not self._refusals:
            return None
        fit = [worker for worker in self._client.nthreads() if worker not in self._refusals]
        if not fit:
            where, why = next(iter(self._refusals.items()))
            raise CourseError(f"no worker of {self.address} can do the work; {where}: {why}")
        return fit

    def _ask(self, task: bytes, workers: list[str] | None) -> Any:
        key = f"proflab-{uuid.uuid4().hex}"
        try:
            # Of two equal tasks, Dask would otherwise execute one.
            future = self._client.submit(carry_out, task, key=key, pure=False, workers=workers)
        except (RuntimeError, OSError, ValueError) as error:  # the scheduler is gone
            raise Lost(f"the cluster accepts no task ({type(error).__name__})") from None
        try:
            return self._wait(future)
        finally:
            future.release()

    def _wait(self, future: Any) -> Any:
        while True:
            try:
                return future.result(timeout=POLL_SECONDS)
            except TimeoutError:
                if self._workers.wait_is_over():
                    raise AllGone("the cluster has no worker left") from None
            except CourseError:
                raise
            except BaseException as error:
                if isinstance(error, (KeyboardInterrupt, SystemExit)):
                    raise
                raise Lost(f"the cluster lost its task ({type(error).__name__})") from None

    def _run_here(self, submission: Submission, plan: Plan, why: str = "") -> Result:
        if self._closed:
            raise CourseError("the grading was ended")
        if why:
            _print_above_bar(f"{submission.name} is executed on this machine: {why}")
        with self._making:
            if self._local is None:
                jobs = min(default_jobs(), self._workers.most)
                self._local = make_runner(self.isolation, jobs, self.limits)
        return self._local.run(submission, plan)


def _connect(address: str) -> Any:
    """Return a client of the scheduler at `address`; raise CourseError if it has no workers."""
    try:
        import distributed
    except ImportError:
        raise CourseError(
            f"--scheduler needs dask.distributed, which is not installed: {_HOW_TO_INSTALL}"
        ) from None
    with quiet():
        try:
            client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise CourseError(
                f"no Dask scheduler answers at {address} ({reason[:200]}): start one with "
                "`dask scheduler`, and workers with `dask worker ADDRESS`"
            ) from None
        try:
            client.wait_for_workers(1, timeout=FIRST_WORKER_SECONDS)
        except (TimeoutError, OSError):
            client.close(timeout=_CONNECT_SECONDS)
            raise CourseError(
                f"the Dask scheduler at {address} has no workers: start some with "
                f"`dask worker {address}`"
            ) from None
    return client


class quiet:
    """Silences distributed's log for errors that this module reports itself."""

    def __enter__(self) -> None:
        self.log = logging.getLogger("distributed")
        self.level = self.log.level
        self.log.setLevel(logging.CRITICAL + 1)

    def __exit__(self, *_: object) -> None:
        self.log.setLevel(self.level)


def _print_above_bar(sentence: str) -> None:
    from tqdm import tqdm

    tqdm.write(f"proflab grade: {sentence}", file=sys.stderr)


# ── on a worker ─────────────────────────────────────────────────────────────────────────────


# A worker imports this function by its name; only then can it compare the harness.
def carry_out(data: bytes) -> bytes:
    """Return a task's result, or a refusal; the cluster calls this function on a worker."""
    from distributed import get_worker

    worker, task = get_worker(), unpack_task(data)
    try:
        if task.harness != harness_here():
            raise CourseError("it has another version of ProfLab than the grader")
        runner = _runner_here(task.isolation, task.limits, worker.state.nthreads)
        submission = Submission("task", files=task.files)
        return pack_result(runner.run(submission, task.plan))
    except CourseError as error:
        return pack_refusal(Refusal(worker.address, str(error)))


@functools.cache
def harness_here() -> str:
    """Return the fingerprint of the package that this worker has loaded."""
    return harness_fingerprint()


RUNNERS: dict[tuple, Runner] = {}
_MAKING = threading.Lock()


def _runner_here(isolation: Isolation, limits: Limits, jobs: int) -> Runner:
    """Return this worker's runner, made for its first task; it lives as long as the worker."""
    key = (isolation, limits, jobs)
    with _MAKING:
        if key not in RUNNERS:
            RUNNERS[key] = make_runner(isolation, jobs, limits)
        return RUNNERS[key]
