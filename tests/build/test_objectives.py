"""Objectives: what a lesson promises is tried, and a class's lesson promises no more."""

import pytest
from cohort.run import ROOT
from shop_course import SHOP, TRACKS, make_shop

from proflab_course.build.command import build
from proflab_course.build.prepare import prepare
from proflab_course.course.concepts import read_concepts
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_module
from proflab_course.tracks.objectives import essay_items, objectives, stated_objectives
from proflab_course.tracks.read import Tracks

STATED = """Prices, and in lesson 02 whole carts.

**You will be able to**

- add up prices, with what the state takes;
- say what a price is on average;
- make all of it cheaper.

**You need** nothing."""
OBJECTIVES = """
[lesson.01_shop.objectives]
"add up prices" = ["tax", "total"]
"say what" = ["mean"]
"make all" = ["discount"]
"""
GOALS_SHOP = SHOP.replace(
    "# Prices, and in lesson 02 whole carts.",
    "\n".join(f"# {line}".rstrip() for line in STATED.splitlines()),
)
FULL = TRACKS + OBJECTIVES


def shop(place, tracks=FULL, lesson=GOALS_SHOP):
    assert GOALS_SHOP != SHOP
    return make_shop(place, tracks, lesson)


def test_a_lesson_with_objectives_that_exercises_serve_is_built(tmp_path):
    course = shop(tmp_path)
    assert build(course, audit="static") == ["01_shop", "02_cart"]
    lesson = read_module(course.module("01_shop"), "01_shop")
    found = objectives(lesson, Tracks.read(course.root).times["01_shop"])
    assert [each.text for each in found] == stated_objectives(lesson.cells[0].source)
    assert found[0].exercises == {"tax": 30, "total": 40}
    assert (found[0].visible, found[0].hidden, found[0].points) == (2, 4, 70)


REFUSED = {
    "tracks.toml, [lesson.01_shop.objectives]: no exercise of 01_shop serves 'make all of it": (
        '"make all" = ["discount"]',
        '"make all" = ["demo_cheaper"]\n',
        ['"say what" = ["mean"]', '"say what" = ["mean", "discount"]'],
    ),
    "modules/01_shop/01_shop.py: 2 of 3 cases try 'say what a price is on average'; add": (
        'expect("three", mean([4, 8, 15]), 9.0)\n',
        "",
    ),
    "the exercise discount of 01_shop serves no objective; add it to one": (
        '["discount"]',
        '["demo_cheaper"]',
    ),
    "[lesson.01_shop.objectives]: 01_shop has no exercise or demo cell means": (
        '["mean"]',
        '["mean", "means"]',
    ),
    "'make some' begins no objective of 01_shop, or several; take the first words": (
        '"make all"',
        '"make some"',
    ),
    "it does not say which exercises of 01_shop serve 'make all of it cheaper'": (
        '"make all" = ["discount"]',
        "",
        ['"say what" = ["mean"]', '"say what" = ["mean", "discount"]'],
    ),
    "lesson 01_shop: tax serves 'add up prices' and 'say what': choose one objective": (
        '["mean"]',
        '["mean", "tax"]',
    ),
    "the essay of 01_shop has no items of one point, and each serves one objective": (
        '["mean"]',
        '["mean", 1]',
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_does_not_fit_is_refused_in_one_sentence(tmp_path, sentence):
    old, new, *more = REFUSED[sentence]
    tracks, lesson = FULL, GOALS_SHOP
    for was, instead in [(old, new), *more]:
        assert was in tracks or was in lesson
        tracks, lesson = tracks.replace(was, instead), lesson.replace(was, instead)
    with pytest.raises(CourseError) as error:
        build(shop(tmp_path, tracks, lesson), audit="static")
    assert [line for line in str(error.value).splitlines() if sentence in line]
    assert all("01_shop" in line for line in str(error.value).splitlines())


def test_a_lesson_of_ones_own_need_not_say_what_serves_its_objectives(tmp_path):
    assert build(shop(tmp_path / "own", TRACKS), audit="static")
    with pytest.raises(CourseError, match="it does not say which exercises of 01_shop serve 'add"):
        build(shop(tmp_path / "limited", "limits = true\n" + TRACKS), audit="static")


def test_a_shorter_track_promises_what_it_has(tmp_path):
    plan = prepare(shop(tmp_path), track="hour")  # section 2, in which `mean` is given
    [first] = [lesson.cells[0].source for lesson in plan.lessons]
    assert stated_objectives(first) == [
        "add up prices, with what the state takes",
        "say what a price is on average",
    ]
    taken = plan.taken["01_shop"]
    found = objectives(plan.whole[0], plan.tracks.times["01_shop"], taken=taken)
    assert [(each.exercises, each.read) for each in found] == [
        ({"total": 40}, []),
        ({}, ["mean"]),
        ({}, []),
    ]
    whole = prepare(shop(tmp_path / "whole")).lessons[0].cells[0].source
    assert len(stated_objectives(whole)) == 3


COURSE = Course(ROOT)
TIMES = Tracks.read(ROOT).times


@pytest.mark.parametrize("name", COURSE.lessons())
def test_the_blueprint_of_a_lesson_adds_up(name):
    lesson = read_module(COURSE.module(name), name)
    concepts = read_concepts(COURSE, name)
    found = objectives(lesson, TIMES[name], concepts)
    assert 2 <= len(found) <= 5 and all(each.cases >= 3 and each.exercises for each in found)
    assert sum(each.points for each in found) == sum(c.points for c in lesson.named("test"))
    assert sum(len(each.questions) for each in found) == len(concepts)
    items = sorted(item for each in found for item in each.items)
    assert items == list(range(1, essay_items(lesson) + 1))
