"""Programs from before the machine changed have at least the share that they had.

tests/data/older_races.json holds, by race, programs of the commit before: ideas on the way and
solutions, each with its share of the way at that time. Where a lesson's former.toml keeps the test
cell of then, as for the race of buckets, an unchanged hand-in of then is graded by it.
"""

import json
from pathlib import Path

import pytest
from cohort.run import ROOT, solved
from race_programs import races

from proflab.checks.values import to_plain_data
from proflab.lesson.race.judge import judge, share_of
from proflab_course.build.make import FORMER_FILE
from proflab_course.cases.plan import PlanRace
from proflab_course.cases.race import WITH_LINES
from proflab_course.cases.reader import split
from proflab_course.course.toml_table import read_toml

OLDER = json.loads((Path(__file__).parents[1] / "data" / "older_races.json").read_text("utf-8"))


def share_today(row):
    """The share of the way that a program has in the visible case; 0 where it is wrong."""
    own = solved(row["lesson"])
    scope = dict(own.scope)
    exec(row["code"], scope)
    now = own.tests[row["race"]][0]
    former = read_toml(ROOT / "modules" / own.name, FORMER_FILE) or {}
    block = split(former[now.name], now.name).blocks[0] if now.name in former else now.blocks[0]
    with own.beside():
        for step in block.steps[:-1]:
            exec(step.code, scope)
        made = eval(block.steps[-1].code.removesuffix(WITH_LINES), scope)
    case = block.answers[-1].held
    if isinstance(case, PlanRace):
        found = case.worked_out(to_plain_data(made))
    else:
        given = list(eval(case.given, scope))
        found = judge(list(made), given, scope["op_facts"], case.machine, **case.options)
    assert not found.get("wrong") and not found.get("refused"), found
    return share_of(found, case.full)


@pytest.mark.whole
@pytest.mark.parametrize("row", OLDER, ids=lambda row: f"{row['race']}: {row['says']}")
def test_an_older_program_keeps_its_share(row):
    assert share_today(row) >= row["share"] - 0.005


def test_each_race_has_an_older_program():
    assert {(row["lesson"], row["race"]) for row in OLDER} == {*races()}
