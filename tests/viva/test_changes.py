"""Changes of one line: what is changed, and rule 5, what is not."""

import textwrap

from proflab_classroom.viva.changes import changes

CODE = textwrap.dedent('''
    def f(x, y=2, fast=True):
        """Return 1 + 1."""
        if x < 0:
            raise ValueError(f"{x + 1} is below 0")
        assert y > 0
        total = x * y + 1
        return total if fast else -total
''').strip()


def after():
    return {change.after for change in changes(CODE)}


def test_operators_numbers_and_sides_are_changed():
    assert {
        "def f(x, y=3, fast=True):",
        "def f(x, y=2, fast=False):",
        "total = x + y + 1",
        "total = x * y - 1",
        "total = x * y + 2",
        "return -total if fast else total",
        "return total if fast else total",
    } <= after()


def test_rule_5_lines_that_only_raise_and_docstrings_are_left_alone():
    assert {change.line for change in changes(CODE)} == {1, 6, 7}


def test_each_change_is_of_one_line_and_is_python():
    for change in changes(CODE):
        lines = zip(CODE.splitlines(), change.code.splitlines(), strict=True)
        differing = [n for n, (one, other) in enumerate(lines, 1) if one != other]
        assert differing == [change.line]
        compile(change.code, "changed", "exec")


def test_letters_of_several_bytes_do_not_shift_a_change():
    (made,) = [c for c in changes("def f(x):\n    return 'äöü' * x * 2") if "3" in c.after]
    assert made.after == "return 'äöü' * x * 3"


def test_what_is_no_python_has_no_changes():
    assert changes("def f(:") == []
    assert changes("%timeit f(1)") == []
