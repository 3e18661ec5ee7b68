"""The lessons' concept questions: each key and each slip is what the lesson's functions give."""

from __future__ import annotations

import ast
import math
from collections import Counter
from functools import cache
from typing import Any

import pytest
from cohort.run import ROOT, entries, solved

from proflab_classroom.questions.concepts_file import Concept, read_concepts
from proflab_course.course.answer_cells import LETTERS
from proflab_course.course.layout import Course

COURSE = Course(ROOT)
# No address is known of the lecture that this one quotes.
NO_LINK = ("06_A1",)


@cache
def questions(lesson: str) -> tuple[Concept, ...]:
    return tuple(read_concepts(COURSE, lesson))


LESSONS = [name for name in COURSE.lessons() if questions(name)]
EACH = [pytest.param(name, each, id=each.id) for name in LESSONS for each in questions(name)]
each_question = pytest.mark.parametrize("lesson, concept", EACH)
with_mutants = pytest.mark.parametrize(
    "lesson, concept, letter",
    [
        pytest.param(*each.values, letter, id=f"{each.id}-{letter}")
        for each in EACH
        for letter in each.values[1].mutants
    ],
)


def value_of(lesson: str, line: str, replaced: dict[str, str], monkeypatch: Any) -> Any:
    """Run the line's statements where the lesson is solved but for what is replaced."""
    whole = solved(f"lesson_{lesson[:2]}")
    names = dict(whole.scope)
    *statements, last = ast.parse(line).body
    assert isinstance(last, ast.Expr)
    monkeypatch.chdir(COURSE.module(lesson).parent)
    with whole.beside():
        for code in replaced.values():
            exec(compile(f"{whole.helpers}\n{code}", "<replaced>", "exec"), names)
        exec(compile(ast.Module(statements, []), "<line>", "exec"), names)
        return eval(compile(ast.Expression(last.value), "<line>", "eval"), names)


def agree(found: Any, wanted: Any) -> bool:
    """Compare with what TOML can hold: numbers to a thousandth, a list for a tuple."""
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(agree, found, wanted))
    if isinstance(wanted, (str, bool)):
        return found == wanted
    return math.isclose(found, wanted, rel_tol=1e-3, abs_tol=1e-9)


@each_question
def test_the_key_is_what_its_line_gives(lesson, concept, monkeypatch):
    if not concept.line:
        pytest.skip("its source states the key")
    found = value_of(lesson, concept.line, {}, monkeypatch)
    assert agree(found, concept.value), found
    for letter, value in concept.option_values.items():
        assert agree(found, value) == (letter == concept.key), letter


@with_mutants
def test_a_slip_leads_to_its_option(lesson, concept, letter, monkeypatch):
    exercise, sentence = concept.mutants[letter]
    code = entries(f"lesson_{lesson[:2]}", "MUTANTS")[exercise][sentence]
    found = value_of(lesson, concept.line, {exercise: code}, monkeypatch)
    assert agree(found, concept.option_values[letter]), found


@each_question
def test_each_question_says_what_it_must(lesson, concept):
    assert sorted([concept.key, *concept.slips]) == sorted(LETTERS)
    assert len({*concept.slips.values()}) == 3
    assert concept.why
    whole = solved(f"lesson_{lesson[:2]}")
    assert concept.after in {c.name for c in whole.cells if c.role in ("exercise", "demo")}
    if concept.kind == "audit":
        told = f"{concept.stem} {concept.source}"
        assert ("](https://" in told and "read on " in told) or concept.id in NO_LINK


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_lesson_has_one_letter_for_most_of_its_keys(lesson):
    most = max(Counter(each.key for each in questions(lesson)).values())
    assert most <= max(2, len(questions(lesson)) // 2)


def test_length_does_not_give_keys_away():
    """A guess at the longest option is right no more often than any other guess."""
    longest = [
        len(each.options[each.key]) > max(len(each.options[slip]) for slip in each.slips)
        for lesson in LESSONS
        for each in questions(lesson)
    ]
    assert sum(longest) <= len(longest) / 4


def test_every_false_claim_is_audited():
    audits = {each.id for lesson in LESSONS for each in questions(lesson) if each.kind == "audit"}
    alone = {f"{number}_A" for number in ("02", "03", "05", "08", "09", "10", "12")}
    pairs = {f"{number}_A{n}" for number in ("04", "06", "11") for n in (1, 2)}
    assert audits == alone | pairs | {"09_A2"}
