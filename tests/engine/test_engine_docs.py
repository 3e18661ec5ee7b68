"""The engine's own words: examples run, docstrings say what to expect, rules show their shapes."""

import ast
import doctest
import inspect
import re

import numpy as np
import pytest
from docstrings import examples_of, is_imperative, run_examples
from imports import ROOT, modules

import proflab
from proflab import Tensor, dispatch, models, nn
from proflab.checks.compare import compare
from proflab.checks.diagnose import diagnose
from proflab.checks.expect import expect, expect_between, expect_raises
from proflab.nn import functional as F

TOUR = (ROOT / "docs/engine.md").read_text()
ENGINE = tuple(
    name for name in modules("proflab") if name.split(".")[1:2] not in (["lesson"], ["standalone"])
)
# What a reader may use in an example without importing it.
NAMES = {
    "proflab": proflab, "Tensor": Tensor, "nn": nn, "F": F, "models": models, "np": np,
    "dispatch": dispatch,
}  # fmt: skip
# What has to have an example.
SHOWN = (
    Tensor, Tensor.meta, Tensor.backward, Tensor.storage, proflab.no_grad, proflab.Function,
    proflab.meta, proflab.einsum, proflab.example_input, proflab.saved_tensors, dispatch.hook,
    nn.Module, nn.Linear, nn.Conv2d, nn.Sequential, proflab.matmul, proflab.sum, F.linear, F.conv2d,
    F.cross_entropy, proflab.optim.SGD, expect, expect_between, expect_raises, compare, diagnose,
)  # fmt: skip


@pytest.mark.parametrize("name", ENGINE)
def test_examples_in_docstrings_are_true(name):
    for test in examples_of(name, **NAMES):
        proflab.manual_seed(0)
        run_examples(test)


@pytest.mark.parametrize("thing", SHOWN, ids=lambda t: getattr(t, "__qualname__", "storage"))
def test_what_readers_use_most_shows_an_example(thing):
    assert ">>> " in (inspect.getdoc(thing) or "")


def test_every_value_in_the_tour_is_true():
    blocks = re.findall(r"^```python\n(.*?)^```$", TOUR, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 10 and all(">>> " in block for block in blocks)
    parser = doctest.DocTestParser()
    text = "\n".join(blocks)
    proflab.manual_seed(0)
    run_examples(parser.get_doctest(text, {}, "engine.md", str(ROOT / "docs/engine.md"), 0))


def rules() -> list[tuple[str, type]]:
    """Every op that has a backward, and the class in which it stands."""
    found = []
    for name, op in dispatch.OPS.items():
        owner = next(c for c in type(op).__mro__ if "backward" in vars(c))
        if owner is not dispatch.Op:
            found.append((name, owner))
    return found


@pytest.mark.parametrize("name, owner", rules(), ids=lambda v: v if isinstance(v, str) else "")
def test_every_backward_rule_says_which_shapes_come_and_go(name, owner):
    source = inspect.getsource(owner.backward)
    assert re.search(r"^ +# grad[^\n]*(\n +#[^\n]*)?→ ", source, re.MULTILINE), source


@pytest.mark.parametrize("name", ENGINE)
def test_every_public_class_says_what_it_is(name):
    for node in ast.parse(modules("proflab")[name].read_text()).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{name}.{node.name}"


def functions(name: str) -> list[tuple[str, ast.FunctionDef]]:
    """Every function and method that a module shows, but for rules and forwards."""
    rule = (
        "shape",
        "forward",
        "save_for_backward",
        "backward",
        "extra_repr",
        "update",
        "reset_parameters",
    )
    found = []
    for node in ast.parse(modules("proflab")[name].read_text()).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        for member in inside:
            if isinstance(member, ast.FunctionDef) and member.name not in rule:
                properties = ("property", "data.setter")
                if not any(ast.unparse(d) in properties for d in member.decorator_list):
                    found.append((f"{getattr(node, 'name', '')}.{member.name}", member))
    return found


@pytest.mark.parametrize("name", ENGINE)
def test_docstrings_begin_with_an_imperative(name):
    for where, node in functions(name):
        doc = ast.get_docstring(node)
        if doc is None:
            public = not where.split(".")[-1].startswith("_") and not where.startswith("_")
            assert not public, f"{name}.{where} has no docstring"
            continue
        assert is_imperative(doc), f"{name}.{where}: {doc}"
