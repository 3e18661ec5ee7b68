"""State every limit of time and memory, and the rules by which one follows from another.

The numbers are here, and the files below import them. `limit_options.py` sets some of them from the
command's options and from jupyter_config.py; `docs/security.md` explains them to instructors.

    limit on …                    enforced by                               when exceeded
    a cell, a case, a notebook    run/connection.py                         "timed out"
    the cases of a test cell      run/statements.py, run/time_allowance.py  "timed out"
    code that does not end        run/time_allowance.py                     "timed out"
    memory                        run/connection.py; run/cgroups.py         "out of memory"
    processes, files, signals     the kernel, set by inside/zygote.py       the system call fails
    replies                       run/replies.py, run/connection.py         "tampered"
    values                        run/replies.py, run/statements.py         the case fails
    outputs                       inside/outputs.py, run/statements.py      a note in the output
    files beside the notebook     run/student_files.py                      the file is left out
    reading a hand-in             limited_process.py                        "not graded"
    judging and writing           work_limit.py                             "not graded"
    judging tapes and logs        races.py, apart.py                        "not graded"
    laying out a page             limited_process.py, pages/render.py       a note on the page

Exceeded time first interrupts a statement, as Jupyter's stop button does, and then kills its
process. Not here are the sizes of hand-ins (`submissions/`), of graded notebooks (`size_limits.py`)
and of pages (`pages/`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from proflab.checks.values import MAX_BYTES
from proflab_course.grading.plan import RunBlock, RunCell

MB = 1024**2

# ── a student's process ──────────────────────────────────────────────────────────────────────

POLL_SECONDS = 0.1  # between two checks for a reply; must exceed the pause in inside/worker.py
GRACE_SECONDS, GRACE_CPU_SECONDS = 2.0, 0.5  # from the interrupt until the process is killed
LARGE_VALUE_SECONDS = 0.2  # a refused value that took longer ends its test cell
LEAST_SHARE = 0.2  # of its limits that any statement keeps, however much time was lost before
LEAST_CHARGE = 0.1  # seconds that a statement costs at least if it runs out of time
MAX_CALLS = 200_000  # of doubles, in one statement
START_SECONDS, END_SECONDS = 120.0, 30.0  # for a zygote to start, for a session's processes to end
MAX_SESSIONS = 200  # of one zygote
_TEST_STATEMENTS = 5  # a test cell may take this many times the limit of one statement
_IDLE_TIMES = 6  # a notebook may rest this many times as long as a cell
_EARLY_SHARE = 0.25  # of notebook_seconds
_ALONE_FACTOR = 2.0  # wall_factor of a session that runs alone, at most
_SPARE_SECONDS = 5  # by which the kernel's limit is above the grader's, which says why


@dataclass(frozen=True)
class Limits:
    """The limits of a session: CPU seconds of a cell, a case and a notebook; sizes in bytes.

    time_factor: a cell or case may also take up to this many times its CPU time in the solved
    notebook. wall_factor: limits of real time are this many times those of CPU time.
    idle_seconds: real time in which no process of a cell or case computes or waits for a core.
    stuck_seconds: time that all code that ran out of time may take together.
    memory: what the student's processes take together, beyond Python with numpy.
    scratch, scratch_files, file: what they write, in all, in number, and in one file.
    notebook_values: the plain data of all replies.
    """

    cell_seconds: float = 15.0
    notebook_seconds: float = 90.0
    memory: int = 4 * 1024 * MB
    wall_factor: float = 10.0
    statement_seconds: float = 2.0
    time_factor: float = 50.0
    idle_seconds: float = 5.0
    stuck_seconds: float = 25.0
    processes: int = 64
    descriptors: int = 256
    queued_signals: int = 1024
    scratch: int = 256 * MB
    scratch_files: int = 20_000
    file: int = 128 * MB
    cell_output: int = 2 * MB
    notebook_output: int = 16 * MB
    notebook_values: int = 64 * MB

    def cpu_seconds(self, item: RunCell | RunBlock) -> float:
        """Return the CPU seconds that a cell, or each statement of a block, may take."""
        least = self.cell_seconds
        if isinstance(item, RunBlock):
            least = min(least, self.statement_seconds)
        return max(least, self.time_factor * (item.seconds or 0.0))

    def test_seconds(self, item: RunBlock) -> float:
        """Return the CPU seconds that the statements of a block's test cell may take together."""
        return _TEST_STATEMENTS * self.cpu_seconds(item)

    def real_seconds(self, cpu_seconds: float) -> float:
        """Return the real time that may pass for so much CPU time: the machine may be busy."""
        return self.wall_factor * cpu_seconds

    def share(self, stuck_seconds_left: float) -> float:
        """Return the part of its limits that a statement has after others ran out of time."""
        return max(LEAST_SHARE, stuck_seconds_left / self.stuck_seconds)

    @property
    def notebook_idle_seconds(self) -> float:
        """The real time that a notebook may rest in all."""
        return _IDLE_TIMES * self.idle_seconds

    @property
    def hidden_stuck_seconds(self) -> float:
        """The part of stuck_seconds that the notebook leaves to hidden blocks."""
        return self.stuck_seconds / 2

    @property
    def early_seconds(self) -> float:
        """The CPU seconds after which late blocks no longer wait for the notebook's end."""
        return self.notebook_seconds * _EARLY_SHARE

    @property
    def process_seconds(self) -> int:
        """The CPU seconds after which the kernel ends a process, if the grader has not."""
        return int(self.notebook_seconds) + _SPARE_SECONDS

    def alone(self) -> Limits:
        """Return the limits of a session that runs alone: nobody else takes the processors."""
        return replace(self, wall_factor=min(self.wall_factor, _ALONE_FACTOR))


