"""The real course under another root, with a private folder and a gradebook of its own.

course = linked_course(tmp_path)          # modules/, source/ and release/ are links
"""

from __future__ import annotations

from pathlib import Path

from proflab_course.course.database import CONFIGURATION
from proflab_course.course.layout import Course

ROOT = Path(__file__).resolve().parents[2]


def linked_course(root: Path, *own: str) -> Course:
    """Link what a course's commands read into `root`; own: names that are left out."""
    root.mkdir(exist_ok=True)
    for name in ("modules", "source", "release", "tests", "pyproject.toml", *CONFIGURATION):
        if name not in own:
            (root / name).symlink_to(ROOT / name)
    return Course(root)
