"""Lesson 06's races: each idea on the way has its share, and full marks are at the solution."""

import ast
import textwrap

import pytest
from cohort.lesson_06_races import HELPERS, STEPS
from cohort.run import solved

from proflab.lesson.race.cost import MACHINES, cost
from proflab.lesson.race.judge import share_of


@pytest.mark.parametrize(
    ("name", "idea"), [(name, idea) for name, ideas in STEPS.items() for idea in ideas]
)
def test_an_idea_is_worth_its_share_of_the_way(name, idea):
    lesson = solved("lesson_06")
    share, body = STEPS[name][idea]
    scope = dict(lesson.scope)
    exec(HELPERS, scope)
    [function] = [
        n for n in ast.parse(lesson.solutions[name]).body if isinstance(n, ast.FunctionDef)
    ]
    body = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    exec(f"def {name}({ast.unparse(function.args)}):\n{body}", scope)
    [test] = lesson.tests[name]
    step, race = test.blocks[0].steps[0], test.blocks[0].answers[0].race
    paid, given = (
        cost(list(eval(code, scope)), MACHINES[race.machine], scope["op_facts"]).ms
        for code in (step.code, race.given)
    )
    assert share_of({"ms": paid, "given": given}, race.full) == pytest.approx(share, abs=0.01)
