"""Import nbgrader without what takes long to import and grading does not use.

nbgrader's packages import all of their parts: Jupyter's server, what executes notebooks and turns
them into pages, templates, an HTTP client. Here they are packages that know where the names lie
that grading uses, and that become whole as soon as anybody asks for another.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import Any

_EXTENSIONS = ("assignment_list", "course_list", "formgrader", "validate_assignment")
_ARCHIVES = "setuptools.archive_util"
# Packages, in the order in which they are needed, with the modules of the names that grading uses.
_LATER: dict[str, dict[str, str]] = {
    "requests": {},
    "nbconvert": {},
    "nbconvert.exporters": {},
    "nbconvert.preprocessors": {
        "ClearOutputPreprocessor": "clearoutput",
        "Preprocessor": "base",
    },
    "nbgrader.preprocessors": {
        "AssignLatePenalties": "latesubmissions",
        "ClearHiddenTests": "clearhiddentests",
        "ClearMarkScheme": "clearmarkingscheme",
        "ClearOutput": "clearoutput",
        "ClearSolutions": "clearsolutions",
        "ComputeChecksums": "computechecksums",
        "LockCells": "lockcells",
        "NbGraderPreprocessor": "base",
        "SaveCells": "savecells",
    },
}
_OF_A_PACKAGE = ("__all__", "__version__")  # other such names are Python's own


class _Later(ModuleType):
    """A package whose parts can be imported, and whose own code runs when a name is missing."""

    _names: Mapping[str, str]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in _OF_A_PACKAGE:
            raise AttributeError(name)
        if name in self._names:
            part = importlib.import_module(f"{self.__name__}.{self._names[name]}")
            return getattr(part, name)
        self.__class__ = ModuleType
        self.__spec__.loader.exec_module(self)  # type: ignore[union-attr]
        return getattr(self, name)


def import_nbgrader() -> None:
    """Import nbgrader, its packages as far as they are needed.

    What is imported later is there, but the extensions of Jupyter's server are not told of by
    nbgrader itself: a process that is a server may not call this.
    """
    if "nbgrader" in sys.modules:
        return
    stand_ins = {f"nbgrader.server_extensions.{name}": ModuleType(name) for name in _EXTENSIONS}
    for module in stand_ins.values():
        module.load_jupyter_server_extension = None  # type: ignore[attr-defined]
    stand_ins |= {name: ModuleType(name) for name in ("setuptools", _ARCHIVES)}
    for name in ("unpack_archive", "unpack_tarfile", "unpack_zipfile"):
        setattr(stand_ins[_ARCHIVES], name, partial(_unpack, name))
    stand_ins = {name: each for name, each in stand_ins.items() if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        import nbgrader

        for name, names in _LATER.items():
            if name not in sys.modules:
                _import_later(name, names)
        import nbgrader.utils  # noqa: F401
    finally:
        for name in stand_ins:
            del sys.modules[name]


def _import_later(name: str, names: Mapping[str, str]) -> None:
    spec = importlib.util.find_spec(name)
    if spec is None:
        return
    module = importlib.util.module_from_spec(spec)
    module.__class__ = _Later
    module._names = names  # type: ignore[attr-defined]
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)


def _unpack(name: str, *arguments: Any, **options: Any) -> Any:
    """Call the function of setuptools with this name; nbgrader collects archives with them."""
    return getattr(importlib.import_module(_ARCHIVES), name)(*arguments, **options)
