"""Kills gradings as an OOM killer would, and says what two gradings must have left alike."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
from grading_course import LESSON

from proflab_course.course.layout import Course

PATIENCE = 120.0
ID = re.compile(r"[0-9a-f]{32}")
# When something was graded is all that a rerun may change.
TIMES = {"graded_at"}


def start(course: Course, *words: str) -> subprocess.Popen:
    """Begin `proflab grade` in a session of its own."""
    command = [sys.executable, "-m", "proflab_course.cli", "grade", LESSON, *words]
    return subprocess.Popen(
        command,
        cwd=course.root,
        env=os.environ | {"PROFLAB_DEMO": "small"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # A shell's background job, and so what it starts, ignores interrupts: this one shall not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finish(course: Course, *words: str) -> str:
    """Run `proflab grade` to its end, which must be a good one; what it printed."""
    process = start(course, *words)
    said, _ = process.communicate(timeout=10 * PATIENCE)
    assert process.returncode == 0, said
    return said


def kill(process: subprocess.Popen) -> list[psutil.Process]:
    """SIGKILL to the grading alone; the processes that it had started."""
    family = []
    with contextlib.suppress(psutil.Error):
        leader = psutil.Process(process.pid)
        leader.suspend()  # so that none is born while they are counted
        family = leader.children(recursive=True)
        leader.kill()
    process.communicate(timeout=PATIENCE)
    return family


def kill_within(course: Course, seconds: float, rng: random.Random, *words: str) -> list:
    """Begin a grading and kill it after up to `seconds`.

    Every other time they count from when it begins to write, not from its start.
    """
    process = start(course, *words)
    if rng.random() < 0.5:
        before = newest(course.root)
        while process.poll() is None and newest(course.root) == before:
            time.sleep(0.02)
        seconds /= 2
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(rng.uniform(0, seconds))
    return kill(process)


def newest(root: Path) -> int:
    """When something was last written into autograded/."""
    times = [0]
    for folder in (root / "autograded", *root.glob("autograded/*/*")):
        with contextlib.suppress(OSError):
            times.append(folder.stat().st_mtime_ns)
    return max(times)


def all_end(processes: list[psutil.Process]) -> bool:
    """Return True if all of them end, without help, before patience does."""
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    return not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


def left_over(course: Course) -> list[str]:
    """Return the files in a course that no finished grading leaves.

    A journal without a header is not one of them: nothing had been written when its grading was
    killed. SQLite passes over it, and removes it when it writes next.
    """
    names = [str(p.relative_to(course.root)) for p in course.root.rglob("*")]
    left = [name for name in names if re.search(r"\.part|-journal|-wal|\.tmp", name)]
    journals = [name for name in left if name.endswith("-journal")]
    empty = [name for name in journals if not any((course.root / name).read_bytes()[:8])]
    return [name for name in left if name not in empty]


def files(course: Course) -> dict[str, bytes]:
    """All of autograded/."""
    place = course.root / "autograded"
    return {str(p.relative_to(place)): p.read_bytes() for p in place.rglob("*") if p.is_file()}


def tables(path: Path) -> list[tuple[str, dict]]:
    """Every row of a gradebook, its random ids replaced by what they stand for."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        names = [
            r[0] for r in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        rows = [
            (name, {k: v for k, v in dict(row).items() if k not in TIMES})
            for name in sorted(names)
            for row in connection.execute(f'SELECT * FROM "{name}"')
        ]
    meaning: dict[str, str] = {}
    for _ in range(6):  # as deep as rows refer to rows that refer to rows
        shown = [(row.get("id"), (name, named(row, meaning, "id"))) for name, row in rows]
        meaning = {}
        for key, text in sorted(shown, key=str):
            if is_id(key):
                meaning[key] = hashlib.sha256(
                    (meaning.get(key, "") + str(text)).encode()
                ).hexdigest()
    return sorted(((name, named(row, meaning)) for name, row in rows), key=str)


def named(row: dict, meaning: dict[str, str], leave_out: str = "") -> dict:
    """A row with its ids replaced by their meaning as far as it is known."""
    return {
        column: meaning.get(value, "?") if is_id(value) else value
        for column, value in row.items()
        if column != leave_out
    }


def is_id(value: object) -> bool:
    """Return True if it is one of nbgrader's random ids."""
    return isinstance(value, str) and bool(ID.fullmatch(value))
