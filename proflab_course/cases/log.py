"""Read `expect_log(label, log.data(), traced(program, …), rule="costs", like=slow, …)`.

Sent is what yields the work log and the tape it ends with. Its steps are checked where tapes are
raced (`grading/races.py`), for a log brings a tape for each of them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proflab.checks.compare import Verdict
from proflab.lesson.race.check_log import RULES
from proflab.lesson.race.cost import MACHINES
from proflab_course.cases.case import (
    Answer,
    GrammarError,
    Held,
    Sent,
    Step,
    at,
    label_of,
    literal,
    positional,
    said,
)
from proflab_course.cases.race import given_code


@dataclass(frozen=True)
class LogCase(Held):
    """Hold what the grader keeps of `expect_log`: what is asked of the log, and its given program.

    rule: of check_log.RULES; given: the code that traces the given program, as a race has it
    """

    traced = True

    rule: str
    given: str
    machine: str
    options: dict[str, Any] = field(default_factory=dict)

    def judge(self, found: Mapping[str, Any]) -> Verdict:
        """Return the verdict on one rule of a work log; the reason is a sentence in either case."""
        wrong = found.get("refused") or found[self.rule]
        return Verdict(not wrong, wrong or RULES[self.rule])


def parse(call: ast.Call, name: str) -> list[Sent]:
    """Return the case of `expect_log`."""
    label, log, made = positional(call, 3, name, "a label, a log and traced(program, …)")
    more = {"within", "draws", "state", "floor", "one_by_one"}
    keywords = said(call, {"like", "machine", "rule"}, more, name)
    given = given_code(made, keywords.pop("like"), name)
    options = {key: literal(value, name) for key, value in keywords.items()}
    machine, rule = options.pop("machine"), options.pop("rule")
    if machine not in [*MACHINES] or rule not in [*RULES]:
        known = f"machine is one of {', '.join(MACHINES)}, and rule of {', '.join(RULES)}"
        raise GrammarError(at(name, call, known))
    case = LogCase(rule, given, machine, options)
    answer = Answer(label_of(label, name), "expect_log", held=case)
    return [(Step("tape", f"[{ast.unparse(log)}, {ast.unparse(made)}]"), answer)]
