"""Which names a piece of Python takes from its module, where functions share or change them."""

import ast

import pytest

from proflab.lesson.names import used_names

CASES = {
    "def f():\n total = 0\n def g(n):\n  nonlocal total\n  total += n\n g(x)\n return total": {"x"},
    "def f():\n global total\n total += 1": {"total"},
    "def f():\n n = 1\n n |= y": {"y"},
    "class A:\n n = 0\n n += 1": set(),
    "n += 1": {"n"},
}


@pytest.mark.parametrize("text", CASES)
def test_a_name_that_a_function_changes(text):
    assert used_names(ast.parse(text).body) == CASES[text]
