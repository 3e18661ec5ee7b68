"""Refuse a course that would have two gradebooks, because nbgrader is set to use another database.

ProfLab writes gradebook.db in the course's folder, a file of SQLite, which is also nbgrader's
default. The setting `c.CourseDirectory.db_url` names another one, such as a PostgreSQL server.
"""

from __future__ import annotations

import functools
from contextlib import suppress
from pathlib import Path

# In the order in which nbgrader reads them: what the second says holds.
CONFIGURATION = ("jupyter_config.py", "nbgrader_config.py")
_SETTING = "db_url"


def other_database(gradebook: Path) -> str:
    """Return a sentence if nbgrader's settings name a database other than this file; else ""."""
    texts = {path: _text(path) for path in _settings(gradebook.parent)}
    named = any(_SETTING in text for text in texts.values())
    return _refusal(gradebook, tuple(texts.items())) if named else ""


def _settings(root: Path) -> list[Path]:
    """Return the files in which nbgrader reads settings; the last one decides."""
    from jupyter_core.paths import jupyter_config_path

    # Jupyter lists first what decides, and nbgrader lets what is read last decide.
    folders = [*map(Path, reversed(jupyter_config_path())), root]
    return [folder / name for folder in folders for name in CONFIGURATION]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return ""


@functools.lru_cache(maxsize=8)
def _refusal(gradebook: Path, texts: tuple[tuple[Path, str], ...]) -> str:
    """Return the sentence about the setting that names another database; empty if there is none."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError
    from traitlets.config.loader import PyFileConfigLoader

    named: tuple[Path, str] | None = None
    for path, text in texts:
        if _SETTING in text:
            # One that cannot be run sets nothing, as in nbgrader; `proflab grade` tells it.
            with suppress(Exception):
                config = PyFileConfigLoader(path.name, path=str(path.parent)).load_config()
                if _SETTING in config.CourseDirectory:
                    named = path, str(config.CourseDirectory.db_url)
    if named is None:
        return ""
    try:
        url = make_url(named[1])
        shown = url.render_as_string(hide_password=True)
    except ArgumentError:
        url, shown = None, named[1]
    file = url.database if url is not None and url.drivername.startswith("sqlite") else None
    if file and (gradebook.parent / file).resolve() == gradebook.resolve():
        return ""
    return (
        f"{named[0]} sets c.CourseDirectory.{_SETTING} to {shown}, but proflab keeps its results "
        f"in {gradebook} alone: remove this setting, and nbgrader uses the same file"
    )
