"""The plan of both packages: no import cycle, folders that rest on those below, all declared."""

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from imports import import_graph, modules

COMMANDS = ("build", "assemble", "collect", "export", "report", "doctor", "check", "grading")
# Which folders import none of which others, at the top of a file or inside a function.
RULES = [
    ("proflab", ["proflab_course"]),
    ("proflab_course.course", [f"proflab_course.{name}" for name in COMMANDS]),
    ("proflab_course.assemble", ["proflab_course.build", "proflab_course.grading"]),
    ("proflab_course.collect", ["proflab_course.build", "proflab_course.assemble"]),
    (
        "proflab_course.grading",
        [f"proflab_course.{name}" for name in COMMANDS if name != "grading"],
    ),
    *((f"proflab_course.{name}", ["proflab_course.cli"]) for name in ("course", *COMMANDS)),
]


def cycle(known: dict[str, Path]) -> list[str]:
    """Return the modules of one import cycle; nothing if there is none."""
    try:
        TopologicalSorter(import_graph(known)).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def is_within(name: str, package: str) -> bool:
    """Return True if a module is a package or lies in it."""
    return f"{name}.".startswith(f"{package}.")


def against_rule(known: dict[str, Path], folder: str, others: list[str]) -> list[str]:
    """Return a line for each import of one of the others, or of what lies in it, in a folder."""
    return [
        f"{name} imports {target}"
        for name, targets in import_graph(known).items()
        for target in sorted(targets)
        if is_within(name, folder) and any(is_within(target, other) for other in others)
    ]


def test_no_import_runs_in_a_circle():
    known = modules("proflab", "proflab_course")
    assert len(known) > 150
    assert not cycle(known)


@pytest.mark.parametrize("folder, others", RULES)
def test_folders_rest_on_those_below(folder, others):
    known = modules("proflab", "proflab_course")
    assert sum(is_within(name, folder) for name in known) >= 3
    assert all(other in known for other in others)
    assert not against_rule(known, folder, others)


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
    found = against_rule(modules("house", root=tmp_path), "house.a", ["house.b"])
    assert found == ["house.a imports house.b"]
