"""Races in lessons: each idea on the way has its share, and full marks are at the solution."""

import ast
import json
import re

import pytest
from cohort.run import ROOT, known, solved
from race_programs import best, entries, ideas, raced, races

from proflab.checks.values import to_plain_data
from proflab.lesson.race.cost import MACHINES, cost
from proflab.lesson.race.judge import judge, share_of
from proflab.lesson.race.plans import judge_plan
from proflab_course.cases.plan import PlanRace
from proflab_course.cases.race import Race

NEAR = 1.5  # of benchmarks/bench_race_ranks.py


IDEAS, BEST = entries("wrong (slow)"), entries("best")


def test_each_race_has_ideas_on_the_way():
    assert {(lesson, name) for lesson, name, _ in IDEAS} == {*races()}


def test_no_program_is_passed_over():
    for found, read in ((IDEAS, ideas), (BEST, best)):
        each = [
            (lesson, name, n) for lesson, name in races() for n in range(len(read(lesson, name)))
        ]
        assert sorted(found) == sorted(each)


@pytest.mark.whole
@pytest.mark.parametrize(("lesson", "name", "number"), IDEAS)
def test_an_idea_is_worth_its_share_of_the_way(lesson, name, number):
    idea = ideas(lesson, name)[number]
    answer, made, scope = raced(lesson, name, idea.code)
    paid, full = _paid(answer, made, scope), answer.held.full
    assert share_of(paid, full) == pytest.approx(idea.share, abs=0.01)
    assert paid["ms"] > full  # full marks are at the best of the ideas


@pytest.mark.whole
@pytest.mark.parametrize(("lesson", "name", "number"), BEST)
def test_the_best_known_program_is_right_and_costs_what_its_case_says(lesson, name, number):
    answer, made, scope = raced(lesson, name, best(lesson, name)[number].code)
    case = answer.held
    assert _paid(answer, made, scope)["ms"] == pytest.approx(case.best, rel=5e-4)
    assert case.best < case.full
    if isinstance(case, Race):
        given = list(eval(case.given, scope))
        found = judge(list(made), given, scope["op_facts"], case.machine, **case.options)
        assert (found.get("refused"), found.get("wrong")) == (None, "")


def test_each_best_cost_that_a_case_says_has_its_program():
    for lesson, name in races():
        for test in solved(lesson).tests[name]:
            cases = [a.held for b in test.blocks for a in b.answers if a]
            known = any(case.best is not None for case in cases if case is not None)
            first = test is solved(lesson).tests[name][0]
            assert known == (first and bool(best(lesson, name))), name


def test_a_picture_of_a_race_has_the_marks_of_its_visible_case():
    seen = 0
    for lesson, name in races():
        case = solved(lesson).tests[name][0].blocks[0].answers[-1].held
        for cell in solved(lesson).cells:
            for call in _pictures(cell, name):
                said = {each.arg: each.value for each in call.keywords if each.arg}
                full = said["full"] if "full" in said else call.args[3]
                best = ast.literal_eval(said["best"]) if "best" in said else None
                assert (ast.literal_eval(full), best) == (case.full, case.best), cell.name
                seen += 1
    assert seen >= 5


def _pictures(cell, name):
    """Yield the calls of race.picture and race.plan_picture that draw this exercise."""
    if cell.role != "demo" or not re.search(
        rf"race\.(plan_)?picture.*\b{name}\b", cell.source, re.S
    ):
        return
    for call in ast.walk(ast.parse(cell.source)):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("picture"):
            yield call


@pytest.mark.whole
def test_no_right_program_beside_a_lesson_costs_less_than_what_is_said_to_be_the_best():
    for lesson, name in races():
        answer, made, scope = raced(lesson, name)
        least = answer.held.best or _paid(answer, made, scope)["ms"]
        for each in known(lesson).of[name]:
            if each.is_right:
                answer, made, scope = raced(lesson, name, each.code)
                assert _paid(answer, made, scope)["ms"] >= least * (1 - 5e-4), each.sentence


def test_lessons_quote_the_record_of_ranks():
    record = json.loads((ROOT / "docs" / "figures" / "race_ranks.json").read_text("utf-8"))
    found = re.search(r"of all (\d+) pairs: [\d.]+; (\d+) in another order", record["table"])
    pairs, others = map(int, found.groups())
    assert (pairs - 2 * others) / pairs > 0.9
    said = (
        f"of {pairs} pairs of this course's programs that differ by more than {NEAR} times, "
        f"{pairs - others} come in the same order by CPU time."
    )
    for lesson in ("lesson_06", "lesson_13"):
        texts = (cell.source.replace("\n# ", " ") for cell in solved(lesson).cells)
        assert any(said in text for text in texts), lesson


def test_what_is_cheaper_than_the_solution_is_not_far_faster():
    """A count alone does not decide: else the best known would have to be the solution."""
    record = json.loads((ROOT / "docs" / "figures" / "race_ranks.json").read_text("utf-8"))
    times = {}  # by race and program: CPU ms, as the record has them
    for line in record["table"].splitlines():
        if head := re.fullmatch(r"\d\d (\w+): tau .*", line):
            name = head[1]
        elif row := re.fullmatch(
            r" +[\d.,]+ +([\d.,]+)  (the solution|best known): ?.*", line + ": "
        ):
            times[name, row[2]] = float(row[1])
    found = [name for name, what in times if what == "best known"]
    for name in found:
        assert times[name, "the solution"] / times[name, "best known"] < NEAR, name
    counted = {name for lesson, name in races() if best(lesson, name)} - {*found}
    for lesson, name in races():
        case = solved(lesson).tests[name][0].blocks[0].answers[-1].held
        assert name not in counted or case.full / case.best < NEAR, name
    assert {"distances", "generate", "faster"} <= {*found} and "order" in counted


@pytest.mark.parametrize(
    ("lesson", "name", "slow"),
    [("lesson_07", "order", "slow_order"), ("lesson_11", "buckets", "slow_buckets")],
)
def test_the_given_plan_is_the_one_that_a_locked_cell_shows(lesson, name, slow):
    lesson = solved(lesson)
    scope = dict(lesson.scope) | {name: lesson.scope[slow]}
    cases = [
        (step, answer.held)
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


def _paid(answer, made, scope):
    """What the case's program costs, and the given one."""
    race = answer.held
    if isinstance(race, PlanRace):
        return race.worked_out(to_plain_data(made))
    options = {key: race.options[key] for key in ("fast", "memory") if key in race.options}
    paid, given = (
        cost(list(tape), MACHINES[race.machine], scope["op_facts"], **options).ms
        for tape in (made, eval(race.given, scope))
    )
    return {"ms": paid, "given": given}
