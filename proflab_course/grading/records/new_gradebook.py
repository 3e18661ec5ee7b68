"""Make the tables of an empty gradebook faster than nbgrader, which takes a second.

nbgrader starts a program to find the newest version of its schema; this file reads it from
nbgrader's migrations. If they are not as expected, nbgrader makes the whole gradebook.
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
    """Return the last version in a folder of migrations; None if there is not exactly one."""
    versions, continued = set[str](), set[str]()
    for file in folder.glob("*.py"):
        for down, single, double in _REVISION.findall(file.read_text("utf-8")):
            (continued if down else versions).add(single or double)
    newest = versions - continued
    return newest.pop() if len(newest) == 1 else None
