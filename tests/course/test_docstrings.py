"""The words of what stands below grading: each public function says, as an order, what it does."""

import ast

import pytest
from docstrings import is_imperative
from imports import modules

KNOWN = modules("proflab_course", leave_out=("proflab_course.grading",))
# Methods that a base class calls by their names, whose documentation says what they do.
HOOKS = ("visit_", "emit")


@pytest.mark.parametrize("name", KNOWN)
def test_docstrings_begin_with_an_imperative(name):
    tree = ast.parse(KNOWN[name].read_text())
    assert ast.get_docstring(tree), name
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for node in [member for holder in (tree, *classes) for member in holder.body]:
        if not isinstance(node, ast.FunctionDef):
            continue
        doc = ast.get_docstring(node)
        if doc is None:
            assert node.name.startswith(("_", *HOOKS)), f"{name}.{node.name} has no docstring"
        elif not {"property", "cached_property"} & {*map(ast.unparse, node.decorator_list)}:
            assert is_imperative(doc), f"{name}.{node.name}: {doc}"


PLAIN = ("assemble", "cases", "collect", "course", "doctor", "export", "report", "tracks")


@pytest.mark.parametrize("name", [n for n in KNOWN if n.count(".") and n.split(".")[1] in PLAIN])
def test_modules_begin_with_an_imperative(name):
    first = ast.get_docstring(ast.parse(KNOWN[name].read_text())).splitlines()[0]
    # After the name of the command: "`proflab report`: write a page …".
    said = first.split("`: ", 1)[-1]
    assert is_imperative(said[0].upper() + said[1:]), first
