"""Judge one case: compare the answer that the grader keeps with the reply that came back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proflab.checks.compare import Verdict, compare, compare_between, compare_raised, show
from proflab.lesson.race import plans
from proflab.lesson.race.check_log import RULES
from proflab.lesson.race.hints import texts
from proflab.lesson.race.judge import BELOW_FLOOR, share_of, told
from proflab_course.course.test_cells import Answer, LogCase, PlanRace, Race
from proflab_course.grading import work_limit
from proflab_course.grading.plan import Reply


def judge(answer: Answer, reply: Reply, raced: Mapping[str, Any] | None = None) -> Verdict:
    """Return the verdict on a reply; a reply without a value fails, and its message is the reason.

    raced: of a race, what its tape or plan is worth, and of a log what was found in it. Raises
    TooMuchWork where the grader's time for this hand-in is used up.
    """
    work_limit.check()
    if reply.state == "value" and (race := answer.race or answer.plan) is not None:
        return judge_race(race, raced or {"refused": "it was not raced"})
    if reply.state == "value" and answer.log is not None:
        return judge_log(answer.log, raced or {"refused": "it was not checked"})
    if reply.state == "value":
        return judge_value(answer, reply.value)
    traced = answer.race or answer.log
    if reply.state == "raised" and traced is not None and reply.raised[:1] == ["Refused"]:
        return Verdict(False, reply.message)
    if reply.state == "raised":
        return judge_raised(answer, reply.raised, reply.message)
    return Verdict(False, reply.message or "nothing came back")


def judge_value(answer: Answer, value: Any) -> Verdict:
    """Return the verdict on the plain data that a case yielded."""
    if answer.call == "expect_between":
        return compare_between(value, answer.low, answer.high)
    if answer.call == "expect_raises":
        return compare_raised([], show(value), answer.exception)
    mistakes, flops = answer.mistakes, answer.flops
    return compare(value, answer.expected, answer.rel, answer.abs, mistakes, flops)


def judge_race(race: Race | PlanRace, found: Mapping[str, Any]) -> Verdict:
    """Return the verdict on a race: refused, wrong, below the floor, or a share."""
    if wrong := found.get("refused") or found["wrong"]:
        return Verdict(False, wrong)
    if found["ms"] < found["floor"] * (1 - 1e-9):
        return Verdict(False, BELOW_FLOOR)
    share = share_of(found, race.full)
    if isinstance(race, PlanRace):
        line, left = plans.told(found, race.rule, race.full), plans.hint(found)
    else:
        line = told(found, race.machine, race.full, race.options.get("fast"))
        left = "; ".join(texts(found))
    return Verdict(True, line, left if share < 1 else "", share, found["ms"])


def judge_log(case: LogCase, found: Mapping[str, Any]) -> Verdict:
    """Return the verdict on one rule of a work log; the reason is a sentence in either case."""
    wrong = found.get("refused") or found[case.rule]
    return Verdict(not wrong, wrong or RULES[case.rule])


def judge_raised(answer: Answer, raised: list[str], message: str) -> Verdict:
    """Return the verdict on an exception, given the names of its classes, its own first."""
    if answer.call == "expect_raises":
        return compare_raised(raised, message, answer.exception)
    return Verdict(False, f"{raised[0]}: {message}" if message else raised[0])
