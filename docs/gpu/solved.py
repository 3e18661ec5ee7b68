"""Lesson 10 with its solutions, as a dict of names: what the scripts beside this file work with."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proflab_course.assemble.collect import collect
from proflab_course.assemble.command import read_folder, render
from proflab_course.course.notebook import Cell, read_module

ROOT = Path(__file__).resolve().parents[2]
LESSON = "10_cuda_roofline"
FOLDER = ROOT / "modules" / LESSON
CONSTRUCTED = FOLDER / "constructed_t4.json"


def cells() -> list[Cell]:
    """The lesson's cells."""
    return read_module(FOLDER / f"{LESSON}.py", LESSON).cells


def built() -> types.ModuleType:
    """The module `built` as the lesson finds it: what the lessons before it wrote."""
    lessons = [lesson for lesson in read_folder(ROOT / "modules", "9") if lesson.name < LESSON]
    module = types.ModuleType("built")
    exec(render(collect(lessons), "Built."), module.__dict__)
    return module


def solved() -> dict:
    """The names that the lesson's cells define, without its tests and demos."""
    scope: dict = {"__name__": "__main__"}
    with _beside_the_notebook():
        for cell in cells():
            if cell.role in ("exercise", "given", "free"):
                exec(compile(cell.code, cell.name, "exec"), scope)
    return scope


@contextmanager
def _beside_the_notebook() -> Iterator[None]:
    """Let `import built` and `import demos` find what lies beside the notebook."""
    former = {name: sys.modules.pop(name, None) for name in ("built", "demos")}
    sys.modules["built"] = built()
    sys.path.insert(0, str(FOLDER))
    try:
        yield
    finally:
        sys.path.remove(str(FOLDER))
        for name, module in former.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def measures(scope: dict) -> dict:
    """Kind → the function that measures its rows, as the lesson's device cells name them."""
    found: dict = {}

    class Listing:
        def measure(self, kind, measure):
            found[kind] = measure

        def save(self):
            pass

    for cell in cells():
        if "device" in cell.tags:
            exec(compile(cell.code, cell.name, "exec"), scope | {"record": Listing()})
    return found
