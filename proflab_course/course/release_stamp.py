"""Mark in a notebook the release that it comes from, and detect whether it has changed since.

The build writes into the notebook's metadata `proflab: {lesson, release}`, where `release` is a
digest of what students may not change: the locked cells' text, and every graded cell's name, flags
and points. A copy whose cells match the digest in its stamp is an unchanged release, new or old.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from nbformat import NotebookNode

from proflab.lesson.outline import squeezed

STAMP = "proflab"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LESSON = re.compile(r"\w{1,64}", re.ASCII)


def make_stamp(lesson: str, cells: Iterable[NotebookNode], track: str = "") -> NotebookNode:
    """Return the metadata that names this release, and the track of less than a whole lesson."""
    stamp = NotebookNode(lesson=lesson, release=release_digest(cells))
    return NotebookNode(stamp, track=track) if track else stamp


def track_of(metadata: Mapping[str, Any]) -> str:
    """Return the title of the track that a lesson was built for; empty for a whole lesson.

    metadata: of the grader's own notebook.
    """
    return metadata.get(STAMP, {}).get("track", "")


def read_stamp(metadata: Any) -> dict[str, str]:
    """Return a notebook's stamp, its `lesson` and `release`; empty if it is not valid."""
    stamp = metadata.get(STAMP) if isinstance(metadata, Mapping) else None
    if not isinstance(stamp, Mapping):
        return {}
    lesson, release = stamp.get("lesson"), stamp.get("release")
    if not isinstance(lesson, str) or not isinstance(release, str):
        return {}
    if not _LESSON.fullmatch(lesson) or not _DIGEST.fullmatch(release):
        return {}
    return {"lesson": lesson, "release": release}


def release_digest(cells: Iterable[NotebookNode]) -> str:
    """Return a digest of the cells that students may not change, in any order."""
    entries = sorted({entry for cell in cells if (entry := _entry(cell))})
    return hashlib.sha256("\n".join(entries).encode("utf-8", "replace")).hexdigest()


def is_former_release(notebook: NotebookNode, today: str, own: Collection[str]) -> bool:
    """Return True if the notebook is an unchanged release other than `today`'s.

    own: the names of the lesson's cells. If a tool has dropped the stamp, nbgrader's checksums of
    the test cells decide, provided that one of these is the lesson's: other courses have them, too.
    """
    stamp = read_stamp(notebook.metadata)
    if stamp.get("release") == today:
        return False
    digest = release_digest(notebook.cells)
    if stamp:
        return stamp["release"] == digest != today
    tests = [cell for cell in notebook.cells if _is_test(cell)]
    is_own = any(_marks(cell)["grade_id"] in own for cell in tests)
    return digest != today and is_own and all(map(_has_its_checksum, tests))


def _marks(cell: NotebookNode) -> dict:
    found = cell.metadata.get("nbgrader", {})
    return found if isinstance(found, dict) and isinstance(found.get("grade_id"), str) else {}


def _is_test(cell: NotebookNode) -> bool:
    return bool(_marks(cell).get("grade")) and not _marks(cell).get("solution")


def _entry(cell: NotebookNode) -> str:
    """Return the part of a cell that counts; empty for a cell of the student's."""
    marks = _marks(cell)
    if not marks:
        return ""
    flags = [bool(marks.get(name)) for name in ("grade", "solution", "locked")]
    points = str(marks.get("points", 0)) if flags[0] else ""
    try:
        points = str(float(points)) if points else ""
    except ValueError:
        pass
    fixed = (flags[0] or flags[2]) and not flags[1]
    text = squeezed(cell.source) if fixed else ""
    # Digests of this list are in notebooks that were handed out: with another field, order or form
    # each release so far would count as changed by its student.
    return json.dumps([marks["grade_id"], *flags, points, cell.cell_type, text])


def _has_its_checksum(cell: NotebookNode) -> bool:
    """Return True if the cell still has the checksum that nbgrader wrote at the release."""
    # nbgrader takes the fields of a cell for what they should be; these are a stranger's.
    from nbgrader.utils import compute_checksum

    try:
        return compute_checksum(cell) == _marks(cell).get("checksum")
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return False
