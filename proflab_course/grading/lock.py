"""One grading at a time in a course: a second one is told of the first instead of mixing with it.

The lock is the kernel's, on an open file, and ends with the process that holds it, however that
ends. The file beside the gradebook stays; it says who held it last, and on which machine, since
several may share the course's folder.
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

# Some network file systems know no locks: there, SQLite's own have to do.
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


@contextmanager
def only_grading(course: Course, lesson: str) -> Iterator[None]:
    """Hold the course for one grading.

    Raises CourseError, at once, where another holds it or the lock's file cannot be written.
    """
    path = course.gradebook.with_name(course.gradebook.name + ".lock")
    # A file that merely exists, filelock's way where there are no locks, would outlive a kill.
    lock = FileLock(path, blocking=False, thread_local=False, fallback_to_soft=False)
    try:
        _acquire(lock, path)
        with contextlib.suppress(OSError):  # on a full disk it goes unsaid who holds it
            path.write_text(f"{lesson}, process {os.getpid()} on {platform.node()}")
        yield
    finally:
        lock.release()


def _acquire(lock: FileLock, path: Path) -> None:
    """Acquire the lock. Raises CourseError, which says who has it."""
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
