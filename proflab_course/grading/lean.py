"""Import this before nbformat: what takes long to import, and grading does not use, is left out.

If `rfc3987_syntax` is installed, jsonschema imports it to check international addresses, and it
compiles its grammar at import, for about a second. No notebook's schema contains addresses.
"""

import sys
from types import ModuleType

_EXTENSIONS = ("assignment_list", "course_list", "formgrader", "validate_assignment")

if "jsonschema" not in sys.modules and "rfc3987_syntax" not in sys.modules:
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # importing it fails
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        pass
    finally:
        del sys.modules["rfc3987_syntax"]


def import_nbgrader() -> None:
    """Import nbgrader without the extensions of Jupyter's server, which bring tornado and more.

    An extension that is imported later is there; a process that is a server may not call this.
    """
    if "nbgrader" in sys.modules:
        return
    names = [f"nbgrader.server_extensions.{name}" for name in _EXTENSIONS]
    for name in names:
        sys.modules[name] = ModuleType(name)
        sys.modules[name].load_jupyter_server_extension = None  # type: ignore[attr-defined]
    try:
        import nbgrader  # noqa: F401
    finally:
        for name in names:
            del sys.modules[name]
