"""Races in lessons: each idea on the way has its share, and full marks are at the solution."""

import ast
import textwrap

import pytest
from cohort import lesson_06_races, lesson_07_races, lesson_13
from cohort.run import solved

from proflab.lesson.race.cost import MACHINES, cost
from proflab.lesson.race.judge import share_of

RACES = {"lesson_06": lesson_06_races, "lesson_07": lesson_07_races, "lesson_13": lesson_13}


@pytest.mark.parametrize(
    ("lesson", "name", "idea"),
    [
        (lesson, name, idea)
        for lesson, races in RACES.items()
        for name, ideas in races.STEPS.items()
        for idea in ideas
    ],
)
def test_an_idea_is_worth_its_share_of_the_way(lesson, name, idea):
    share, body = RACES[lesson].STEPS[name][idea]
    helpers, lesson = RACES[lesson].HELPERS, solved(lesson)
    scope = dict(lesson.scope)
    exec(helpers, scope)
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
