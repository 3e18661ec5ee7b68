"""Every mutant loses points, every alternate keeps them, and no cheap cheat earns one."""

from __future__ import annotations

import re
import textwrap
from collections import Counter

import pytest

from cohort.clauses import limits, untried
from cohort.run import (
    earned,
    entries,
    exercises,
    failures,
    judge,
    judge_all,
    lessons,
    points,
    solved,
    stub,
)
from cohort.visible import GOAL, LESSON_GOAL, share
from proflab_classroom.viva.entries import whole_code
from proflab_course.grading.points import share as share_of

EXERCISES = [(lesson, name) for lesson in lessons() for name in exercises(lesson)]
# What an entry with a slip of the pen raises: it would be "caught" without testing anything.
SLIPS = ("NameError", "SyntaxError", "UnboundLocalError", "ImportError")
CONSTANTS = ("0", "1", "1.0", "None", "True", "False", "''", "[]", "{}", "float('nan')", "10**6")

# How a case's reason begins that an exception ended. A ValueError is what a wrong solution refuses.
ENDED = re.compile(r"(?!ValueError|NotImplementedError)[A-Z]\w*(Error|Exception|Interrupt)\b")
# A sentence that says so may be of an entry that does nothing but raise.
RAISES = re.compile(r"\b(raises|fails|[A-Z]\w+Error)\b")

# What an entry raises whose helper has a name that a test cell gives to something else.
TAKEN = "object is not callable"
# Lessons in which no case holds of an exercise that nobody began, or the report would count it.
NO_CASE_HOLDS = ("lesson_03", "lesson_10", "lesson_11")

# Lessons whose visible cases do not yet catch GOAL of the mutants of each exercise.
BELOW_THE_GOAL = ()

each_exercise = pytest.mark.parametrize("lesson, exercise", EXERCISES)


@each_exercise
def test_mutants_lose_points(lesson, exercise):
    survivors, slips = [], []
    for sentence, code in entries(lesson, "MUTANTS")[exercise].items():
        code = whole_code(exercise, code, solved(lesson).solutions[exercise])
        failed = failures(solved(lesson), exercise, code)
        survivors += [] if failed else [sentence]
        slips += [
            (sentence, c.reason) for c in failed if c.reason.startswith(SLIPS) or TAKEN in c.reason
        ]
    assert survivors == []
    assert slips == []


@each_exercise
def test_no_mutant_is_caught_by_an_accident_alone(lesson, exercise):
    """What is to return a wrong value and only raises shows nothing of the cases."""
    accidents = {}
    for sentence, code in entries(lesson, "MUTANTS")[exercise].items():
        code = whole_code(exercise, code, solved(lesson).solutions[exercise])
        if RAISES.search(sentence) or not _ended(failures(solved(lesson), exercise, code)):
            continue
        failed = [case for case in judge(solved(lesson), exercise, code) if not case.passed]
        if _ended(failed):
            accidents[sentence] = failed[0].reason
    assert accidents == {}


def _ended(failed):
    return all(ENDED.match(case.reason) for case in failed)


@each_exercise
def test_no_two_mutants_are_one(lesson, exercise):
    mutants = entries(lesson, "MUTANTS")[exercise]
    codes = Counter(textwrap.dedent(code).strip() for code in mutants.values())
    assert [code for code, times in codes.items() if times > 1] == []


@each_exercise
def test_alternates_keep_points(lesson, exercise):
    lost = {}
    for sentence, code in entries(lesson, "ALTERNATES")[exercise].items():
        code = whole_code(exercise, code, solved(lesson).solutions[exercise])
        failed = [case for case in judge(solved(lesson), exercise, code) if not case.passed]
        if failed:
            lost[sentence] = failed
    assert lost == {}


@pytest.mark.parametrize("lesson, exercise", [e for e in EXERCISES if e[0] not in BELOW_THE_GOAL])
def test_visible_cases_catch_most_mutants(lesson, exercise):
    caught = share(lesson, exercise)
    assert caught.visible >= GOAL, caught.unseen


