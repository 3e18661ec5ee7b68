"""Import nbgrader without what takes long to import and grading does not use.

These are its extensions of Jupyter's server, and setuptools, from which it has three functions for
archives. The rest comes in with a course's jupyter_config.py, which names nbgrader's classes.
"""

from __future__ import annotations

import importlib
import sys
from functools import partial
from types import ModuleType
from typing import Any

_EXTENSIONS = ("assignment_list", "course_list", "formgrader", "validate_assignment")
_ARCHIVES = "setuptools.archive_util"


def import_nbgrader() -> None:
    """Import nbgrader, and nothing that grading does not use.

    What is imported later is there; a process that is a server may not call this.
    """
    if "nbgrader" in sys.modules:
        return
    stand_ins = {f"nbgrader.server_extensions.{name}": ModuleType(name) for name in _EXTENSIONS}
    for module in stand_ins.values():
        # nbgrader's __init__.py imports this name from each of them.
        module.load_jupyter_server_extension = None  # type: ignore[attr-defined]
    stand_ins |= {name: ModuleType(name) for name in ("setuptools", _ARCHIVES)}
    for name in ("unpack_archive", "unpack_tarfile", "unpack_zipfile"):
        setattr(stand_ins[_ARCHIVES], name, partial(_unpack, name))
    stand_ins = {name: each for name, each in stand_ins.items() if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        import nbgrader.utils  # noqa: F401
    finally:
        # Code that wants the real module later, as `_unpack` does, imports it.
        for name in stand_ins:
            del sys.modules[name]


def _unpack(name: str, *arguments: Any, **options: Any) -> Any:
    """Call the function of setuptools with this name; nbgrader collects archives with them."""
    return getattr(importlib.import_module(_ARCHIVES), name)(*arguments, **options)