_USUAL = Limits()


def make_limits(
    cell_seconds: float | None = None,
    case_seconds: float | None = None,
    notebook_seconds: float | None = None,
    time_factor: float | None = None,
) -> Limits:
    """Return the limits for these numbers; the others grow with the seconds of a cell."""
    factor = (cell_seconds or _USUAL.cell_seconds) / _USUAL.cell_seconds
    return replace(
        _USUAL,
        cell_seconds=_USUAL.cell_seconds * factor,
        statement_seconds=case_seconds or _USUAL.statement_seconds * factor,
        time_factor=time_factor or _USUAL.time_factor,
        idle_seconds=_USUAL.idle_seconds * factor,
        stuck_seconds=_USUAL.stuck_seconds * factor,
        notebook_seconds=notebook_seconds or _USUAL.notebook_seconds * max(1.0, factor),
    )


# ── the solved notebook, by which students' times are measured ───────────────────────────────

SOLVED_SECONDS = 1.0  # times time_factor: a limit that no solution of a lesson comes near
LEAST_SOLVED_SECONDS = 0.04  # time_factor times a shorter time is less than any limit

# ── a reply ──────────────────────────────────────────────────────────────────────────────────

MAX_JSON = 16 * MB
MAX_VALUE = 4 * MAX_BYTES
# An empty list takes 2 bytes of JSON and 40 or more in memory: limit the items, not the bytes.
MAX_ITEMS = 1_200_000
MAX_DEPTH = 32
MAX_TEXT = 2_000  # characters of a message

# ── files beside the notebook ────────────────────────────────────────────────────────────────

MAX_FILES_SIZE = 64 * MB
MAX_FILES = 2_000
MAX_ENTRIES = 20_000  # files and folders that are looked at
MAX_FOLDERS = 16  # one inside the other

# ── the grader's own work for one hand-in ────────────────────────────────────────────────────

# Of one step in a limited process, as laying out is, too; memory beyond the process's own.
READ_SECONDS, READ_MEMORY = 10.0, 1024 * MB
READ_WALL_FACTOR = 10.0
MAX_ANSWER = 512 * MB  # of each part of an answer (limited_process.py)
JUDGE_SECONDS = 30.0  # CPU seconds of the grader's own thread for one hand-in
PIECE_SECONDS, PAGE_SECONDS = 1.0, 5.0  # to lay out one text or output, and all of a page


class SolvedTimes:
    """The CPU seconds of solved cells and of test cells' blocks; None until they are measured.

    They are measured at most once in a grading, when a hand-in has run out of time, and on the
    machine that executed it. A build records none, since its result is the same on every machine.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: dict[tuple[str, int], float] | None = None

    def of(self, grade_id: str, block: int = 0) -> float | None:
        """Return the seconds of a cell, or of the slowest statement of a test cell's block."""
        return None if self._seconds is None else self._seconds.get((grade_id, block), 0.0)

    def ensure(self, measure: Callable[[], dict[tuple[str, int], float]]) -> None:
        """Call `measure` unless its result is known; of several threads, only one calls it."""
        with self._lock:
            if self._seconds is None:
                measured = measure()
                self._seconds = {k: s for k, s in measured.items() if s >= LEAST_SOLVED_SECONDS}
