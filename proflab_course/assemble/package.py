"""Say what lies beside a profiler in one file so that pip installs its folder.

The folder brings its own build backend: `pip install .` needs neither the internet nor a setuptools
of a certain age, only numpy where that is not there yet.
"""

from __future__ import annotations

from pathlib import Path

PROFILER = "my_profiler.py"
_BACKEND = Path(__file__).with_name("make_wheel.py")
# Its first line lets command.py write over the file in a later run; make_wheel.py's docstring has
# the same words for that.
_PROJECT = """\
# Made by `proflab assemble`.

[project]
name = "my-profiler"
version = "1"
requires-python = ">=3.11"
dependencies = ["numpy"]

[project.scripts]
my_profiler = "my_profiler:main"

[build-system]
requires = []
build-backend = "make_wheel"
backend-path = ["."]
"""


def files_beside() -> dict[str, str]:
    """Return name → text of what the folder has beside the profiler."""
    return {
        "pyproject.toml": _PROJECT,
        _BACKEND.name: _BACKEND.read_text(encoding="utf-8"),
    }
