"""Turn a failure of the grader itself into an outcome of that hand-in, and a note in a log.

No hand-in may end the grading of the others. If an exception is raised while one is read, executed,
judged or written, its outcome is "not graded", with a sentence for the student; the traceback is
written to grading.log in the course's folder. The next `proflab grade` grades the hand-in again.
What ends a process of the grader's own, a limit or a full disk, is such a failure, too: it says
nothing about the hand-in.
"""

from __future__ import annotations

import contextlib
import datetime
import traceback
from pathlib import Path

from proflab_course.course.layout import Course
from proflab_course.grading.limited_process import CallFailed
from proflab_course.grading.work_limit import TooMuchWork

NOT_GRADED = "not graded"
_LOG = "grading.log"
# Characters kept from the end of a traceback, so that no student can fill the disk with it.
_MOST_TEXT = 20_000


class GraderFailed(Exception):
    """The grader's own work for a hand-in was not done; the sentence is the reason."""


def sentence_of(error: BaseException) -> str:
    """Return the sentence for the student whose hand-in met this error."""
    if isinstance(error, TooMuchWork):
        return str(error)
    if isinstance(error, GraderFailed):
        return f"{error}; that is the grader's failure and no verdict: `proflab grade` tries again"
    return f"the grader failed at it ({cause_of(error)}); for your instructor, {_LOG} says more"


def cause_of(error: BaseException) -> str:
    """Return the cause of an error in a few words, whichever process raised it."""
    if isinstance(error, (TooMuchWork, GraderFailed)):
        return str(error)
    return error.kind if isinstance(error, CallFailed) else type(error).__name__


def log_error(course: Course, lesson: str, student: str, error: BaseException) -> None:
    """Append the error to the course's log; do nothing if that cannot be written."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    try:
        details = "".join(traceback.format_exception(error))[-_MOST_TEXT:]
    except Exception:  # the exception's own text may raise
        details = f"{type(error).__name__}\n"
    text = f"{now} {lesson} {student!r}\n{details}\n"
    with (
        contextlib.suppress(OSError),
        log_path(course).open("a", encoding="utf-8", errors="backslashreplace") as log,
    ):
        log.write(text)


def log_path(course: Course) -> Path:
    """Return the file with the tracebacks of a course's gradings."""
    return course.root / _LOG
