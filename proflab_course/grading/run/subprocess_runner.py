"""Execute a plan in an ordinary subprocess, limited in time and memory but not isolated.

Use it for trusted notebooks, or where there is no sandbox. `SandboxRunner` isolates.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import Plan, Result, Submission
from proflab_course.grading.run.connection import new_channel
from proflab_course.grading.run.processes import ProcessTree, describe_exit
from proflab_course.grading.run.runners import (
    SharedLock,
    conditions_of,
    run_fairly,
    student_environment,
)
from proflab_course.grading.run.session import Session
from proflab_course.grading.run.student_files import gather_files, write_files
from proflab_course.grading.run.time_allowance import Allowance

_WORKER = Path(__file__).parents[1] / "inside" / "subprocess_worker.py"


class SubprocessRunner:
    """Runs each submission in an ordinary subprocess: for trusted notebooks only.

    tracebacks: False shows the last line alone of a cell's error, which takes a tenth of the time.
    """

    def __init__(self, limits: Limits | None = None, tracebacks: bool = True) -> None:
        self.limits = limits or Limits()
        self._mode = "Context" if tracebacks else "Minimal"
        self.conditions = conditions_of(False, self.limits)
        self._lock = SharedLock()
        self._processes: set[subprocess.Popen] = set()

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Execute a plan, as a Runner does."""
        files = gather_files(submission)
        session = partial(self._run_session, files, plan)
        return run_fairly(self._lock, plan, self.limits, session)

    def close(self) -> None:
        """End all running sessions; nothing else is kept."""
        for process in list(self._processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _run_session(self, files: dict[str, bytes], plan: Plan, allowance: Allowance) -> Result:
        with tempfile.TemporaryDirectory(prefix="proflab-", ignore_cleanup_errors=True) as name:
            place = Path(name) / "work"
            place.mkdir()
            write_files(files, place)
            ours, theirs = new_channel()
            with ours:
                with theirs:
                    process = self._start(place, theirs.fileno())
                self._processes.add(process)
                try:
                    processes = SubprocessProcesses(process)
                    return Session(ours, processes, allowance).carry_out(plan)
                finally:
                    self._processes.discard(process)
                    _end_group(process)

    def _start(self, place: Path, channel: int) -> subprocess.Popen:
        words = [str(channel), str(self.limits.cell_output), self._mode, *self._resources()]
        return subprocess.Popen(
            [sys.executable, "-I", str(_WORKER), *words],
            cwd=place,
            env=student_environment(place),
            pass_fds=[channel],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # So that `_end_group` reaches what it starts, and nothing else.
            start_new_session=True,
        )

    def _resources(self) -> list[str]:
        """Return the worker's resource limits as its arguments."""
        limits = {
            resource.RLIMIT_CPU: self.limits.process_seconds,
            resource.RLIMIT_DATA: self.limits.memory,
        }
        return [str(number) for pair in limits.items() for number in pair]


class SubprocessProcesses(ProcessTree):
    """The processes of an ordinary subprocess."""

    def __init__(self, process: subprocess.Popen) -> None:
        super().__init__(process.pid)
        self.process = process

    def death(self, name: int) -> str:
        """Return how the process ended; see SessionProcesses."""
        if name != self.process.pid or self.process.poll() is None:
            return ""
        return describe_exit(self.process.returncode)

    def starved(self) -> bool:
        """Return False: without a cgroup, the system reports no lack of memory."""
        return False

    def tidy(self, waiting: list[int]) -> str:
        """Return "" and do nothing: without isolation nothing is undone."""
        return ""


def _end_group(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
