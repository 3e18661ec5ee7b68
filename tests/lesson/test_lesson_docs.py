"""The words of what lessons use: examples run, docstrings begin with an imperative."""

import ast
import inspect

import pytest
from cohort.run import ROOT
from docstrings import examples_of, functions, is_imperative, run_examples
from imports import modules
from lesson_demos import beside

from proflab.lesson import doubles, hardware, measuring

pytestmark = pytest.mark.usefixtures("quick_clocks")
PACKAGES = modules("proflab.lesson", "proflab.standalone")
BESIDE = {str(p.relative_to(ROOT)): p for p in sorted((ROOT / "modules").glob("*/[a-z]*.py"))}
FILES = PACKAGES | BESIDE
# What has to have an example.
SHOWN = (
    doubles.Clock, doubles.Copy, doubles.Matmul, doubles.Model, doubles.Allocating,
    doubles.Logged, doubles.OnlyParameters, doubles.Weights, hardware.Hardware, hardware.Cache,
    hardware.Machine.sentences, hardware.read_hardware, hardware.in_bytes, measuring.in_turns,
    measuring.best_time, measuring.on_threads, measuring.beyond_caches,
    measuring.drops, measuring.copy_on,
)  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_examples_in_docstrings_are_true(name):
    if ">>> " not in FILES[name].read_text(encoding="utf-8"):
        return
    path = BESIDE.get(name)
    for test in examples_of(beside(path.parent.name, path.stem) if path else name):
        run_examples(test)


@pytest.mark.parametrize("thing", SHOWN, ids=lambda thing: thing.__qualname__)
def test_what_tests_and_lessons_use_most_shows_an_example(thing):
    assert ">>> " in inspect.getdoc(thing)


@pytest.mark.parametrize("name", FILES)
def test_docstrings_begin_with_an_imperative(name):
    for where, node in functions(FILES[name]):
        doc = ast.get_docstring(node)
        assert doc is None or is_imperative(doc), f"{where}: {doc}"


@pytest.mark.parametrize("name", FILES)
def test_whatever_is_public_has_a_docstring(name):
    for node in ast.parse(FILES[name].read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{name}.{node.name}"
