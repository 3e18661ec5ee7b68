"""A GPU lesson with its solutions, as a dict of names: what the scripts beside this work with."""

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


def cells(name: str = LESSON) -> list[Cell]:
    """Return the lesson's cells."""
    return read_module(ROOT / "modules" / name / f"{name}.py", name).cells


def built(name: str = LESSON) -> types.ModuleType:
    """Return the module `built` as the lesson finds it: what the lessons before it wrote."""
    lessons = [lesson for lesson in read_folder(ROOT / "modules", name) if lesson.name < name]
    module = types.ModuleType("built")
    exec(render(collect(lessons), "Built."), module.__dict__)
    return module


def solved(name: str = LESSON) -> dict:
    """Return the names that the lesson's cells define, without its tests and demos."""
    scope: dict = {"__name__": "__main__"}
    with _beside_the_notebook(name):
        for cell in cells(name):
            if cell.role in ("exercise", "given", "free"):
                exec(compile(cell.code, cell.name, "exec"), scope)
    return scope


@contextmanager
def _beside_the_notebook(name: str) -> Iterator[None]:
    """Let `import built` and `import demos` find what lies beside the notebook."""
    former = {other: sys.modules.pop(other, None) for other in ("built", "demos")}
    sys.modules["built"] = built(name)
    folder = str(ROOT / "modules" / name)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        for other, module in former.items():
            sys.modules.pop(other, None)
            if module is not None:
                sys.modules[other] = module


def measures(scope: dict, name: str = LESSON) -> dict:
    """Return kind → the function that measures its rows, as the lesson's device cells name them."""
    found: dict = {}
    folder = str(ROOT / "modules" / name)
    if folder not in sys.path:
        sys.path.append(folder)  # where the cells' own modules lie

    class Listing:
        def measure(self, kind, measure):
            found[kind] = measure

        def save(self):
            pass

    for cell in cells(name):
        if "device" in cell.tags:
            exec(compile(cell.code, cell.name, "exec"), scope | {"record": Listing()})
    return found
