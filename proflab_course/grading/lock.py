"""One grading at a time in a course: a second one is told of the first instead of mixing with it.

The lock is the kernel's, on an open file, and ends with the process that holds it, however that
ends. The file beside the gradebook stays; it says who held it last.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proflab_course.course.layout import Course, CourseError

# Some network file systems know no locks: there, SQLite's own have to do.
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)


@contextmanager
def only_grading(course: Course, lesson: str) -> Iterator[None]:
    """Hold the course for one grading; raise CourseError, at once, where another holds it."""
    path = course.gradebook.with_name(course.gradebook.name + ".lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise CourseError(f"{path} cannot be written: {error.strerror}") from None
    try:
        _take_lock(descriptor, path)
        _write_name(descriptor, f"{lesson}, process {os.getpid()}")
        yield
    finally:
        os.close(descriptor)


def _take_lock(descriptor: int, path: Path) -> None:
    """Lock the open file; raise CourseError that says who has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = path.read_text(errors="replace").strip()[:200]
        raise CourseError(
            f"another `proflab grade` is at work in this course ({who}): let it end or stop it, "
            "then run this again; nothing is lost"
        ) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def _write_name(descriptor: int, name: str) -> None:
    """Say in the file who holds it; on a full disk it goes unsaid."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, name.encode(), 0)
    except OSError:
        pass
