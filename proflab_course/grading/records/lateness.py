"""Apply what a course's dates say of lateness in nbgrader's terms: penalties and extensions."""

from __future__ import annotations

import copy
import datetime
import math
from collections.abc import Container
from typing import Any

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float
from traitlets.config import Config

from proflab_course.course.dates import Dates, Extension, Penalty
from proflab_course.course.layout import Course

_DAY = 86_400


class PenaltyPerDay(LateSubmissionPlugin):
    """Take off a share of the points for each day that has begun after the due date."""

    per_day = Float(0.1, help="the share of a student's points that each day costs").tag(
        config=True
    )
    free_days = Float(0.0, help="days that cost nothing").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """Return the points to take off, at most all of them; None for none."""
        days = math.ceil(total_seconds_late / _DAY - self.free_days)
        return min(score, score * self.per_day * days) if days > 0 else None


def with_penalty(config: Config, penalty: Penalty | None) -> Config:
    """Return nbgrader's settings with the penalty of the course's dates, if these have one."""
    if penalty is None:
        return config
    changed = copy.deepcopy(config)
    changed.AssignLatePenalties.plugin_class = PenaltyPerDay
    changed.PenaltyPerDay.per_day = penalty.per_day
    changed.PenaltyPerDay.free_days = float(penalty.free_days)
    return changed


def rule_of(plugin: Any) -> str:
    """Return what lateness costs by nbgrader's plugin, in words; "" if it costs nothing."""
    if isinstance(plugin, PenaltyPerDay):
        return Penalty(plugin.per_day, plugin.free_days).told if plugin.per_day else ""
    if type(plugin) is not LateSubmissionPlugin:
        return f"what {type(plugin).__name__} of jupyter_config.py says"
    return "all points" if plugin.penalty_method == "zero" else ""


def unknown_students(course: Course, dates: Dates, known: Container[str]) -> list[str]:
    """Return the places of extensions that name no student of the course, each with that name.

    known: the students in the gradebook, which has those of a class list. Students with a folder
    in submitted/ are known, too.
    """
    return [
        f"{line.where}: {line.student}"
        for line in dates.extensions or ()
        if line.student not in known and not (course.root / "submitted" / line.student).is_dir()
    ]


def as_timedelta(
    extension: Extension | None, due: datetime.datetime | None
) -> datetime.timedelta | None:
    """Return an extension as nbgrader stores it: the time after the lesson's due date.

    One for all lessons that ends before this one is due gives no more time, and takes none.
    """
    if due is None:
        return None  # an extension needs a due date to be added to
    if isinstance(extension, datetime.datetime):
        return max(extension - due, datetime.timedelta(0))
    return extension
