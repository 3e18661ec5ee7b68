"""Makes an empty gradebook as nbgrader does, without the second that nbgrader takes for it.

nbgrader starts a program to learn the newest version of its schema; here it is read from nbgrader's
own migrations. Where these are not what we expect, nbgrader makes the gradebook alone.
"""

from __future__ import annotations

import re
from pathlib import Path

from nbgrader.api import Base
from nbgrader.dbutil import ALEMBIC_DIR
from sqlalchemy import create_engine, text

_REVISION = re.compile(r"^(down_)?revision = (?:'(\w+)'|\"(\w+)\"|None)", re.MULTILINE)


def make_tables(path: Path) -> None:
    """Make nbgrader's tables in a new database, at the newest version of their schema."""
    version = newest_version(Path(ALEMBIC_DIR, "versions"))
    if version is None:
        return
    engine = create_engine(f"sqlite:///{path}")
    try:
        with engine.begin() as connection:
            Base.metadata.create_all(connection)
            column = "version_num VARCHAR(32) NOT NULL"
            connection.execute(text(f"CREATE TABLE alembic_version ({column})"))
            connection.execute(text(f"INSERT INTO alembic_version VALUES ('{version}')"))
    finally:
        engine.dispose()


def newest_version(folder: Path) -> str | None:
    """Return the one version in a folder of migrations from which none goes on; else None."""
    versions, continued = set(), set()
    for file in folder.glob("*.py"):
        for down, single, double in _REVISION.findall(file.read_text("utf-8")):
            (continued if down else versions).add(single or double)
    newest = versions - continued
    return newest.pop() if len(newest) == 1 else None
