"""The plan of the packages: no import cycle, and a core that is read in one sitting."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from imports import ROOT, import_graph, imports, modules

import proflab

# The core, in the order in which it is read.
CORE = ("tensor", "meta", "shapes", "graph", "dispatch", "autograd")
CORE_LINES = 1000
PACKAGES = [
    # packages, and the parts of them that are left out
    (("proflab",), ("proflab_course.course", "proflab_course.grading")),
]


def cycle(known: dict[str, Path]) -> list[str]:
    """Return the modules of one import cycle; nothing if there is none."""
    try:
        TopologicalSorter(import_graph(known)).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("packages, leave_out", PACKAGES)
def test_no_import_runs_in_a_circle(packages, leave_out):
    known = modules(*packages, leave_out=leave_out)
    assert len(known) > 50
    assert not cycle(known)


def test_a_circle_is_found_inside_functions_and_through_packages(tmp_path):
    room = tmp_path / "house"
    room.mkdir()
    (room / "__init__.py").write_text("from house.a import x\n")
    (room / "a.py").write_text("def f():\n    from house import b\n")
    (room / "b.py").write_text("import os\n")
    assert not cycle(modules("house", root=tmp_path))
    (room / "b.py").write_text("import os\n\ndef f():\n    import house\n")
    assert set(cycle(modules("house", root=tmp_path))) == {"house", "house.a", "house.b"}
    (room / "b.py").write_text("from house.a import x\n")
    assert set(cycle(modules("house", root=tmp_path))) == {"house.a", "house.b"}


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
