"""Decide points: those of a test cell from its cases, and those of a student from all cells.

A test cell earns all of its points if every case passed and no set-up statement failed, and else
none. In a lesson with partial credit it then earns a share: of its hidden cases, those that passed,
where each failed visible case counts as one more that failed. Only hidden cases earn, because the
visible ones show their answers. There is no share

- while the exercise is unwritten: a case or a set-up statement raised NotImplementedError;
- if all hidden cases that passed expect an exception: a function that always raises passes them.

A cell of races earns the mean of its cases' shares, in every lesson, and nothing if one is wrong.

A penalty for lateness takes nobody's points below 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import fsum

from proflab_course.cases.case import Answer
from proflab_course.cases.reader import TestCell
from proflab_course.course.layout import Course, CourseError
from proflab_course.grading.plan import Reply


@dataclass
class Tally:
    """The verdicts on one test cell, from which its points follow.

    verdicts: whether each case passed, in the order of the cell's answers; shares: of races, the
    share of the way that each has gone; setup_failed: whether a set-up statement failed;
    unwritten: whether anything that failed raised NotImplementedError.
    """

    verdicts: list[bool] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    setup_failed: bool = False
    unwritten: bool = False

    def add_case(self, passed: bool, reply: Reply | None, share: float | None = None) -> None:
        """Count a case; reply: the reply that was judged, None for a case that was not reached."""
        self.verdicts.append(passed)
        self.shares += [] if share is None else [share]
        if not passed and reply is not None:
            self.unwritten = self.unwritten or _is_unwritten(reply)

    def add_failed_setup(self, reply: Reply) -> None:
        """Count a set-up statement that raised or did not end."""
        self.setup_failed = True
        self.unwritten = self.unwritten or _is_unwritten(reply)

    def points(self, test: TestCell, partial_credit: bool) -> float:
        """Return the points that the test cell earns, a share rounded to hundredths."""
        if all(self.verdicts) and not self.setup_failed:
            mean = fsum(self.shares) / len(self.shares) if test.is_race else 1.0
            return test.points if mean == 1 else round(test.points * mean, 2)
        if test.is_race:
            return 0.0
        if not partial_credit or self.unwritten:
            return 0.0
        pairs = zip(test.answers, self.verdicts, strict=False)
        part = share((*answer, passed) for answer, passed in pairs)
        return min(test.points, round(test.points * part, 2))


def _is_unwritten(reply: Reply) -> bool:
    """Return True for the reply of a stub that is still to be filled in."""
    return reply.raised[:1] == ["NotImplementedError"]


def share(cases: Iterable[tuple[bool, Answer, bool]]) -> float:
    """Return the share of a cell's points, from 0 to 1, for its cases: (hidden, answer, passed)."""
    cases = list(cases)
    passed = [answer for hidden, answer, fine in cases if hidden and fine]
    if all(answer.call == "expect_raises" for answer in passed):
        return 0.0
    return len(passed) / sum(hidden or not fine for hidden, _, fine in cases)


def partial_credit_lessons(course: Course, listed: Iterable[str]) -> set[str]:
    """Return the names of the lessons that jupyter_config.py lists for partial credit.

    listed: names or numbers, as 01_parameters or 01. Raises CourseError for another.
    """
    try:
        return {course.lesson(name, "source") for name in listed}
    except CourseError as error:
        where = "jupyter_config.py, c.SandboxedExecute.partial_credit"
        raise CourseError(f"{where}: {error}") from None


def total_points(scores: dict[str, float], essay: bool = True) -> float:
    """Return a student's points for one lesson, with the penalty for lateness taken off.

    scores: a row of `Book.scores`; essay: count the points given by hand.
    """
    points = scores["auto"] + (scores["manual"] if essay else 0.0)
    return max(0.0, points - scores["penalty"])
