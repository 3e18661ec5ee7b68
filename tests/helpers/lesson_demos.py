"""A lesson's demos.py in tests: loaded by its path, for every lesson may have one."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

from cohort.run import ROOT


@cache
def demos_of(lesson: str) -> ModuleType:
    """Return the module demos.py that lies beside a lesson, such as "05_profiler".

    What else lies there it may import.
    """
    path = ROOT / "modules" / lesson / "demos.py"
    spec = importlib.util.spec_from_file_location(f"demos_of_{lesson}", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module
