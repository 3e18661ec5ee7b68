"""Judge one after the other in one process: the verdicts are those that each has alone."""

from __future__ import annotations

import functools
import gc
import weakref
from types import FunctionType

import pytest
from race_tapes import solved_op_facts

from cohort.run import Solved, one_by_one
from proflab.lesson import race
from proflab_course.build import in_process
from proflab_course.build.in_process import Case, run_cell
from proflab_course.cases.reader import split

SOLUTION = "def noted(seen):\n    seen.append(1)\n    return len(seen)\n"
TWICE = "def noted(seen):\n    seen += [1, 1]\n    return len(seen)\n"
CELL = 'expect("one more", noted(seen), 1)\n'
RACE = """
expect_faster(
    "a product", race.traced(once, x=(64, 64)), like=slow, machine="DESK", full=0.0202
)
"""


def lesson_of(helpers):
    made = Solved(
        "lesson_99",
        "99_small",
        [],
        {"noted": SOLUTION},
        {"noted": [split(CELL, "test_noted", 1)]},
        helpers,
    )
    vars(made)["scope"] = {"__name__": "__main__", "seen": []}
    return made


def dear(call, result):
    """Count ten times the bytes that lesson 05 counts."""
    row = solved_op_facts()(call, result)
    return row | {"bytes_read": 10 * row["bytes_read"]}


def once(x):
    return x @ x


def verdict(**names):
    names = {"race": race, "once": once, "op_facts": solved_op_facts()} | names
    return next(run_cell(split(RACE, "test_once", 1), names))


def test_what_an_entry_leaves_in_a_list_counts_where_the_helpers_do_not_empty_it():
    codes = [TWICE, SOLUTION]
    assert one_by_one(lesson_of(""), "noted", codes, False) == []
    helpers = "del seen[:]"
    rows = one_by_one(lesson_of(helpers), "noted", [f"{helpers}\n{code}" for code in codes], False)
    assert [[Case(*row).passed for row in of] for of in rows] == [[False], [True]]


def test_another_given_program_or_another_count_is_no_earlier_one():
    def slow(x):
        return (x @ x + x) - x

    def wrong(x):
        return x @ x @ x

    def as_dear(x):
        return x @ x

    first = verdict(slow=slow)
    assert first.passed
    assert verdict(slow=slow) == first
    assert "off by" in verdict(slow=wrong).reason
    assert not verdict(slow=as_dear).passed
    assert verdict(slow=slow, op_facts=dear) != first


@pytest.mark.parametrize(
    "program, fine",
    [(lambda x: x @ x, True), (lambda x: x @ x * 2, False), (lambda x: x + x, False)],
)
def test_another_program_is_judged_anew(program, fine):
    def slow(x):
        return ((x @ x + x) - x) * 1 * 1

    assert verdict(slow=slow).passed
    assert verdict(slow=slow, once=program).passed is fine


def test_what_entries_count_with_by_themselves_is_not_kept_for_good(monkeypatch):
    for each in ("_found", "_known"):
        few = functools.lru_cache(2)(getattr(in_process, each).__wrapped__)
        monkeypatch.setattr(in_process, each, few)
    seen = []

    def slow(x):
        return (x @ x + x) - x

    for _ in range(4):
        op_facts = FunctionType(dear.__code__, globals())
        seen.append(weakref.ref(op_facts))
        assert verdict(slow=slow, op_facts=op_facts).reason
    del op_facts
    gc.collect()
    assert [each() is None for each in seen[:2]] == [True, True]
