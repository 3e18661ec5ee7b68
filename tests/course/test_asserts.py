"""An assert in a graded cell is refused, with the call of `expect` that says the same."""

import pytest

from proflab_course.cases.case import GrammarError
from proflab_course.cases.reader import split

REWRITTEN = {
    "assert count(x) == 55": 'expect("count(x)", count(x), 55)',
    "assert 55 == count(x), 'ten'": 'expect("ten", count(x), 55)',
    'assert count(x) == 55, f"{x}"': 'expect("count(x)", count(x), 55)',
    "assert name(x) == 'conv'": "expect(\"name(x)\", name(x), 'conv')",
    "assert name(x)['a'] == 2 * 3": "expect(\"name(x)['a']\", name(x)['a'], 2 * 3)",
    "assert count(x) == total(x)": 'expect("count(x) == total(x)", count(x) == total(x), True)',
    "assert 0 < count(x) < 9": 'expect("0 < count(x) < 9", 0 < count(x) < 9, True)',
    "assert not is_leaf(x)": 'expect("not is_leaf(x)", not is_leaf(x), True)',
    "assert is_leaf(x)": 'expect("bool(is_leaf(x))", bool(is_leaf(x)), True)',
}


@pytest.mark.parametrize("line", REWRITTEN)
@pytest.mark.parametrize(
    "place",
    ["{}", "if x:\n    {}", "def check():\n    with x:\n        {}\ncheck()", "class C:\n    {}"],
)
@pytest.mark.parametrize("hidden", [False, True])
def test_the_rewrite_is_shown_wherever_it_stands(line, place, hidden):
    text = place.format(line)
    if hidden:
        text = f"### BEGIN HIDDEN TESTS\n{text}\n### END HIDDEN TESTS"
    with pytest.raises(GrammarError) as error:
        split(f'expect("one", 1, 1)\n{text}', "test_count")
    number = 2 + text.splitlines().index(next(t for t in text.splitlines() if line in t))
    sentence = f"an assert earns no points: write `{REWRITTEN[line]}`"
    assert str(error.value) == f"cell test_count, line {number}: {sentence}"


def test_the_rewrite_is_accepted():
    for call in REWRITTEN.values():
        split(call, "test_count")


@pytest.mark.parametrize(
    "call", ["np.testing.assert_allclose(f(1), 2)", "case.assertEqual(f(1), 2)"]
)
def test_assertions_of_libraries_are_refused(call):
    with pytest.raises(GrammarError, match=r"line 2: assert\w+ earns no points: write `expect\("):
        split(f'expect("one", 1, 1)\n{call}', "test_count")


@pytest.mark.parametrize("loop", ["for a, b in [(1, 2), (2, 4)]", "while f(a) < 9"])
def test_in_place_of_a_loop_of_asserts_stands_a_table(loop):
    with pytest.raises(
        GrammarError, match=r"line 2: .*write `expect_table\(.* with a row for each"
    ):
        split(f"expect('one', 1, 1)\n{loop}: assert f(a) == b", "test_count")
