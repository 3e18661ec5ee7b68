"""Judge one case: compare the answer that the grader keeps with the reply that came back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proflab.checks.compare import Verdict
from proflab_course.cases.case import Answer
from proflab_course.cases.raises import judge_raised
from proflab_course.cases.value import judge_value
from proflab_course.grading import work_limit
from proflab_course.grading.plan import Reply


def judge_case(answer: Answer, reply: Reply, raced: Mapping[str, Any] | None = None) -> Verdict:
    """Return the verdict on a reply; a reply without a value fails, and its message is the reason.

    raced: of a race, what its tape or plan is worth, and of a log what was found in it. Raises
    TooMuchWork where the grader's time for this hand-in is used up.
    """
    work_limit.check()
    held = answer.held
    if reply.state == "value" and held is not None:
        return held.judge(raced or {"refused": "nothing was worked out of it"})
    if reply.state == "value":
        return judge_value(answer, reply.value)
    # By its name: the class, of proflab/lesson/race/tape.py, stays in the other process.
    is_traced = held is not None and held.traced
    if reply.state == "raised" and is_traced and reply.raised[:1] == ["Refused"]:
        return Verdict(False, reply.message)
    if reply.state == "raised":
        return judge_raised(answer, reply.raised, reply.message)
    return Verdict(False, reply.message or "nothing came back")
