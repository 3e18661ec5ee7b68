"""Executes a plan in a process of the student's own and brings back the replies.

`Runner.run(submission, plan)` sends the plan block by block and returns a `Result`. How the
process is confined is the runner's business, not its caller's: `SubprocessRunner` starts an
ordinary subprocess and confines nothing but time and memory; `SandboxRunner` isolates.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from proflab_course.grading.plan import (
    Limits,
    Plan,
    Reply,
    Result,
    RunBlock,
    RunCell,
    Runner,
    Submission,
    fill_lost,
    statements,
)
from proflab_course.grading.run.connection import new_channel
from proflab_course.grading.run.processes import Family, describe_exit
from proflab_course.grading.run.session import Session
from proflab_course.grading.run.student_files import gather_files, write_files
from proflab_course.grading.run.time_allowance import Allowance, run_through

__all__ = [
    "Limits", "Plan", "SubprocessRunner", "Reply", "Result", "RunBlock", "RunCell", "Runner",
    "Submission", "fill_lost", "statements",
]  # fmt: skip

_WORKER = Path(__file__).parents[1] / "inside" / "subprocess_worker.py"
SPARE_SECONDS = 5


class SharedLock:
    """Lets turns run side by side, and one that needs the machine for itself alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running, self._waiting_alone = 0, 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Run side by side with others; whoever waits to be alone goes first."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting_alone == 0 and self._running >= 0)
            self._running += 1
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Run while nobody else does."""
        with self._changed:
            self._waiting_alone += 1
            self._changed.wait_for(lambda: self._running == 0)
            self._waiting_alone -= 1
            self._running = -1
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._changed:
            self._running = max(0, self._running - 1)
            self._changed.notify_all()


def run_fairly(lock: SharedLock, turn: Callable[[], Result]) -> Result:
    """Run a turn; one that ran out of real time gets a second try, alone on the machine."""
    with lock.shared():
        result = turn()
    if not result.hit_wall:
        return result
    with lock.exclusive():
        return turn()


class SubprocessRunner:
    """Runs each submission in an ordinary subprocess: for one's own notebooks, not strangers'."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._lock = SharedLock()
        self._processes: set[subprocess.Popen] = set()

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Execute a plan, as a Runner does."""
        files = gather_files(submission)

        def turn() -> Result:
            return run_through(lambda allowance: self._turn(files, plan, allowance), self.limits)

        return run_fairly(self._lock, turn)

    def close(self) -> None:
        """End the turns that are still going on; nothing else is kept."""
        for process in list(self._processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _turn(self, files: dict[str, bytes], plan: Plan, allowance: Allowance) -> Result:
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
                    body = SubprocessBody(process)
                    return Session(ours, body, self.limits, allowance).carry_out(plan)
                finally:
                    self._processes.discard(process)
                    _end_group(process)

    def _start(self, place: Path, channel: int) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-I", str(_WORKER), str(channel), *self._limits()],
            cwd=place,
            env=student_environment(place),
            pass_fds=[channel],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _limits(self) -> list[str]:
        limits = self.limits
        cpu = int(limits.notebook_seconds) + SPARE_SECONDS
        return [str(resource.RLIMIT_CPU), str(cpu), str(resource.RLIMIT_DATA), str(limits.memory)]


class SubprocessBody(Family):
    """The processes of an ordinary subprocess."""

    def __init__(self, process: subprocess.Popen) -> None:
        super().__init__(process.pid)
        self.process = process

    def death(self, name: int) -> str:
        """Return how the process ended; see Body."""
        if name != self.process.pid or self.process.poll() is None:
            return ""
        return describe_exit(self.process.returncode)

    def starved(self) -> bool:
        """Return True where memory ran out; see Body."""
        return False

    def tidy(self, waiting: list[int]) -> str:
        """Do nothing: without isolation nothing is undone."""
        return ""


def _end_group(process: subprocess.Popen) -> None:
    """End a process and all that stayed in its session's first group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def student_environment(home: Path) -> dict[str, str]:
    """Return the variables of a student's process: none of the instructor's."""
    return {
        "HOME": str(home),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "USER": "student",
        "MPLCONFIGDIR": str(home / ".matplotlib"),
        "IPYTHONDIR": str(home / ".ipython"),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PROFLAB_DEMO": "small",
        "PROFLAB_MINE": "off",
    }
