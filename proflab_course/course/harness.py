"""Fingerprint the code that can change a verdict: grades from another harness are stale.

That is the engine, the checks, the doubles and the grader, but not code that only draws, in demo
cells or on pages, and not the other commands. The files in a lesson's own folder (demos.py,
built.py, data) are not part of the harness; `grading/resume.py` counts them for that lesson alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

# grading/resume.py and grading/run/keeping_runner.py keep the fingerprint with their results, and
# grading/run/cluster.py refuses a worker that has another one. All bytes of a file count: nobody
# has to decide which change cannot matter.
COUNTED = ("proflab", "proflab_course/course", "proflab_course/cases", "proflab_course/grading")
# Only demo cells use these; tests/course/test_harness.py checks it in all lessons.
NOT_COUNTED = (
    "proflab/lesson/demo.py",
    "proflab/lesson/guesses.py",
    "proflab/lesson/noise.py",
    "proflab/lesson/plot.py",
    "proflab/standalone",
    "proflab_course/grading/pages",
)
_HERE = Path(__file__).parents[2]


def harness_files(root: Path = _HERE) -> Iterator[Path]:
    """Yield the files that count, of the packages below `root`."""
    for folder in COUNTED:
        for path in sorted((root / folder).rglob("*.py")):
            names = {path, *path.parents}
            if not any(root / name in names for name in NOT_COUNTED):
                yield path


def harness_fingerprint(root: Path = _HERE) -> str:
    """Return a hash of the files that count, of the packages below `root`."""
    digest = hashlib.sha256()
    for path in harness_files(root):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
