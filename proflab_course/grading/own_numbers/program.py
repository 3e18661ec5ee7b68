"""Read what the build has drawn for one student: files beside the notebook, and races' tapes.

`proflab build LESSON --per-student` writes them to private/by_student/STUDENT/, with a folder to
hand out beside. The grader lays the files over the lesson's and races against the student's own
given program; a student without a draw is graded by the class's.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proflab.checks.values import loads
from proflab_course.grading.answer_key import Key
from proflab_course.grading.grader_errors import GraderFailed

PLACE = "private/by_student"


@dataclass(frozen=True)
class OwnProgram:
    """Hold a student's drawn files, and the tapes of the given programs as the source has them."""

    files: Mapping[str, bytes]
    races: Sequence[Sequence[str]]

    def key(self, key: Key) -> Key:
        """Return the lesson's key with the tapes of this student's given programs."""
        tapes = {(cell, label): loads(text.encode()) for cell, label, text in self.races}
        return replace(key, derived={**key.derived, "races": tapes, "known": {}})


def place_of(root: Path, lesson: str, student: str) -> Path:
    """Return the file that holds a student's draw; beside it lies the folder to hand out."""
    return root / PLACE / student / f"{lesson}.json.gz"


def write_own(path: Path, files: Mapping[str, str], races: Sequence[Sequence[str]]) -> None:
    """Write a student's draw; the same one gives the same bytes."""
    text = json.dumps({"files": dict(files), "races": [list(race) for race in races]})
    path.parent.mkdir(parents=True, exist_ok=True)
    # With the time in it, `own_fingerprint` would make grades stale after each build.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def own_program(root: Path, lesson: str, student: str) -> OwnProgram | None:
    """Return what was drawn for a student; None where nothing was.

    Raises GraderFailed for a draw that cannot be read: the class's would be another one.
    """
    path = place_of(root, lesson, student)
    if not path.exists():
        return None
    try:
        found = json.loads(gzip.decompress(path.read_bytes()))
        files = {name: text.encode() for name, text in found["files"].items()}
        return OwnProgram(files, found["races"])
    except (OSError, EOFError, ValueError, KeyError) as error:
        where = path.relative_to(root)
        raise GraderFailed(
            f"{where} cannot be read ({error}): run `proflab build {lesson} --per-student` again"
        ) from None


def own_fingerprint(root: Path, lesson: str, student: str) -> str:
    """Return a hash of a student's draw; empty where there is none or it cannot be read."""
    path = place_of(root, lesson, student)
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
    except OSError:  # the hand-in will not be graded, and its row has to say so
        return ""
