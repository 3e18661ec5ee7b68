"""The plan of the core: read in one sitting, in a stated order, and resting on itself alone."""

import ast

from imports import ROOT, imports, modules

import proflab

# The core, in the order in which it is read.
CORE = ("tensor", "meta", "shapes", "graph", "dispatch", "autograd")
CORE_LINES = 1000


def test_the_core_is_read_in_one_sitting():
    lines = {name: (ROOT / f"proflab/{name}.py").read_text().count("\n") for name in CORE}
    assert sum(lines.values()) <= CORE_LINES, lines


def test_the_core_needs_nothing_but_itself_and_numpy():
    known = modules("proflab")
    for name in CORE:
        path = ROOT / f"proflab/{name}.py"
        assert imports(path, known) <= {f"proflab.{other}" for other in CORE}, name
        tops = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)]
        forwarding = [n for n in tops if n.name == "__getattr__"]
        assert not any(isinstance(n, ast.Return) for f in forwarding for n in ast.walk(f)), name


def test_the_package_says_in_which_order_the_core_is_read():
    places = [proflab.__doc__.index(f"    {name} ") for name in ("tensor", "meta", "shapes")]
    assert places == sorted(places)
    tour = (ROOT / "docs/engine.md").read_text()
    order = [tour.index(f"| {i} | `proflab/{name}.py` |") for i, name in enumerate(CORE, 1)]
    assert order == sorted(order)
