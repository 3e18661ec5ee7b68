"""Files that are loaded as modules by their paths: a lesson's demos.py, scripts in docs/."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from cohort.run import ROOT


def demos_of(lesson: str) -> ModuleType:
    """Return the module demos.py that lies beside a lesson, such as "05_profiler"."""
    return beside(lesson, "demos")


@cache
def beside(lesson: str, name: str) -> ModuleType:
    """Return a module that lies beside a lesson, such as "train"."""
    return module_at(ROOT / "modules" / lesson / f"{name}.py", f"{name}_of_{lesson}")


def module_at(path: Path, name: str | None = None) -> ModuleType:
    """Execute a file and return its module, known under this name; it may import others there."""
    spec = importlib.util.spec_from_file_location(name or f"{path.stem}_loaded", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for dataclasses, and for a process that is sent its objects
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
