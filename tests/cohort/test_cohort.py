"""Every mutant loses points, every alternate keeps them, and no cheap cheat earns one."""

from __future__ import annotations

import re
import textwrap
from collections import Counter

import pytest

from cohort.clauses import limits, untried
from cohort.failing import case_names, failing, judged, quick, table
from cohort.run import (
    earned,
    entries,
    exercises,
    judge,
    judge_all,
    known,
    lessons,
    points,
    solved,
    stub,
)
from cohort.visible import GOAL, LESSON_GOAL, share
from proflab_course.cases.log import LogCase
from proflab_course.course.wrong import KINDS
from proflab_course.grading.points import share as share_of

EXERCISES = [(lesson, name) for lesson in lessons() for name in exercises(lesson)]
# What an entry with a slip of the pen raises: it would be "caught" without testing anything.
SLIPS = ("NameError", "SyntaxError", "UnboundLocalError", "ImportError")
CONSTANTS = ("0", "1", "1.0", "None", "True", "False", "''", "[]", "{}", "float('nan')", "10**6")

# How a case's reason begins that an exception ended. A ValueError is what a wrong solution refuses.
ENDED = re.compile(r"(?!ValueError|NotImplementedError)[A-Z]\w*(Error|Exception|Interrupt)\b")
# Entries of other kinds than these are to do more than raise.
RETURNS = KINDS.keys() - {"names", "raises"}

# What an entry raises whose helper has a name that a test cell gives to something else.
TAKEN = "object is not callable"
# Lessons in which no case holds of an exercise that nobody began, or the report would count it.
NO_CASE_HOLDS = ("lesson_03", "lesson_10", "lesson_11")

# Lessons whose visible cases do not yet catch GOAL of the mutants of each exercise.
BELOW_THE_GOAL = ()

# Exercises whose entries take longest: all of them are left to `make test-all`.
LONG = ("cache_misses", "find_leak", "generate", "through_tiles", "work_log")
LONG_LESSONS = ("lesson_07", "lesson_09", "lesson_12", "lesson_13")


def shorter(*each, long):
    """Return a parameter that `make test` passes over if it is long."""
    return pytest.param(*each, marks=pytest.mark.whole if long else ())


each_exercise = pytest.mark.parametrize("lesson, exercise", EXERCISES)
# Those of the first lessons, where most cheats are cheap; those of all in `make test-all`.
FIRST = ("lesson_01", "lesson_02", "lesson_03")
early_exercises = pytest.mark.parametrize(
    "lesson, exercise", [shorter(*each, long=each[0] not in FIRST) for each in EXERCISES]
)


def test_no_exercise_is_passed_over():
    assert {each: exercises(each) for each in lessons()} == {
        each: [*solved(each).solutions] for each in lessons()
    }


@each_exercise
def test_wrong_solutions_lose_points_and_right_ones_keep_them(lesson, exercise):
    rows = table(lesson)[exercise]
    entries = known(lesson).of[exercise]
    assert [e.sentence for e in entries if e.kind and not rows[e.sentence]] == []
    assert [e.sentence for e in entries if e.is_right and rows[e.sentence]] == []


@each_exercise
def test_the_table_is_of_what_is_there(lesson, exercise):
    """`python -m tests.cohort.failing NN` renews it."""
    rows = table(lesson)[exercise]
    assert list(rows) == [entry.sentence for entry in known(lesson).of[exercise]]
    assert frozenset().union(*rows.values()) <= case_names(lesson, exercise)


@pytest.mark.proves
@pytest.mark.parametrize("lesson, exercise", [each for each in EXERCISES if each[1] not in LONG])
def test_each_case_is_failed_as_the_table_says(lesson, exercise):
    """Those of `quick`; each test cell is tried by entries of its own."""
    agree(lesson, exercise, quick(lesson, exercise))


@each_exercise
def test_what_make_test_judges_fails_every_case_that_an_entry_fails(lesson, exercise):
    some = {entry.sentence for entry in quick(lesson, exercise)}
    rows = table(lesson)[exercise]
    assert frozenset().union(*(rows[each] for each in some)) == frozenset().union(*rows.values())
    assert any(not rows[each] for each in some), "a right one"


@pytest.mark.whole
@each_exercise
def test_each_other_entry_fails_as_the_table_says(lesson, exercise):
    """Those that `make test` does not judge: with `quick`, every entry is judged once."""
    there = [] if exercise in LONG else quick(lesson, exercise)
    agree(lesson, exercise, [each for each in known(lesson).of[exercise] if each not in there])


def agree(lesson, exercise, entries):
    """Judge the entries, and hold what they fail against the table; none fails by a slip."""
    found, rows = judged(lesson, exercise, entries), table(lesson)[exercise]
    steady = [entry.sentence for entry in entries if not entry.chance]
    assert {s: sorted(failing(found[s])) for s in steady if failing(found[s]) != rows[s]} == {}
    assert [entry.sentence for entry in entries if entry.chance and not found[entry.sentence]] == []
    reasons = [(sentence, case.reason) for sentence, of in found.items() for case in of]
    assert [each for each in reasons if each[1].startswith(SLIPS) or TAKEN in each[1]] == []
    # What is to return a wrong value and only raises shows nothing of the cases.
    values = [e.sentence for e in entries if e.kind in RETURNS]
    assert [s for s in values if all(ENDED.match(case.reason) for case in found[s])] == []


@each_exercise
def test_no_two_mutants_are_one(lesson, exercise):
    mutants = entries(lesson, "MUTANTS")[exercise]
    codes = Counter(textwrap.dedent(code).strip() for code in mutants.values())
    assert [code for code, times in codes.items() if times > 1] == []


@pytest.mark.parametrize("lesson, exercise", [e for e in EXERCISES if e[0] not in BELOW_THE_GOAL])
def test_visible_cases_catch_most_mutants(lesson, exercise):
    caught = share(lesson, exercise)
    assert caught.visible >= GOAL, caught.unseen


@pytest.mark.parametrize("lesson", lessons())
def test_visible_cases_catch_nearly_all_mutants_of_a_lesson(lesson):
    shares = [share(lesson, exercise) for exercise in exercises(lesson)]
    unseen = sum(len(each.unseen) for each in shares)
    assert unseen <= (1 - LESSON_GOAL) * sum(each.counted for each in shares)


@early_exercises
def test_what_is_refused_has_a_visible_case(lesson, exercise):
    """Try each limit on both sides in the lessons that teach what to refuse, later at least one."""
    asked, missed = limits(solved(lesson).solutions[exercise]), untried(lesson, exercise)
    if lesson in FIRST:
        assert missed == []
    assert not asked or len(missed) < len(asked)


@each_exercise
def test_no_test_cell_is_without_hidden_cases(lesson, exercise):
    """Whoever writes the visible answers in gets no points for them; a log's rules have none."""
    for cell in solved(lesson).tests[exercise]:
        if all(isinstance(answer.held, LogCase) for _, answer in cell.answers):
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


@early_exercises
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


@pytest.mark.parametrize("lesson", [shorter(each, long=each in LONG_LESSONS) for each in lessons()])
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
