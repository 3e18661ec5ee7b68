"""What `proflab.lesson` holds is shared, and its `__init__` is the map of it."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from imports import ROOT, modules

from proflab.lesson import doubles
from proflab.lesson.moved import MOVED
from proflab_course.assemble.command import render
from proflab_course.assemble.gather import gather
from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_module

KNOWN = modules("proflab.lesson")
PACKAGES = {name for name, path in KNOWN.items() if path.name == "__init__.py"} - {"proflab.lesson"}
COURSE = Course(ROOT)


def home(package: str, name: str) -> str:
    """Return the module that `from package import name` is about."""
    if f"{package}.{name}" in KNOWN:
        return f"{package}.{name}"
    if package in PACKAGES:
        for node in ast.parse(KNOWN[package].read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and name in [a.name for a in node.names]:
                return home(node.module, name)
    return package


def used_in(text: str) -> set[str]:
    """Return the modules of `proflab.lesson` that code uses, through a package's `name.x`, too."""
    found, packages = set(), {}
    nodes = list(ast.walk(ast.parse(text)))
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("proflab.lesson"):
            for alias in node.names:
                module = home(node.module, alias.name)
                if module in PACKAGES:
                    packages[alias.asname or alias.name] = module
                else:
                    found.add(module)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in packages:
                found.add(home(packages[node.value.id], node.attr))
    return found - PACKAGES


def users() -> dict[str, set[str]]:
    """Return who uses each module: lessons, by their folders, and parts of the program."""
    found: dict[str, set[str]] = {name: set() for name in KNOWN if name not in PACKAGES}

    def note(who: str, text: str) -> None:
        for module in used_in(text):
            found[module].add(who)

    for path in sorted((ROOT / "modules").glob("*/*.py")):
        note(path.parent.name, path.read_text(encoding="utf-8"))
    program = modules("proflab", "proflab_course", leave_out=("proflab.lesson",))
    for name, path in program.items():
        note(name, path.read_text(encoding="utf-8"))
    lessons = [read_module(COURSE.module(name), name) for name in COURSE.lessons()]
    note("an assembled profiler", render(gather(lessons), "all"))
    for kind in doubles.HELD.values():
        found[kind.__module__].add("the grader")
    inside = {name: used_in(Path(KNOWN[name]).read_text(encoding="utf-8")) for name in found}
    for _ in KNOWN:  # what a helper serves, those that it uses serve, too
        for name, used in inside.items():
            for module in used:
                found[module] |= found[name]
    return found


@pytest.mark.whole
def test_no_helper_serves_a_single_lesson():
    """Move such a file beside its lesson, and name it in `proflab.lesson.moved`."""
    lessons = set(COURSE.lessons())
    alone = {n: who for n, who in users().items() if len(who) < 2 and who <= lessons}
    # Sessions without student code run these: race/facts.py for `proflab viva`, race/jobs.py for
    # `proflab grade`.
    apart = {"proflab.lesson.race.facts", "proflab.lesson.race.jobs"}
    assert set(alone) <= {"proflab.lesson.moved"} | apart, alone


def test_the_map_names_each_module_once():
    for package in ("proflab.lesson", *sorted(PACKAGES)):
        inner = [n.removeprefix(f"{package}.") for n in KNOWN if n.startswith(f"{package}.")]
        lines = importlib.import_module(package).__doc__.splitlines()
        named = [line.split(":")[0] for line in lines if ": " in line]
        wanted = sorted(name for name in inner if "." not in name)
        assert sorted(name for name in named if name.isidentifier()) == wanted, package


def test_what_has_moved_lies_beside_exactly_one_lesson():
    for former, name in MOVED.items():
        assert former not in KNOWN
        assert len(list((ROOT / "modules").glob(f"*/{name}.py"))) == 1, former
