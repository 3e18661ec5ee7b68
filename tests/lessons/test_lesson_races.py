"""Races in lessons: each idea on the way has its share, and full marks are at the solution."""

import pytest
from cohort.run import known, lessons, solved

from proflab.checks.values import to_plain_data
from proflab.lesson.race.cost import MACHINES, cost
from proflab.lesson.race.judge import share_of
from proflab.lesson.race.plans import judge_plan

STEPS = [
    (lesson, entry)
    for lesson in lessons()
    for entries in known(lesson).of.values()
    for entry in entries
    if entry.kind == "slow"
]


def test_each_race_has_ideas_on_the_way():
    races = {
        (lesson, name)
        for lesson in lessons()
        for name, cells in solved(lesson).tests.items()
        if any(a.race or a.plan for cell in cells for _, a in cell.answers)
    }
    assert {(lesson, entry.exercise) for lesson, entry in STEPS} == races


@pytest.mark.parametrize(("lesson", "entry"), STEPS)
def test_an_idea_is_worth_its_share_of_the_way(lesson, entry):
    lesson, name = solved(lesson), entry.exercise
    scope = dict(lesson.scope)
    exec(f"{lesson.helpers}\n{entry.code}", scope)
    steps, answers = lesson.tests[name][0].blocks[0].steps, lesson.tests[name][0].blocks[0].answers
    for step in steps[:-1]:
        exec(step.code, scope)
    paid = _paid(answers[-1], steps[-1].code, scope)
    assert share_of(paid, (answers[-1].race or answers[-1].plan).full) == pytest.approx(
        entry.share, abs=0.01
    )


@pytest.mark.parametrize(
    ("lesson", "name", "slow"),
    [("lesson_07", "order", "slow_order"), ("lesson_11", "buckets", "slow_buckets")],
)
def test_the_given_plan_is_the_one_that_a_locked_cell_shows(lesson, name, slow):
    lesson = solved(lesson)
    scope = dict(lesson.scope) | {name: lesson.scope[slow]}
    cases = [
        (step, answer.plan)
        for test in lesson.tests[name]
        for block in test.blocks
        for step, answer in zip(block.steps, block.answers, strict=True)
        if answer is not None
    ]
    for step, plan in cases:
        found = judge_plan(eval(step.code, scope), plan.rule, plan.parameters, plan.given)
        assert found["ms"] == pytest.approx(plan.given, rel=1e-4)
    assert len(cases) >= 3


def test_the_order_costs_what_the_students_own_cache_counts():
    scope = solved("lesson_07").scope
    walk = [
        address
        for i, j, k in scope["order"](32, 32, 8)
        for address in (i * 32 + k, 1024 + k * 32 + j, 2048 + i * 32 + j)
    ]
    assert scope["cache_misses"](walk, 8, 32) == 896


def _paid(answer, code, scope):
    """What the case's program costs, and the given one."""
    made = eval(code, scope)
    if answer.plan is not None:
        plan = answer.plan
        return judge_plan(to_plain_data(made), plan.rule, plan.parameters, plan.given)
    race = answer.race
    options = {key: race.options[key] for key in ("fast", "memory") if key in race.options}
    paid, given = (
        cost(list(tape), MACHINES[race.machine], scope["op_facts"], **options).ms
        for tape in (made, eval(race.given, scope))
    )
    return {"ms": paid, "given": given}
