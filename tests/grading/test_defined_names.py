"""The names that a cell defines are found in its text, whatever text that is."""

import pytest
from pace import at_most

from proflab_course.grading.defined_names import (
    defined_functions,
    defined_names,
    may_define_unseen,
    names_in_each,
)


@pytest.mark.parametrize(
    "source, names",
    [
        ("def a(x):\n    inner = 1\n    def b(): pass", {"a"}),
        ("@cache\nasync def a(): pass", {"a"}),
        ("class A:\n    def method(self): pass\n    attribute = 2", {"A"}),
        ("if True:\n    def a(): pass\nelse:\n    class B: pass", {"a", "B"}),
        ("try:\n    from fast import a\nexcept ImportError:\n    a = b = None", {"a", "b"}),
        ("if x: a = 1; b = 2", {"a", "b"}),
        ("import numpy as np, os.path, re", {"np", "os", "re"}),
        ("from math import (\n    sqrt as a,\n    pi,\n)", {"a", "pi"}),
        ("a = lambda x, y=1: x\n(b, *c), d = z", {"a", "b", "c", "d"}),
        ("a: int = 3\nb.c = 1\nd[0] = 2\ne == f", {"a"}),
        ("for a, (b, c) in z: pass\nwith f() as d, g() as e: pass", {"a", "b", "c", "d", "e"}),
        ("print((a := 3), end='')", {"a"}),
        ("'''\ndef a(): pass\n'''\n# b = 1", set()),
        ("%%time\n!ls a=1\ndef a(): pass\na?\n%timeit b = 1", {"a"}),
        ("def a(b, c:\n    return", {"a"}),  # it cannot be read, but it is meant to be there
        ("it's no Python\ndef a(): pass", {"a"}),
        ("", set()),
        ("x = f'{y=}' 'z = 1'\ny = rb'''\nz = 1\n'''", {"x", "y"}),
        ("'''Is it so?\n'''\na = 1\n'''\nb = 2?\n'''", {"a"}),
        ("def f():\n\tx = 1\n\n# no end\n\ty = 2\nz = 3", {"f", "z"}),
        ("a = 1\r\nif b:\r\n  c = \\\r\n  2\r\n", {"a", "c"}),
        ("a = [\n  1,  # (\n]; b = 2", {"a", "b"}),
        ("'''never closed\ndef a(): pass", {"a"}),
        (f"a = 1{' ' * 50_000}$\nb = 2", {"a", "b"}),
    ],
)
def test_names_are_those_bound_at_top_level(source, names):
    assert defined_names(source) == names


@pytest.mark.parametrize(
    "source, names",
    [
        ("def a(): pass\nclass B:\n    def c(self): pass\nd = lambda: 0\ne = 1", {"a", "B", "d"}),
        ("import f\ntry:\n    async def a(): pass\nexcept E: pass\ng = h(lambda: 0)", {"a"}),
    ],
)
def test_functions_are_told_from_other_names(source, names):
    assert defined_functions(source) == names


@pytest.mark.parametrize(
    "source, unseen",
    [
        ("from mine import *", True),
        ("exec(text)", True),
        ("globals()['a'] = 1", True),
        ("%run mine.py", True),
        ("from mine import a", False),
        ("evaluate = 10 % 3", False),
    ],
)
def test_cells_that_may_define_more_than_they_say(source, unseen):
    assert may_define_unseen(source) is unseen


@pytest.mark.parametrize(
    "text",
    ["(", "'''\n", "x = 1;", "def ", "-", "\0", "a=(", "import ", "from x import y ", "\\\n", "a."],
)
def test_text_made_to_crash_or_stall_a_parser_does_neither(text):
    cells = [text * (1_000_000 // len(text))] + [text * (40_000 // len(text))] * 200
    with at_most(paces=600):
        names_in_each(cells, {text.split()[0] if text.split() else "x"})
