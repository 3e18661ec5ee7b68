"""The inventory's items: each key is computed by its line, and a pair asks for one rule twice."""

import collections
import functools
import json
import math
import re
import statistics
import types
from pathlib import Path

import pytest
from cohort.run import solved

from proflab import nn
from proflab_classroom.inventory.items import LETTERS, of_form, parse_inventory, read_inventory
from proflab_course.course.layout import Course, CourseError

ROOT = Path(__file__).parents[2]
ITEMS = read_inventory(Course(ROOT))
TEXT = (ROOT / "modules" / "inventory.toml").read_text(encoding="utf-8")


@functools.cache
def lessons():
    """All that the lessons before the last one define, which no item goes beyond."""
    return vars(solved("lesson_11").built)


def line_of(item):
    """Return what an item's line yields: the value of its last statement."""
    scope = {**lessons(), "json": json, "math": math, "statistics": statistics, "nn": nn}
    *before, last = item.line.split("; ")
    exec("\n".join(before), scope)
    return eval(last, scope)


def alike(found, expected):
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(expected, (bool, str)):
        return found == expected
    return math.isclose(found, expected, rel_tol=1e-3, abs_tol=1e-3)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_the_line_gives_the_value(item, monkeypatch):
    monkeypatch.chdir(ROOT / "modules" / "03_latency")
    assert alike(line_of(item), item.value)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_the_value_is_the_key_s_and_no_other_option_s(item):
    meant = [letter for letter, value in item.option_values.items() if alike(value, item.value)]
    assert meant == ([item.key] if item.option_values else [])


def test_most_keys_are_numbers_that_a_line_yields():
    assert sum(bool(item.option_values) for item in ITEMS) == 16


def test_each_form_has_one_item_of_each_pair_and_no_item_is_in_both():
    forms = [of_form(ITEMS, form) for form in (1, 2)]
    assert [[item.pair for item in form] for form in forms] == [list(range(1, 13))] * 2
    assert [item.id for item in forms[0]][:4] == ["01a", "02b", "03a", "04b"]
    assert not {item.id for item in forms[0]} & {item.id for item in forms[1]}


@pytest.mark.parametrize("pair", range(1, 13))
def test_the_two_of_a_pair_ask_for_the_same_with_other_words(pair):
    a, b = (item for item in ITEMS if item.pair == pair)
    assert a.stem != b.stem
    assert {*a.slips} == {*LETTERS} - {a.key}


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_of_options_of_two_parts_each_part_occurs_as_often(item):
    """Else a student who knows nothing finds the key by counting parts."""
    parts = {letter: re.split(r", | and ", text) for letter, text in item.options.items()}
    if len(parts[item.key]) < 2:
        return
    for place in zip(*parts.values(), strict=True):
        assert len({*collections.Counter(place).values()}) == 1, place


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_no_option_follows_from_another(item):
    """A range that holds another's, or "only if", tells that it is wrong or makes two right."""
    for text in item.options.values():
        assert not re.search(r"\b(at least|at most|only|if|any)\b", text), text


def test_shown_letters_are_a_new_order_in_which_fixed_options_stay_last():
    for item in ITEMS:
        assert sorted(item.shown.values()) == list(LETTERS)
        assert tuple(item.shown.values())[len(LETTERS) - len(item.fixed) :] == item.fixed
    right = [s for item in ITEMS for s, letter in item.shown.items() if letter == item.key]
    assert all(3 <= right.count(letter) for letter in LETTERS)


def test_the_letter_of_one_form_does_not_tell_that_of_the_other():
    """Who takes a second form, or asks a neighbour, learns no more from letters than by chance."""
    keys: dict[int, list[str]] = {}
    for item in ITEMS:
        keys.setdefault(item.pair, []).extend(s for s, at in item.shown.items() if at == item.key)
    assert sum(first == second for first, second in keys.values()) <= len(keys) / 2


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("number = 1\n", "number = 2\n", "pairs must be numbered 1, 2, … in order; see 1"),
        ('key = "A"', 'key = "E"', "pair 1A: it has options A, B, C and D, and the key"),
        ("line = ", "lien = ", "pair 1A has an entry 'lien'; it may have "),
        ('lessons = ["01"]', "lessons = []", "pair 1: lessons must be a list such as"),
        ('lessons = ["01"]', 'lessons = ["1"]', "pair 1: lessons must be a list such as"),
        ('fixed = ["D"]', 'fixed = "D!"', "pair 1: fixed must be a list of letters"),
        ('B = "10⁹ for 1024³", ', "", "pair 1A: each option but the key A has a slip"),
        ("[[pair]]", "[[pair]", "is not TOML"),
    ],
)
def test_a_mistake_in_the_file_is_told_in_a_sentence(old, new, told):
    with pytest.raises(CourseError) as error:
        parse_inventory(TEXT.replace(old, new, 1).encode())
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_letter_that_is_fixed_twice_stays_last_once():
    twice = parse_inventory(TEXT.replace('fixed = ["D"]', 'fixed = ["D", "D"]', 1).encode())
    assert [item.shown for item in twice] == [item.shown for item in ITEMS]


def test_the_lessons_scope_is_that_of_the_course():
    assert isinstance(lessons()["amdahl"], types.FunctionType)
