"""What a `# vary:` may say, what it draws, and which cases depend on that."""

import ast
import re

import pytest

from proflab_course.cases.vary import own_numbers, varying
from proflab_course.cases.vary_comments import VaryError

SECRET = bytes(32)
CELL = """\
expect("shown", f(1), 1)
### BEGIN HIDDEN TESTS
# vary: width in 8..64 by 8, groups in {{1, 2, 4}}
# keep: width % (3 * groups) == 0
width, groups = 24, 2
{}
### END HIDDEN TESTS
"""
ROWS = """\
other = 5
made = grouped(width, groups)
expect("größer", made.count, 40)
# vary: 0.5 in 0.25..2.0, "float16" in {"float16", "int8"}
small = make(0.5, "float16", [0.5, 5])
expect("a float and a text", measure(small), 3.0)
expect("what nothing changes", measure(other), 3.0)
expect_table(
    lambda size: f(size, 7),
    # vary: 7 in 70..79
    ("a row", (7,), 9),
    ("another row", (7,), 9),
    ("none", [(0,), (-1,)], ValueError),
)
"""


def cell(rows=ROWS):
    return CELL.format(rows)


def drawn(found, student):
    return found.text(found.drawn(SECRET, student, "01_first"))


def test_names_numbers_floats_and_texts_are_drawn_within_what_the_comment_says():
    found = varying(cell(), "test_f")
    texts = [drawn(found, f"student {number}") for number in range(60)]
    widths, halves = set(), set()
    for text in texts:
        width, groups = map(int, re.search(r"width, groups = (\d+), (\d+)", text).groups())
        assert width % (3 * groups) == 0 and width in range(8, 65, 8) and groups in (1, 2, 4)
        half, kind, again = re.search(r"make\((.*), (.*), \[(.*), 5\]\)", text).groups()
        assert half == again and 0.25 <= float(half) <= 2.0 and len(half) <= 4
        assert ast.literal_eval(kind) in ("float16", "int8")
        assert re.search(r'\("a row", \(7\d,\), 9\)', text) and '("another row", (7,), 9)' in text
        assert "lambda size: f(size, 7)" in text
        widths, halves = widths | {width}, halves | {half}
    assert widths == {24, 48} and len(halves) > 30


def test_cases_depend_on_what_is_drawn_by_the_names_that_they_use():
    assert {*varying(cell(), "test_f").expected} == {"größer", "a float and a text", "a row"}


def test_an_object_that_a_line_changes_depends_on_what_the_line_has():
    rows = """\
seen = []
# vary: 3 in 4..9
seen.append(3)
expect("changed", seen, [3])
seen = []
expect("bound anew", seen, [])
"""
    assert {*varying(f"seen = []\n{cell(rows)}", "test_f").expected} == {"changed"}


def test_the_same_words_give_the_same_draw_and_others_another():
    found = varying(cell(), "test_f")
    assert drawn(found, "ada") == drawn(found, "ada")
    assert len({drawn(found, name) for name in ("ada", "bob", "eve")}) == 3
    # Fixed, so that a regrade years later gives the same marks.
    assert "make(1.34, 'int8', [1.34, 5])" in drawn(found, "ada")


def test_the_solution_is_asked_the_set_up_and_what_depends_on_it():
    found = varying(cell(), "test_f")
    edits = found.drawn(SECRET, "ada", "01_first")
    (block,) = found.asked(edits)
    assert [label for label, _ in block if label] == ["größer", "a float and a text", "a row"]
    values = {"größer": 41, "a float and a text": 2.5, "a row": (1, "x")}
    text = found.text(edits | found.expecting(values))
    assert "made.count, 41)" in text and "measure(small), 2.5)" in text and "(1, 'x'))," in text
    assert "measure(small), 2.0)" in found.text(found.expecting(values | {"a float and a text": 2}))
    with pytest.raises(ValueError, match="a row"):
        found.expecting(values | {"a row": {1, 2}.__iter__})


def test_a_student_may_be_shown_the_lines_with_numbers_that_were_drawn():
    found = varying(cell(), "test_f")
    shown = own_numbers(drawn(found, "ada"), "test_f")
    assert {*shown} == {*found.expected}
    assert re.fullmatch(r"width, groups = \(\d+, \d\)", shown["größer"])
    assert re.fullmatch(r"\(lambda size: f\(size, 7\)\)\(7\d\)", shown["a row"])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("# vary: 3 in 4\nexpect('a', f(3), 1)", "'3 in 4' is not clear; write it as"),
        ("# vary: 3 in 4..4\nexpect('a', f(3), 1)", "'3 in 4..4' leaves no choice"),
        ("# vary: 3 in {4}\nexpect('a', f(3), 1)", "leaves no choice"),
        ("# vary: 'x' in 1..2\nexpect('a', f('x'), 1)", "is not clear"),
        ("# vary: 2 in 4..9\nexpect('a', f(3), 1)", "2 is not in the case"),
        ("# vary: n in 4..9\nexpect('a', f(3), 1)", "n is not bound to a number by the block's"),
        ("# vary: 3 in 4..9, 3 in 5..6\nexpect('a', f(3), 1)", "3 is drawn twice"),
        ("# vary: 3 in 4..9\nexpect_raises('a', lambda: f(3), ValueError)", "must stand above a"),
        ("# vary: 3 in 4..9\nexpect('a', f(3), 1, mistakes={'b': 2})", "'a' varies, and may name"),
        ("# vary: 3 in 4..9\nn = 3\nexpect('a', f(2), 1)", "no hidden `expect` depends on"),
        ("# keep: 3 > 2\nexpect('a', f(3), 1)", "must stand below a `# vary:`"),
        ("# vary: 3 in 4..9\n# keep: 3 >\nexpect('a', f(3), 1)", "`# keep: 3 >` is not an expr"),
    ],
)
def test_what_is_not_clear_is_said(rows, said):
    text = f"### BEGIN HIDDEN TESTS\n{rows}\n### END HIDDEN TESTS\n"
    with pytest.raises(VaryError, match=rf"line \d: .*{re.escape(said)}"):
        varying(text, "test_f")


@pytest.mark.parametrize(
    ("keep", "said"),
    [("3 > 9", "in 100 draws none keeps `3 > 9`"), ("m > 9", "cannot be computed")],
)
def test_a_condition_that_no_draw_meets_is_said(keep, said):
    text = f"# vary: 3 in 4..9\n# keep: {keep}\nexpect('a', f(3), 1)"
    found = varying(f"### BEGIN HIDDEN TESTS\n{text}\n### END HIDDEN TESTS\n", "test_f")
    with pytest.raises(VaryError, match=said):
        found.drawn(SECRET, "ada", "01_first")


def test_a_visible_case_does_not_vary():
    with pytest.raises(VaryError, match="must stand above a hidden"):
        varying("# vary: 3 in 4..9\nexpect('a', f(3), 1)", "test_f")
