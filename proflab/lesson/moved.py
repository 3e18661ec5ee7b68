"""Find what was here in earlier releases and now lies beside the one lesson that uses it.

What students wrote in an earlier release may import it from where it was then. What may not enter:
a name that no release had.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# Where a module was → its name beside the lesson.
MOVED = {
    "proflab.lesson.cuda.doubles": "kernel_doubles",
    "proflab.lesson.cuda.loops": "loops",
    "proflab.lesson.cuda.trace_doubles": "trace_doubles",
    "proflab.lesson.cuda.train_document": "train_document",
    "proflab.lesson.cuda.workloads": "workloads",
    "proflab.lesson.doubles.earlier": "profiled",
    "proflab.lesson.doubles.gradients": "memory_doubles",
    "proflab.lesson.doubles.models": "memory_doubles",
    "proflab.lesson.doubles.noted": "noted",
    "proflab.lesson.doubles.profiled": "profiled",
}


class _Finder(MetaPathFinder, Loader):
    """Import a module under its former name; ImportError says where it is now."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        try:
            sys.modules[name] = import_module(MOVED[name])
        except ModuleNotFoundError as error:
            if error.name != MOVED[name]:
                raise
            place = f"{MOVED[name]}.py, beside the notebook of the lesson that uses it"
            raise ImportError(f"{name} is now {place}: get that lesson's folder anew") from None


def lookup_in(package: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package some of whose modules, and their names, have moved."""

    def find(name: str) -> Any:
        if f"{package}.{name}" in MOVED:
            return import_module(f"{package}.{name}")
        if find_spec(f"{package}.{name}"):  # a module of today's that is only not imported yet
            raise AttributeError(f"module {package!r} has not imported {name!r}")
        for former in () if name.startswith("_") else MOVED:
            with contextlib.suppress(ImportError):
                if former.startswith(f"{package}.") and hasattr(import_module(former), name):
                    return getattr(import_module(former), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find


sys.meta_path.append(_Finder())
