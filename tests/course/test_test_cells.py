"""test_cells: what of a graded cell enters a student's process, and what stays with the grader."""

from __future__ import annotations

import pytest

from proflab_course.course.test_cells import (
    Answer,
    GrammarError,
    Step,
    hidden_source_removed,
    split,
)

CELL = """
x = make(3)  # a comment that names the answer: 55
expect("ten to five", count(x), 55)
expect("close", ratio(x), 1 / 3, rel=1e-6)
### BEGIN HIDDEN TESTS
y = make(4)
expect_between("a time", latency(y), 1, 2 * 2)
expect_raises("no size", lambda: make(-1), ValueError)
### END HIDDEN TESTS
expect("again", count(x), np.float64(55.0), abs=0.5, mistakes={"the bias is left out": 50})
"""


def test_steps_hold_code_and_nothing_of_the_answers():
    cell = split(CELL, "test_count", 10)
    steps = [step for block in cell.blocks for step in block.steps]
    assert steps == [
        Step("setup", "x = make(3)"),
        Step("value", "count(x)"),
        Step("value", "ratio(x)"),
        Step("setup", "y = make(4)"),
        Step("value", "latency(y)"),
        Step("raises", "make(-1)"),
        Step("value", "count(x)"),
    ]


def test_answers_hold_what_the_grader_needs():
    cell = split(CELL, "test_count", 10)
    assert (cell.name, cell.points) == ("test_count", 10)
    assert cell.answers == [
        (False, Answer("ten to five", "expect", expected=55)),
        (False, Answer("close", "expect", expected=1 / 3, rel=1e-6)),
        (True, Answer("a time", "expect_between", low=1, high=4)),
        (True, Answer("no size", "expect_raises", exception="ValueError")),
        (
            False,
            Answer("again", "expect", 55.0, abs=0.5, mistakes={"the bias is left out": 50}),
        ),
    ]
    assert [block.hidden for block in cell.blocks] == [False, True, False]


def test_two_hidden_blocks_are_two_blocks():
    hidden = "### BEGIN HIDDEN TESTS\nexpect({0!r}, f(), 1)\n### END HIDDEN TESTS\n"
    cell = split(hidden.format("one") + hidden.format("two"), "test_f")
    assert [block.hidden for block in cell.blocks] == [True, True]


def test_the_hidden_blocks_are_removed_as_nbgrader_removes_them():
    from nbformat.v4 import new_code_cell
    from nbgrader.preprocessors import ClearHiddenTests

    cell = new_code_cell(CELL.strip("\n"))
    ClearHiddenTests()._remove_hidden_test_region(cell)
    assert hidden_source_removed(CELL.strip("\n")) == cell.source.rstrip("\n")


@pytest.mark.parametrize(
    "source, sentence",
    [
        ("x = 1", "cell test_f: a graded cell needs at least one expect"),
        ("expect('a', f(), 1", "line 1: '(' was never closed"),
        ("%time f()", "line 1: invalid syntax"),
        (
            "for i in [1]:\n    expect('a', f(i), 1)",
            "line 2: expect stands inside another statement",
        ),
        (
            "with g():\n    expect_raises('a', lambda: f(), ValueError)",
            "collect a list, compare it",
        ),
        ("def check():\n    expect('a', f(), 1)", "stands inside another statement"),
        ("try:\n    expect('a', f(), 1)\nexcept Exception:\n    pass", "stands inside another"),
        ("x = expect('a', f(), 1)", "must be a statement of its own"),
        ("e = expect\ne('a', f(), 1)", "must be a statement of its own"),
        ("expect('a', expect('b', f(), 1), None)", "stands inside another statement"),
        ("from proflab.lesson import expect\nexpect('a', f(), 1)", "import expect in the lesson's"),
        ("from a import b as expect\nexpect('a', f(), 1)", "import b in the lesson's first cell"),
        ("expect('a', f())", "expect takes 3 positional arguments"),
        ("expect('a', *both)", "expect takes 3 positional arguments"),
        ("expect_between('a', f(), 1)", "expect_between takes 4 positional arguments"),
        ("expect('a', f(), 1, tolerance=2)", "expect takes no argument tolerance"),
        ("expect('a', f(), 1, **more)", "expect takes no argument **"),
        ("expect_between('a', f(), 1, 2, rel=1)", "expect_between takes no argument rel"),
        ("expect(label, f(), 1)", "the label must be a literal string"),
        ("expect(f'{n}', f(), 1)", "the label must be a literal string"),
        ("expect('a', f(), wanted)", "use literals, arithmetic, math and np only, not `wanted`"),
        ("expect('a', f(), len([1]))", "math and np only, not `len([1])`"),
        ("expect('a', f(), [i for i in [1]])", "math and np only, not"),
        ("expect('a', f(), 1 / 0)", "`1 / 0` raises ZeroDivisionError"),
        ("expect('a', f(), np.array(['x']))", "the expected value cannot be used: an array"),
        ("expect('a', f(), math.nan_)", "`math.nan_` raises AttributeError"),
        ("expect_between('a', f(), 2, 1)", "the lower bound is above the upper bound"),
        ("expect_between('a', f(), 'x', 1)", "the bounds must be numbers"),
        ("expect_between('a', f(), None, 1)", "the bounds must be numbers"),
        ("expect('a', f(), 1, rel='1 %')", "rel must be a number"),
        ("expect('a', f(), 1, mistakes=['twice'])", "mistakes must be a dict of sentences"),
        ("expect('a', f(), 1, mistakes={2: 'twice'})", "mistakes must be a dict of sentences"),
        ("expect_raises('a', f, ValueError)", "expect_raises takes `lambda: …` without arguments"),
        ("expect_raises('a', lambda x: f(x), ValueError)", "`lambda: …` without arguments"),
        ("expect_raises('a', lambda **k: f(), ValueError)", "`lambda: …` without arguments"),
        ("expect_raises('a', lambda: f(), Wrong)", "takes a built-in exception's name"),
        ("expect_raises('a', lambda: f(), print)", "takes a built-in exception's name"),
        ("expect_raises('a', lambda: f(), KeyboardInterrupt)", "a built-in exception's name"),
        ("expect('a', f(), 1)\nexpect('a', f(), 2)", "two cases have the label 'a'"),
        ("### BEGIN HIDDEN TESTS\nexpect('a', f(), 1)", "BEGIN HIDDEN TESTS without"),
        ("expect('a', f(), 1)\n### END HIDDEN TESTS", "without its BEGIN"),
        ("### BEGIN HIDDEN TESTS\n### BEGIN HIDDEN TESTS", "a hidden block inside another"),
        (
            "expect('a',\n### BEGIN HIDDEN TESTS\nf(), 1)\n### END HIDDEN TESTS",
            "crosses a hidden block's border",
        ),
    ],
)
def test_a_cell_that_breaks_the_grammar_gets_a_sentence(source, sentence):
    with pytest.raises(GrammarError) as raised:
        split(source, "test_f")
    assert sentence in str(raised.value)
    assert str(raised.value).startswith("cell test_f")