@pytest.mark.parametrize("lesson", lessons())
def test_visible_cases_catch_nearly_all_mutants_of_a_lesson(lesson):
    shares = [share(lesson, exercise) for exercise in exercises(lesson)]
    unseen = sum(len(each.unseen) for each in shares)
    assert unseen <= (1 - LESSON_GOAL) * sum(each.counted for each in shares)


@each_exercise
def test_what_is_refused_has_a_visible_case(lesson, exercise):
    """Try each limit on both sides in the lessons that teach what to refuse, later at least one."""
    asked, missed = limits(solved(lesson).solutions[exercise]), untried(lesson, exercise)
    if lesson in ("lesson_01", "lesson_02", "lesson_03"):
        assert missed == []
    assert not asked or len(missed) < len(asked)


@each_exercise
def test_no_test_cell_is_without_hidden_cases(lesson, exercise):
    """Whoever writes the visible answers in gets no points for them; a log's rules have none."""
    for cell in solved(lesson).tests[exercise]:
        if all(answer.log for _, answer in cell.answers):
            continue
        assert sum(hidden for hidden, _ in cell.answers) >= 2, cell.name


@each_exercise
def test_there_are_enough_entries(lesson, exercise):
    assert len(entries(lesson, "MUTANTS")[exercise]) >= 3
    assert len(entries(lesson, "ALTERNATES")[exercise]) >= 2


@each_exercise
def test_an_empty_exercise_earns_nothing(lesson, exercise):
    code = stub(solved(lesson).solutions[exercise])
    assert "NotImplementedError" in code
    cases = judge(solved(lesson), exercise, code)
    assert points(cases, solved(lesson)) == 0
    if lesson in NO_CASE_HOLDS:
        assert [c for c in cases if c.passed or "NotImplementedError" not in c.reason] == []


@each_exercise
def test_no_constant_earns_anything(lesson, exercise):
    """Neither a usual constant, nor the right answer to one of the cases, nor always raising."""
    wanted = [
        repr(answer.expected)
        for cell in solved(lesson).tests[exercise]
        for _, answer in cell.answers
        if answer.call == "expect"
    ]
    bodies = [f"return {value}" for value in dict.fromkeys((*CONSTANTS, *wanted))]
    bodies.append("raise ValueError('no')")
    codes = [f"def {exercise}(*args, **kwargs):\n    {body}" for body in bodies]
    got = earned(solved(lesson), [{exercise: code} for code in codes])
    assert [body for body, score in zip(bodies, got, strict=True) if score] == []


@each_exercise
def test_what_always_raises_earns_nothing_with_partial_credit(lesson, exercise):
    code = f"def {exercise}(*args, **kwargs):\n    raise ValueError('no')"
    ended = {(c.cell, c.label): c.passed for c in judge(solved(lesson), exercise, code)}
    for cell in solved(lesson).tests[exercise]:
        cases = [(*case, ended.get((cell.name, case[1].label), False)) for case in cell.answers]
        assert share_of(cases) == 0, cell.name


@pytest.mark.parametrize("lesson", lessons())
def test_an_empty_notebook_scores_0_and_a_solved_one_all_points(lesson):
    solutions, worth = solved(lesson).solutions, sum(solved(lesson).cell_points().values())
    empty = {name: stub(code) for name, code in solutions.items()}
    assert points(judge_all(solved(lesson), empty), solved(lesson)) == 0
    cases = judge_all(solved(lesson), solutions)
    assert [case for case in cases if not case.passed] == []
    assert points(cases, solved(lesson)) == worth


@pytest.mark.parametrize("lesson", lessons())
def test_a_notebook_of_constants_scores_0(lesson):
    bodies = [f"(*args, **kwargs):\n    return {constant}" for constant in CONSTANTS]
    attempts = [{name: f"def {name}{body}" for name in solved(lesson).solutions} for body in bodies]
    assert earned(solved(lesson), attempts) == [0] * len(CONSTANTS)
