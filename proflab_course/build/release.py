"""The student's notebooks, made by nbgrader's own generate_assignment with the course's settings.

It runs without a gradebook: what the release looks like does not depend on one, and the build
must not touch the course's.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from proflab_course.course.database import CONFIGURATION
from proflab_course.course.layout import CourseError
from proflab_course.course.nbgrader_settings import run_settings


def generate_release(course_root: Path, work: Path, lesson: str) -> None:
    """Make work/release/LESSON from work/source/LESSON, as `nbgrader generate_assignment` does."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory

    config = _configuration(course_root)
    config.SaveCells.enabled = False
    config.GenerateAssignment.no_database = True
    config.CourseDirectory.root = str(work)
    config.CourseDirectory.assignment_id = lesson
    log, errors = _error_log()
    try:
        folder = CourseDirectory(config=config, log=log)
        converter = GenerateAssignment(coursedir=folder, config=config, log=log)
        converter.force = True
        converter.preprocessors = list(_with_open_answers(converter.preprocessors))
        converter.start()
    except NbGraderException:
        full = os.strerror(errno.ENOSPC)
        if any(full in line for line in errors):
            raise OSError(errno.ENOSPC, full) from None
        reason = next((line for line in reversed(errors) if "Error" in line), errors[0])
        raise CourseError(f"nbgrader could not make the release of {lesson}: {reason}") from None


def _with_open_answers(preprocessors: Iterable[type]) -> Iterator[type]:
    """Yield nbgrader's preprocessors with the one for concept questions, also in older courses.

    What looks at metadata, which audit.py has done before, comes once, at the end.
    """
    from nbgrader.preprocessors import CheckCellMetadata, ClearSolutions

    from proflab_course.grading.records.nbgrader_plugin import ClearAnswers

    for each in preprocessors:
        if each not in (ClearAnswers, CheckCellMetadata):
            yield each
        if each is ClearSolutions:
            yield ClearAnswers
    yield CheckCellMetadata


def _configuration(root: Path):
    from traitlets.config import Config

    config = Config()
    for name in CONFIGURATION:
        if (root / name).exists():
            config.merge(run_settings(root / name))
    return config


def _error_log() -> tuple[logging.Logger, list[str]]:
    """Return a logger of its own, and the last lines of the errors that it was told."""
    errors: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            errors.append(record.getMessage().strip().splitlines()[-1])

    log = logging.Logger("proflab.build", logging.ERROR)
    log.addHandler(Collector())
    return log, errors
