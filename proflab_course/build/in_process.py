"""Executes test cells in this process, judged as the grader does it but without its isolation.

For code that is trusted: the cohort's solutions, and the helpers that `stand_ins` tries. What
attacks the grader does not belong here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from proflab.checks.compare import Verdict
from proflab.checks.values import NotPlainData, dumps, loads
from proflab.lesson.doubles import HELD
from proflab.lesson.race.check_log import check_log, once
from proflab.lesson.race.judge import judge as race_judge
from proflab_course.cases.case import Answer, Held, Step
from proflab_course.cases.hidden_doubles import DoubleSpec
from proflab_course.cases.log import LogCase
from proflab_course.cases.race import Race
from proflab_course.cases.raises import judge_raised
from proflab_course.cases.reader import TestCell
from proflab_course.cases.value import judge_value

WHOLE = 0.98  # the share of the way from which a race counts as passed here


@dataclass(frozen=True)
class Case:
    """Hold how a case of a test cell ended; `reason` and `diagnosis` say why it failed.

    A race that is right and slow has not passed here.
    """

    cell: str
    label: str
    passed: bool
    reason: str = ""
    diagnosis: str = ""
    hidden: bool = False


def run_cell(cell: TestCell, scope: dict[str, Any]) -> Iterator[Case]:
    """Yield each case of a test cell, executed in `scope`; set-up that raises ends it."""
    for block in cell.blocks:
        doubles = dict(block.doubles)
        for index, (step, answer) in enumerate(zip(block.steps, block.answers, strict=True)):
            if index in doubles:
                scope[doubles[index].name] = made(doubles[index], scope)
            elif answer is None:
                try:
                    exec(step.code, scope)
                except Exception as error:
                    yield Case(cell.name, "set-up", False, repr(error), "", block.hidden)
                    return
            else:
                said = ask(step, answer, scope)
                fine = said.passed and (said.share is None or said.share >= WHOLE)
                told = said.reason, said.diagnosis
                yield Case(cell.name, answer.label, fine, *told, hidden=block.hidden)


def ask(step: Step, answer: Answer, scope: dict[str, Any]) -> Verdict:
    """Return the verdict on one case."""
    try:
        value = eval(step.code, scope)
    except Exception as error:
        return judge_raised(answer, [kind.__name__ for kind in type(error).__mro__], str(error))
    try:
        # What the grader gets has left the student's process by these two.
        plain = loads(dumps(value))
        if answer.held is None:
            return judge_value(answer, plain)
        return answer.held.judge(_worked_out(answer.held, plain, scope))
    except NotPlainData as error:
        return judge_raised(answer, ["NotPlainData"], str(error))


def _worked_out(held: Held, plain: Any, scope: dict[str, Any]) -> dict[str, Any]:
    """Return what a tape, a plan or a work log is worth."""
    if isinstance(held, Race):
        return _raced(held, plain, scope)
    return _checked(held, plain, scope) if isinstance(held, LogCase) else held.worked_out(plain)


def _raced(race: Race, tape: Any, scope: dict[str, Any]) -> dict[str, Any]:
    """Return what a tape is worth, counted by the op_facts that the lesson has."""
    given = eval(race.given, scope)
    return race_judge(tape, list(given), scope["op_facts"], race.machine, **race.options)


def _checked(case: LogCase, plain: Any, scope: dict[str, Any]) -> dict[str, Any]:
    """Return what a work log shows."""
    functions = {**scope["op_facts"].__globals__, **scope}  # the notebook's own, or built's

    def check() -> dict[str, Any]:
        (rows, tape), given = plain, list(eval(case.given, scope))
        return check_log(rows, tape, given, functions, case.machine, **case.options)

    return once([case.given, case.machine, case.options, plain], functions, check)


def made(double: DoubleSpec, scope: dict[str, Any]) -> Any:
    """Return a double that the grader would hold; here it has its script itself."""
    others = {key: scope[name] for key, name in double.of.items()}
    return HELD[double.kind](**double.given, **others)
