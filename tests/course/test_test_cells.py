"""Graded cells: what of one enters a student's process, and what stays with the grader."""

from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from proflab.checks.compare import Verdict
from proflab.checks.expect import failed_text
from proflab.checks.values import to_plain_data
from proflab.lesson import expect_table
from proflab_course.build.in_process import ask
from proflab_course.cases.case import (
    Answer,
    GrammarError,
    Held,
    Step,
    label_of,
    literal,
    positional,
)
from proflab_course.cases.hidden_blocks import hidden_source_removed
from proflab_course.cases.raises import judge_raised
from proflab_course.cases.reader import KINDS, split
from proflab_course.cases.value import judge_value
from proflab_course.grading.judge_case import judge_case
from proflab_course.grading.match_cells import Aligned, Slot
from proflab_course.grading.plan import Reply, Result
from proflab_course.grading.races import simulated

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


@pytest.mark.parametrize(
    ("name", "label", "flops"),
    [
        ("test_linear_flops", "a layer", True),
        ("test_linear_parameters", "a layer", False),
        ("test_audit", "FLOPs of a layer", True),
    ],
)
def test_the_grader_knows_where_flops_are_counted(name, label, flops):
    ((_, answer),) = split(f"expect({label!r}, f(), 8)", name).answers
    assert answer.flops == flops
    assert ("multiply-add" in judge_value(answer, 4).diagnosis) == flops


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
        ("expect_table(f)", "line 1: expect_table takes a function and its rows"),
        ("expect_table()", "expect_table takes a function and its rows"),
        ("expect_table(f, *rows)", "expect_table takes a function and its rows"),
        ("expect_table(f(2), ('a', (1,), 1))", "takes a function's name or a lambda"),
        ("expect_table(f, ('a', (1,), 1), label='b')", "expect_table takes no argument label"),
        ("expect_table(f, ('a', (1,), 1), rel='1')", "rel must be a number"),
        ("expect_table(f, ('a', (1,), 1), rows)", "a row is a tuple: (label, arguments, result)"),
        ("expect_table(f, ('a', (1,)))", "with mistakes (row 1 of the table)"),
        ("expect_table(f, ('a', (1,), 1, {}, 2))", "a row is a tuple"),
        ("expect_table(f, ('a', (1,), *two))", "a row is a tuple"),
        ("expect_table(f, ('a', (1,), 1), (b, (2,), 2))", "a literal string (row 2 of the table)"),
        ("expect_table(f,\n ('a', (1), 1))", "line 2: the arguments are a tuple, (x,) for one;"),
        ("expect_table(f, ('a', args, 1))", "the arguments are a tuple"),
        ("expect_table(f, ('a', [(1,), (2,)], 1))", "the arguments are a tuple"),
        ("expect_table(f, ('a', [], ValueError))", "a list of tuples where each has to raise"),
        ("expect_table(f, ('a', [(1,), 2], ValueError))", "the arguments are a tuple"),
        ("expect_table(f, ('a', (1,), ValueError, {}))", "an exception names no mistakes"),
        ("expect_table(f, ('a', (1,), Wrong))", "not `Wrong` (row 1 of the table)"),
        ("expect_table(f, ('a', (1,), 1, ['b']))", "mistakes must be a dict of sentences"),
        ("expect_table(f, ('a', (1,), 1), ('a', (2,), 2))", "two cases have the label 'a'"),
        ("for x in y:\n    expect_table(f, ('a', (x,), 1))", "line 2: expect_table stands inside"),
        ("expect_table(f, ('a', (expect('b', 1, 1),), 1))", "expect stands inside another"),
        ("from a import expect_table\nexpect('a', 1, 1)", "import expect_table in the lesson's"),
        ("### BEGIN HIDDEN TESTS\nexpect('a', f(), 1)", "BEGIN HIDDEN TESTS without"),
        ("expect('a', f(), 1)\n### END HIDDEN TESTS", "END HIDDEN TESTS without ### BEGIN"),
        ("### BEGIN HIDDEN TESTS\n### BEGIN HIDDEN TESTS", "### BEGIN HIDDEN TESTS inside another"),
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


TABLE = """
expect_table(
    lambda size, power: size**power,
    ("a square", (3, 2), 9, {"twice, not squared": 6}),
    ("a root", (sides[0], 1 / 2), math.sqrt(2)),
    ("no power", [(2, None), (*sides, "x")], TypeError),
    ("one alone", [(2, "y")], TypeError),
    rel=1e-6,
)
"""


def test_a_row_is_a_case_and_so_is_each_tuple_that_has_to_raise():
    cell = split(TABLE, "test_power")
    (block,) = cell.blocks
    call = "(lambda size, power: size ** power)"
    assert block.steps == (
        Step("value", f"{call}(3, 2)"),
        Step("value", f"{call}(sides[0], 1 / 2)"),
        Step("raises", f"{call}(2, None)"),
        Step("raises", f"{call}(*sides, 'x')"),
        Step("raises", f"{call}(2, 'y')"),
    )
    assert block.answers == (
        Answer("a square", "expect", 9, rel=1e-6, mistakes={"twice, not squared": 6}),
        Answer("a root", "expect", 2**0.5, rel=1e-6),
        Answer("no power (1 of 2)", "expect_raises", exception="TypeError"),
        Answer("no power (2 of 2)", "expect_raises", exception="TypeError"),
        Answer("one alone", "expect_raises", exception="TypeError"),
    )
    assert "sides" in block.read


HIDDEN_TABLE = """
expect("one", f(1), 1)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
expect_table(
    f,
    # about: a size of zero
    # is a size.
    ("none", ({0}, 3), 0),
    # about: it raises for both.
    ("below", [(-1, 2), (-2, 2)], ValueError),
)
### END HIDDEN TESTS
"""


