"""Loads the demos of lesson 08 by their path: other lessons have a module `demos`, too."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from cohort.run import ROOT

FOLDER = ROOT / "modules" / "08_benchmarking"


def load_demos() -> ModuleType:
    """Return the lesson's demos as a module, which is not left in `sys.modules`."""
    spec = importlib.util.spec_from_file_location("lesson_08_demos_module", FOLDER / "demos.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for dataclasses, which look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module
