"""Execute test cells in this process, judged as the grader does it but without its isolation.

For code that is trusted: the cohort's solutions, and the helpers that `stand_ins` tries. What
attacks the grader does not belong here.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from proflab.checks.compare import Verdict
from proflab.checks.values import NotPlainData, to_plain_data
from proflab.lesson.doubles import HELD
from proflab.lesson.race.check_log import FUNCTIONS, checked
from proflab.lesson.race.judge import judged
from proflab.lesson.race.known import Content, Known, known_of
from proflab_course.cases.case import Answer, Step
from proflab_course.cases.hidden_doubles import DoubleSpec
from proflab_course.cases.log import LogCase
from proflab_course.cases.race import Race
from proflab_course.cases.raises import judge_raised
from proflab_course.cases.reader import TestCell
from proflab_course.cases.value import judge_value

Logs = dict[str, Any] | None  # what yields a work log → what it has yielded
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


def run_cell(cell: TestCell, scope: dict[str, Any], logs: Logs = None) -> Iterator[Case]:
    """Yield each case of a test cell, executed in `scope`; set-up that raises ends it.

    logs: filled with the work logs that cells ask for, and where one is, it is not made again
    """
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
                said = ask(step, answer, scope, logs)
                fine = said.passed and (said.share is None or said.share >= WHOLE)
                told = said.reason, said.diagnosis
                yield Case(cell.name, answer.label, fine, *told, hidden=block.hidden)


def ask(step: Step, answer: Answer, scope: dict[str, Any], logs: Logs = None) -> Verdict:
    """Return the verdict on one case; logs: as in `run_cell`."""
    try:
        value = logs[step.code] if logs and step.code in logs else eval(step.code, scope)
    except Exception as error:
        return judge_raised(answer, [kind.__name__ for kind in type(error).__mro__], str(error))
    try:
        # `dumps` and `loads` change no value (checks/test_values.py), a tape's lines no verdict.
        held = answer.held
        plain = to_plain_data(value["tape"] if isinstance(held, Race) else value)
        if isinstance(held, LogCase) and logs is not None:
            logs[step.code] = value
        if isinstance(held, Race | LogCase):
            return held.judge(_worth(held, pickle.dumps(plain), scope))
        return judge_value(answer, plain) if held is None else held.judge(held.worked_out(plain))
    except NotPlainData as error:
        return judge_raised(answer, ["NotPlainData"], str(error))


# Known solutions are judged one after the other in one process, and most bring tapes that another
# has brought, or a log of which five cases ask: what decides is the same, so nothing runs again.
_MOST = 200  # of either: entries that count by themselves ask nothing that another has asked
Used = tuple[tuple[str, Any], ...]  # what the given program is traced with and counted by, by name


def _worth(case: Race | LogCase, data: bytes, scope: dict[str, Any]) -> dict[str, Any]:
    """Return what a tape is worth or a work log shows, counted by the op_facts of the lesson."""
    functions = {**scope["op_facts"].__globals__, **scope}  # the notebook's own, or built's
    names = compile(case.given, "given", "eval").co_names
    used = tuple((name, functions.get(name)) for name in (*names, *FUNCTIONS))
    is_log = isinstance(case, LogCase)
    return _found(data, Content([is_log, case.given, case.machine, case.options]), used)


@lru_cache(_MOST)
def _found(data: bytes, asked: Content, used: Used) -> dict[str, Any]:
    (is_log, _, machine, options), functions = asked.data, dict(used)
    tried, known = pickle.loads(data), _known(asked, used)
    if is_log:
        return checked(tried[0], tried[1], known, functions, machine, **options)
    return judged(tried, known, functions["op_facts"], machine, **options)


@lru_cache(_MOST)
def _known(asked: Content, used: Used) -> Known:
    """Return what the tapes of a race, or the steps of a log of it, are judged beside."""
    (is_log, given, machine, options), functions = asked.data, dict(used)
    options = {name: value for name, value in options.items() if name != "one_by_one"}
    tape = list(eval(given, functions))
    return known_of(tape, functions["op_facts"], machine, rows=is_log, **options)


def made(double: DoubleSpec, scope: dict[str, Any]) -> Any:
    """Return a double that the grader would hold; here it has its script itself."""
    others = {key: scope[name] for key, name in double.of.items()}
    return HELD[double.kind](**double.given, **others)