def test_a_hidden_row_has_its_explanation():
    cell = split(HIDDEN_TABLE.format("0"), "test_f")
    assert cell.explained == {
        "none": "a size of zero is a size.",
        "below (1 of 2)": "it raises for both.",
        "below (2 of 2)": "it raises for both.",
    }
    assert [hidden for hidden, _ in cell.answers] == [False, True, True, True]
    assert "expect_table" not in hidden_source_removed(HIDDEN_TABLE)


@pytest.mark.parametrize("argument", ["clock", "clock.readings", "doubles.Clock()"])
def test_a_hidden_table_uses_no_double_that_the_grader_holds(argument):
    with pytest.raises(GrammarError, match="cell test_f, line 5: .*(double|declare it)"):
        split(HIDDEN_TABLE.format(argument), "test_f")


# ── what the notebook says of a table, and what the grader says ──────────────────────────────


def drawn_table(dice: random.Random) -> str:
    """Return a table of rows that pass, fail and raise, for a function of two numbers."""
    results = ("2", "3.0", "6", "(1, 1)", "[2]", "'x'", "True", "ZeroDivisionError", "ValueError")
    numbers = ("0", "1", "2", "3", "7", "2.0", "-1", "'x'", "None")
    rows = []
    for number in range(dice.randint(1, 4)):
        result = dice.choice(results)
        several = dice.randint(1, 3) if result.endswith("Error") else 0
        tuples = [f"({dice.choice(numbers)}, {dice.choice(numbers)})" for _ in range(several or 1)]
        arguments = f"[{', '.join(tuples)}]" if several else tuples[0]
        mistakes = dice.choice(["", ", {'a slip': 4}"]) if not several else ""
        rows.append(f"('row {number}', {arguments}, {result}{mistakes})")
    function = dice.choice(["divmod", "calculate", "lambda a, b: calculate(a, b)"])
    tolerance = dice.choice(["", ", rel=0.5", ", abs=1.5"])
    return f"expect_table({function}, {', '.join(rows)}{tolerance})"


def calculate(a, b):
    """A function that gives many kinds of values."""
    if a == 7:
        raise ValueError("no sevens")
    return {0: (a, a), 1: a * 2, 2: [a], 3: a / b > 0}.get(b, a)


def judged(source: str) -> dict[str, tuple[bool, str, str]]:
    """Return what the grader says of each case."""
    found = {}
    for block in split(source, "test_f").blocks:
        for step, answer in zip(block.steps, block.answers, strict=True):
            try:
                value = eval(step.code, {"calculate": calculate})
            except Exception as error:
                names = [kind.__name__ for kind in type(error).__mro__]
                found[answer.label] = judge_raised(answer, names, str(error))
            else:
                found[answer.label] = judge_value(answer, to_plain_data(value))
    return found


def test_notebook_and_grader_agree_on_500_drawn_tables(capsys):
    dice, outcomes = random.Random(1), set()
    for _ in range(500):
        source = drawn_table(dice)
        verdicts = judged(source)
        raised = None
        try:
            exec(source, {"expect_table": expect_table, "calculate": calculate})
        except Exception as error:
            raised = error
        said = capsys.readouterr().out
        text = said if not isinstance(raised, AssertionError) else f"{said}{raised}\n"
        wrong = [failed_text(label, v) for label, v in verdicts.items() if not v.passed]
        assert (raised is not None) == bool(wrong), source
        assert [line for line in text.splitlines() if line[0] != "✅"] == [
            line for sentence in wrong for line in sentence.splitlines()
        ], source
        rows = {re.sub(r" \(\d of \d\)", "", label) for label in verdicts}
        failed = {re.sub(r" \(\d of \d\)", "", k) for k, v in verdicts.items() if not v.passed}
        assert {line[2:].split(":")[0] for line in text.splitlines() if line[0] == "✅"} == (
            rows - failed
        ), source
        outcomes.add(type(raised).__name__)
    assert {"NoneType", "CaseFailed", "ZeroDivisionError", "ValueError"} <= outcomes


# ── a further kind ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Even(Held):
    """Hold what the grader keeps of `expect_even`: which numbers it leaves out."""

    apart: tuple[int, ...]

    def worked_out(self, value):
        return {"odd": [each for each in value if each % 2 and each not in self.apart]}

    def judge(self, found):
        return Verdict(not found["odd"], f"{found['odd']} are odd")


def test_a_kind_of_case_is_a_file_and_a_line(monkeypatch):
    """Grader and build judge a kind that they do not know, by what its file says."""

    def parse(call, name):
        label, actual, apart = positional(call, 3, name)
        even = Even(literal(apart, name))
        answer = Answer(label_of(label, name), "expect_even", held=even)
        return [(Step("value", ast.unparse(actual)), answer)]

    monkeypatch.setitem(KINDS, "expect_even", parse)
    cell = split('expect_even("sizes", sizes(3), (1,))', "test_sizes")
    [(step, answer)] = zip(cell.blocks[0].steps, [a for _, a in cell.answers], strict=True)
    for values, passed in (([1, 2, 4], True), ([1, 2, 3], False)):
        key = SimpleNamespace(tests={"test_sizes": cell})
        aligned = Aligned([Slot(None, SimpleNamespace(kind="test", grade_id="test_sizes"))])
        result = Result(replies=[[Reply("value", value=values)]])
        raced = simulated(aligned, key, result, [0])
        assert (
            judge_case(answer, Reply("value", value=values), raced["test_sizes", "sizes"]).passed
            is passed
        )
        assert ask(step, answer, {"sizes": lambda n, values=values: values}).passed is passed
    with pytest.raises(GrammarError, match="expect_even stands inside another statement"):
        split('if True:\n    expect_even("a", 1, ())', "test_sizes")
