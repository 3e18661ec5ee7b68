"""A lesson's demos.py in tests: loaded by its path, for every lesson may have one."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

from cohort.run import ROOT


def demos_of(lesson: str) -> ModuleType:
    """Return the module demos.py that lies beside a lesson, such as "05_profiler"."""
    return beside(lesson, "demos")


@cache
def beside(lesson: str, name: str) -> ModuleType:
    """Return a module that lies beside a lesson, such as "train"; it may import others there."""
    path = ROOT / "modules" / lesson / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_of_{lesson}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for dataclasses, and for a process that is sent its objects
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
