"""Read `expect(label, actual, expected)` and `expect_between(label, actual, low, high)`.

Sent is `actual`; the plain data that come back are compared with what the grader has kept.
"""

from __future__ import annotations

import ast
from typing import Any

from proflab.checks.compare import Verdict, compare, compare_between
from proflab.checks.diagnose import counts_flops
from proflab_course.cases.case import (
    Answer,
    GrammarError,
    Sent,
    Step,
    at,
    label_of,
    literal,
    positional,
    refuse_unknown,
    tolerances,
)
from proflab_course.cases.raises import judge_no_exception


def parse(call: ast.Call, name: str) -> list[Sent]:
    """Return the case of `expect`."""
    label, actual, expected = positional(call, 3, name)
    refuse_unknown(call, {"rel", "abs", "mistakes"}, name)
    return [
        equal_to(label_of(label, name), ast.unparse(actual), expected, tolerances(call, name), name)
    ]


def equal_to(label: str, code: str, expected: ast.expr, options: dict[str, Any], name: str) -> Sent:
    """Return the case that code yields a literal; options: tolerances and mistakes."""
    flops = counts_flops(label, name, *options.get("mistakes", {}))
    answer = Answer(label, "expect", expected=literal(expected, name), flops=flops, **options)
    return Step("value", code), answer


def parse_between(call: ast.Call, name: str) -> list[Sent]:
    """Return the case of `expect_between`."""
    label, actual, *bounds = positional(call, 4, name)
    refuse_unknown(call, set(), name)
    low, high = (literal(node, name) for node in bounds)
    if not all(isinstance(bound, (int, float)) for bound in (low, high)):
        raise GrammarError(at(name, call, "the bounds must be numbers"))
    if not low <= high:
        raise GrammarError(at(name, call, "the lower bound is above the upper bound"))
    answer = Answer(label_of(label, name), "expect_between", low=low, high=high)
    return [(Step("value", ast.unparse(actual)), answer)]


def judge_value(answer: Answer, value: Any) -> Verdict:
    """Return the verdict on the plain data that a case yielded, also where it had to raise."""
    if answer.call == "expect_between":
        return compare_between(value, answer.low, answer.high)
    if answer.call == "expect_raises":
        return judge_no_exception(answer, value)
    mistakes, flops = answer.mistakes, answer.flops
    return compare(value, answer.expected, answer.rel, answer.abs, mistakes, flops)
