"""A lesson's demos.py in tests: loaded by its path, for every lesson may have one."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

from cohort.run import ROOT


@cache
def demos_of(lesson: str) -> ModuleType:
    """Return the module demos.py that lies beside a lesson, such as "05_profiler"."""
    path = ROOT / "modules" / lesson / "demos.py"
    spec = importlib.util.spec_from_file_location(f"demos_of_{lesson}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look their module up
    spec.loader.exec_module(module)
    return module
