"""Read `expect_cheaper(label, order(4), rule="cache", n=4, lines=2, line=4, given=90, full=50)`.

Sent is the call. The plan that comes back is plain data: the grader simulates it, for that runs
nothing of anybody's, and its cost earns a share of the points.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proflab.lesson.race import plans
from proflab.lesson.race.plans import RULES, WORKLOADS, judge_plan
from proflab_course.cases.case import (
    Answer,
    GrammarError,
    Sent,
    Step,
    at,
    best_cost,
    label_of,
    literal,
    positional,
    refuse_unknown,
)
from proflab_course.cases.race import Costed


@dataclass(frozen=True)
class PlanRace(Costed):
    """Hold what the grader keeps of `expect_cheaper`: the rule, its parameters, two costs.

    given: what the given plan costs; full: the cost that earns all; best: as of a Race
    """

    rule: str
    parameters: dict[str, Any]
    given: float
    full: float
    best: float | None = None

    @property
    def unit(self) -> str:
        """Return what its costs are counted in."""
        return RULES[self.rule].unit

    def worked_out(self, value: Any) -> dict[str, Any]:
        """Return what a plan is worth."""
        return judge_plan(value, self.rule, self.parameters, self.given)

    def line(self, found: Mapping[str, Any]) -> str:
        """Return what the student's plan costs by the rule, and what the given one does."""
        return plans.told(found, self.rule, self.full)

    def left(self, found: Mapping[str, Any]) -> str:
        """Return what can still become cheaper."""
        return plans.hint(found)


def parse(call: ast.Call, name: str) -> list[Sent]:
    """Return the case of `expect_cheaper`."""
    label, made = positional(call, 2, name, "a label and a plan")
    if any(keyword.arg is None for keyword in call.keywords):
        raise GrammarError(at(name, call, "expect_cheaper takes no argument **"))
    rule = next((literal(each.value, name) for each in call.keywords if each.arg == "rule"), None)
    if rule not in [*RULES]:
        raise GrammarError(at(name, call, f"rule is one of {', '.join(RULES)}"))
    needed = {*RULES[rule].parameters, "given", "full"}
    refuse_unknown(call, needed | {"rule", "best"}, name)
    values = {str(each.arg): literal(each.value, name) for each in call.keywords}
    if missing := sorted(needed - values.keys()):
        raise GrammarError(at(name, call, f"the rule {rule!r} needs {missing[0]}="))
    del values["rule"]
    given, full, best = values.pop("given"), values.pop("full"), values.pop("best", None)
    if not all(isinstance(cost, (int, float)) for cost in (given, full)) or not 0 < full < given:
        raise GrammarError(at(name, call, "given and full are costs, and full is the lower one"))
    if unknown := [v for v in values.values() if isinstance(v, str) and v not in WORKLOADS]:
        raise GrammarError(at(name, call, f"there is no {unknown[0]!r} in race.WORKLOADS"))
    best = best_cost(best, full, call, name)
    plan = PlanRace(rule, values, float(given), float(full), best)
    answer = Answer(label_of(label, name), "expect_cheaper", held=plan)
    return [(Step("value", ast.unparse(made)), answer)]
