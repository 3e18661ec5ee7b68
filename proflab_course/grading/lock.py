"""Allow one grading at a time in a course; a second one stops with a sentence about the first.

The lock is the kernel's, on an open file, and ends with the process that holds it, even if that is
killed. The file beside the gradebook remains and names the last holder and its machine, because
several machines may share the course's folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from proflab_course.course.layout import Course, CourseError

# Some network file systems have no locks; there, only SQLite protects the gradebook.
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


@contextmanager
def only_grading(course: Course, lesson: str) -> Iterator[None]:
    """Hold the course for one grading.

    Raises CourseError at once if another grading holds it or the lock file cannot be written.
    """
    path = course.gradebook.with_name(course.gradebook.name + ".lock")
    # No soft lock: filelock's fallback, a file that merely exists, would outlive a kill.
    lock = FileLock(path, blocking=False, thread_local=False, fallback_to_soft=False)
    try:
        _acquire(lock, path)
        with contextlib.suppress(OSError):  # on a full disk the holder is not named
            path.write_text(f"{lesson}, process {os.getpid()} on {platform.node()}")
        yield
    finally:
        lock.release()


def _acquire(lock: FileLock, path: Path) -> None:
    """Acquire the lock. Raises CourseError, which names the holder."""
    try:
        lock.acquire()
    except Timeout:
        who = path.read_text(errors="replace").strip()[:200]
        raise CourseError(
            f"another `proflab grade` is running in this course ({who}): let it end or stop it, "
            "then run this again; nothing is lost"
        ) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise CourseError(f"{path} cannot be written: {error.strerror}") from None
        print(
            f"proflab grade: the file system of {path.parent} has no locks, so nothing stops a "
            "second grading of this course: start only one at a time",
            file=sys.stderr,
        )
